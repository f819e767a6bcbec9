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
    return [
        (name, each)
        # thousands may be imported: most are told apart by their first letters
        for name, each in list(sys.modules.items())
        if name.startswith(package)
        and (name == package or name.startswith(within))
        and isinstance(each, ModuleType)
    ]
