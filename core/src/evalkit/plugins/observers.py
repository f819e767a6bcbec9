"""Observers: told what happens, and kept from changing it."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from os import PathLike
from typing import Any

from evalkit.base.failures import log_failure
from evalkit.errors import AlignmentError, PluginError
from evalkit.plugins.bound import BoundObserver
from evalkit.plugins.registry import Registry
from evalkit.plugins.resolver import Resolver


class Observers:
    """The observers of one command; `warnings` are what they raised."""

    def __init__(self, registry: Registry, named: Sequence[Any] = ()) -> None:
        resolver = Resolver(registry)
        self._observers = [
            BoundObserver.of(resolver.bind("observers", what))
            for what in ([named] if isinstance(named, str) else named)
        ]
        self.warnings: list[str] = []

    def __bool__(self) -> bool:
        """Tell whether there is anybody to tell."""
        return bool(self._observers)

    def tell(self, hook: str, **values: Any) -> None:
        """Call a hook of every observer, each with copies of the values."""
        for observer in self._observers:
            try:
                if observer.has(hook):
                    observer.call(hook, **copy.deepcopy(values))
            except PluginError as error:
                log_failure(error)
                self.warnings.append(str(error))

    @contextmanager
    def told_of_failure(self, subject: Any) -> Iterator[None]:
        """Tell the observers where the body ends with an error and without a result.

        What observers raised until then is given as warnings of Python, because there
        is no run that could hold them.
        """
        try:
            yield
        except Exception as error:
            if isinstance(error, AlignmentError) and error.result is not None:
                raise
            facts = {"kind": type(error).__name__, "error": str(error)}
            self.tell("after_failure", dataset=_spoken(subject), **facts)
            for text in self.warnings:
                warnings.warn(text, stacklevel=1)  # ours, so that it is told as such
            raise


def _spoken(subject: Any) -> str:
    if isinstance(subject, str | PathLike):
        return str(subject)
    named = getattr(subject, "run_id", None) or getattr(subject, "name", None)
    return str(named or getattr(subject, "__name__", type(subject).__name__))
