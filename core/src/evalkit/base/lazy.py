"""Public modules whose names are imported when they are first used."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from sys import modules
from typing import Any


def lazy_names(
    module: str, names: Mapping[str, str], package: str = "evalkit"
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Make `__getattr__`, `__dir__` and `__all__` of a module (PEP 562).

    Args:
        module: Name of the module.
        names: The public names, separated by spaces, that each module of the package
            defines.
        package: The package that holds these modules.

    Returns:
        A function that imports and returns what a name stands for, and raises
        AttributeError for a name that is not public; one that lists all names; and
        the public names, sorted.
    """
    homes = {
        name: f"{package}.{home}"
        for home, listed in names.items()
        for name in listed.split()
    }

    def get(name: str) -> Any:
        home = homes.get(name)
        if home is None:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        value = getattr(import_module(home), name)
        setattr(modules[module], name, value)
        return value

    def show() -> list[str]:
        return sorted({*vars(modules[module]), *homes})

    return get, show, sorted(homes)
