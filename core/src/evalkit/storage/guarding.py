"""Calls the methods of a store, and tells its mistakes as those of its plugin."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

from evalkit.errors import EvalkitError, PluginError
from evalkit.plugins.binding import Guard
from evalkit.plugins.components import Component
from evalkit.storage.stores import StoredObject

_BYTES = (bytes, bytearray, memoryview), "pieces of bytes"
_OBJECT = (StoredObject,), "an evalkit.storage.StoredObject"
_GIVES: dict[str, tuple[tuple[type, ...], str]] = {
    "identity": ((str,), "a text"),
    "stat": ((StoredObject, type(None)), f"{_OBJECT[1]}, or None where nothing is"),
    "read": _BYTES,
    "put": _OBJECT,
    "list_objects": _OBJECT,
    "delete": ((object,), ""),
    "honours_conditions": ((bool,), "True or False"),
}
_OWN = (EvalkitError, GeneratorExit)
_HOW_TO_REFUSE = "; raise a StorageError that says of the URI what is wrong"
METHODS = tuple(_GIVES)
"""What every store has."""


class GuardedStore:
    """A store whose every failure is an `EvalkitError` that says whose it is."""

    def __init__(self, component: Component, guarded: Any) -> None:
        self._origin, self.guarded = component.origin, guarded

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.guarded, name)
        return partial(self._call, name, found) if name in _GIVES else found

    def _call(
        self, name: str, method: Callable[..., Any], *given: Any, **more: Any
    ) -> Any:
        uris = (getattr(each, "uri", each) for each in given)
        step = f"{name} of {next((uri for uri in uris if isinstance(uri, str)), '')}"
        with self._failures(step):
            gave = method(*given, **more)
        if name not in ("read", "list_objects"):
            return self._checked(gave, name, step)
        return self._pieces(gave, name, step)

    def _pieces(self, gave: Iterable[Any], name: str, step: str) -> Iterator[Any]:
        with self._failures(step):
            for piece in gave:
                yield self._checked(piece, name, step)

    def _checked(self, gave: Any, name: str, step: str) -> Any:
        types, words = _GIVES[name]
        if isinstance(gave, types):
            return gave
        how = (
            "; `yield` them, or return a list"
            if name in ("read", "list_objects")
            else ""
        )
        raise PluginError(
            f"{self._origin}: {step} must give {words}{how}, gave {gave!r}"
        )

    def _failures(self, step: str) -> Guard:
        return Guard(self._origin, step, passes=_OWN, hint=_HOW_TO_REFUSE)
