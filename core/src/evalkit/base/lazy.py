"""Public modules whose names are imported when they are first used."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from sys import modules
from types import ModuleType
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
    return _names_of(
        module,
        {
            name: f"{package}.{home}"
            for home, listed in names.items()
            for name in listed.split()
        },
        import_module,
    )


def names_of_distribution(
    module: str, distribution: str, folder: str, names: str
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Make a module another name for the package of a distribution.

    Args:
        module: Name of the module.
        distribution: Name of the distribution, which core does not require.
        folder: Its folder in a checkout.
        names: The public names, with a space between.

    Returns:
        As `lazy_names`; the first function raises ImportError, which says what to
        install, where the distribution is missing.
    """
    package = distribution.replace("-", "_")

    def load(name: str) -> ModuleType:
        try:
            return import_module(name)
        except ModuleNotFoundError as error:
            if error.name != package:
                raise
            raise ImportError(
                f"{module} needs the distribution {distribution}; install it, "
                f"in a checkout: pip install ./core ./{folder}"
            ) from error

    return _names_of(module, dict.fromkeys(names.split(), package), load)


def _names_of(
    module: str, homes: Mapping[str, str], load: Callable[[str], ModuleType]
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Make the three, for names whose modules a function loads."""

    def get(name: str) -> Any:
        home = homes.get(name)
        if home is None:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        value = getattr(load(home), name)
        setattr(modules[module], name, value)
        return value

    def show() -> list[str]:
        return sorted({*vars(modules[module]), *homes})

    return get, show, sorted(homes)
