"""Public modules whose names are imported when they are first used."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from sys import modules
from typing import Any


def lazy_attributes(
    module: str, homes: Mapping[str, str]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Make the functions `__getattr__` and `__dir__` of a module (PEP 562).

    Args:
        module: Name of the module.
        homes: The module below `evalkit` that defines each name.

    Returns:
        A function that imports and returns what a name stands for, and raises
        AttributeError for a name that is not public; and one that lists all names.
    """

    def get(name: str) -> Any:
        home = homes.get(name)
        if home is None:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        value = getattr(import_module(f"evalkit.{home}"), name)
        setattr(modules[module], name, value)
        return value

    def names() -> list[str]:
        return sorted({*vars(modules[module]), *homes})

    return get, names
