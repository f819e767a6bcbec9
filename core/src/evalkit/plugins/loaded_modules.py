"""Names the modules of a package that were imported."""

from __future__ import annotations

import sys
from types import ModuleType


def loaded_modules(package: str) -> list[tuple[str, ModuleType]]:
    """Return the imported modules of a package, the package included.

    Args:
        package: Name of the package, without dots.

    Returns:
        Their full names, and the modules.
    """
    within = f"{package}."
    # thousands may be imported: most are told apart by their first letters
    names = [name for name in list(sys.modules) if name.startswith(package)]
    found = [
        (name, sys.modules.get(name))
        for name in names
        if name == package or name.startswith(within)
    ]
    return [(name, each) for name, each in found if isinstance(each, ModuleType)]
