"""What a violation is: a plugin, the law that it breaks, and a change of its source."""

from __future__ import annotations

from typing import NamedTuple


class Change(NamedTuple):
    """A text of a file that becomes another one."""

    file: str
    """Below the folder of the package."""
    old: str
    """Occurs once."""
    new: str


class Violation(NamedTuple):
    """A change of a copy of a plugin that breaks a stated law."""

    id: str
    plugin: str
    """Its id, `KIND/NAME`; with `template` before it where it is what `evalkit new`
    writes, and `example` where it is one of the examples."""
    law: str
    stated: str
    """Where the law is stated."""
    changes: tuple[Change, ...]


def change(file: str, old: str, new: str) -> Change:
    """Return a change of one file.

    Args:
        file: The file, below the folder of the package.
        old: A text that occurs in it once.
        new: What it becomes.
    """
    return Change(file, old, new)
