"""Public modules whose names are imported when they are first used."""

from __future__ import annotations

import re
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from sys import modules
from typing import Any

_IMPORT = re.compile(r"^    from ([\w.]+) import (?:\(\s*)?(\w+) as \2\b", re.MULTILINE)


def lazy_names(
    module: str,
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Make `__getattr__`, `__dir__` and `__all__` of a module (PEP 562).

    Its names are those that it imports for type checkers, `from HOME import X as X`.
    """
    text = Path(str(modules[module].__file__)).read_text(encoding="utf-8")
    homes = {name: home for home, name in _IMPORT.findall(text)}

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
