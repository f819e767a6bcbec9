"""What all code of a process shares, and what of it was changed."""

from __future__ import annotations

import builtins
import decimal
import gc
import json
import locale
import logging
import os
import random
import signal
import socket
import sys
import threading
import warnings
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

_ROOTS = ("evalkit", "evalkit_cli")
_OTHERS: tuple[ModuleType, ...] = (builtins, json)
_FOLDER, _ENVIRONMENT = "the current folder", "the environment"
_PATH, _LOCALE = "sys.path", "the locale"
_BUILT_IN = (Warning, *Warning.__subclasses__())
_KEPT = ("__init__", "__new__", "__call__")
"""Of the names with two underscores those that nobody sets late."""

_OF_THE_LIBRARY = (int, float, str, tuple, frozenset, type(None))


class Place(NamedTuple):
    """Where an object is kept, so that it can be put back."""

    owner: Any
    name: str
    value: object

    def put_back(self) -> None:
        """Put it back."""
        if isinstance(self.owner, dict):
            self.owner[self.name] = self.value
        else:
            setattr(self.owner, self.name, self.value)


class State:
    """What is shared, as it is now."""

    def __init__(self) -> None:
        self._texts = _texts()
        self._places = {**_modules(), **_own_objects()}
        self._added: dict[str, Place] = {}
        self._variables, self._path = {**os.environ}, [*sys.path]

    def changed(self) -> list[str]:
        """Return the names of what is another by now.

        New modules and functions are nobody's loss, new attributes of classes are.
        """
        now = State()
        texts = [name for name, text in self._texts.items() if now._texts[name] != text]
        places = [
            name
            for name, place in self._places.items()
            if name not in now._places or now._places[name].value is not place.value
        ]
        classes = {id(place.value) for place in self._places.values()}
        self._added = {
            name: place
            for name, place in now._places.items()
            if name not in self._places and isinstance(place.owner, type)
            if id(place.owner) in classes
        }
        return [*texts, *places, *self._added]

    def put_back(self, changed: Sequence[str]) -> None:
        """Put back what can be, so that others find it as it was."""
        for name in changed:
            if name in self._places:
                self._places[name].put_back()
            elif name in self._added:
                delattr(self._added[name].owner, self._added[name].name)
        if _ENVIRONMENT in changed:
            os.environ.clear()
            os.environ.update(self._variables)
        if _PATH in changed:
            sys.path[:] = self._path
        if _FOLDER in changed and self._texts[_FOLDER]:
            os.chdir(self._texts[_FOLDER])
        if _LOCALE in changed:
            locale.setlocale(locale.LC_ALL, self._texts[_LOCALE])


def is_of_evalkit(name: str) -> bool:
    """Tell whether what is changed is in the way of all that is done afterwards."""
    return name.startswith(("sys.modules[", *(f"{root}." for root in _ROOTS), "json."))


def _texts() -> Mapping[str, str]:
    root = logging.getLogger()
    return {
        _FOLDER: _folder(),
        _ENVIRONMENT: repr(sorted(os.environ.items())),
        "the generator of `random`": repr(hash(random.getstate())),
        "the generator of numpy.random": _numpy_state(),
        _PATH: repr(sys.path),
        "the handler of SIGINT": repr(signal.getsignal(signal.SIGINT)),
        "the handler of SIGTERM": repr(signal.getsignal(signal.SIGTERM)),
        "sys.excepthook": repr(sys.excepthook),
        "the handlers of the root logger": repr((root.handlers, root.level)),
        "the threads": repr(threading.active_count()),
        "the filter of all warnings": repr([*_general_filters()]),
        _LOCALE: locale.setlocale(locale.LC_ALL),
        "the context of decimal": repr(decimal.getcontext().prec),
        "the limit of recursion": repr(sys.getrecursionlimit()),
        "the time limit of sockets": repr(socket.getdefaulttimeout()),
        "the garbage collection": repr(gc.isenabled()),
    }


def _folder() -> str:
    try:
        return str(Path.cwd())
    except OSError:  # it is gone
        return ""


def _numpy_state() -> str:
    numpy: Any = sys.modules.get("numpy")
    if numpy is None or "numpy.random" not in sys.modules:
        return ""
    return repr(hash(numpy.random.get_state()[1].tobytes()))


def _general_filters() -> Iterator[tuple[str, str]]:
    """Yield the filters of warnings that look at neither text nor module.

    Others concern what a library itself warns of, and many have some.
    """
    for action, message, category, module, _ in warnings.filters:
        if message is None and module is None and category in _BUILT_IN:
            yield action, repr(category)


def _modules() -> Mapping[str, Place]:
    known = sys.modules
    return {
        f"sys.modules[{name!r}]": Place(known, name, found)
        for name, found in [*known.items()]
    }


def _own_objects() -> Mapping[str, Place]:
    """Return the functions and classes of evalkit, and what is in the classes."""
    found: dict[str, Place] = {}
    own = [each for name, each in [*sys.modules.items()] if _is_own(name)]
    for module in (*own, *_OTHERS):
        for name, value in [*getattr(module, "__dict__", {}).items()]:
            if not callable(value):
                continue
            whole = f"{module.__name__}.{name}"
            found[whole] = Place(module, name, value)
            if isinstance(value, type) and value.__module__ == module.__name__:
                for key, each in _attributes(value):
                    found[f"{whole}.{key}"] = Place(value, key, each)
    return found


def _is_own(name: str) -> bool:
    return name.partition(".")[0] in _ROOTS


def _attributes(owner: type) -> Iterator[tuple[str, object]]:
    for name, value in vars(owner).items():
        is_method = callable(value) or hasattr(type(value), "__get__")
        is_constant = isinstance(value, _OF_THE_LIBRARY) and name[0] != "_"
        if name in _KEPT or (not name.startswith("__") and (is_method or is_constant)):
            yield name, value
