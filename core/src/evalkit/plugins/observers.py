"""Tells observers what happens, and keeps them from changing it."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

from evalkit.errors import PluginError
from evalkit.plugins.bound import BoundObserver
from evalkit.plugins.registry import Registry


class Observers:
    """The observers of one evaluation.

    Args:
        registry: Where they are found.
        names: Names of the observers to load.

    Attributes:
        warnings: What observers raised.
    """

    def __init__(self, registry: Registry, names: Sequence[str]) -> None:
        self._observers = [
            BoundObserver.of(registry.load("observers", name)) for name in names
        ]
        self.warnings: list[str] = []

    def tell(self, hook: str, **values: Any) -> None:
        """Tell every observer, each with values of its own.

        Args:
            hook: Name of the hook.
            **values: Its arguments.
        """
        for observer in self._observers:
            try:
                observer.tell(hook, copy.deepcopy(values))
            except PluginError as error:
                self.warnings.append(str(error))
