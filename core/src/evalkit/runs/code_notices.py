"""Says what is wrong with the code that computed a run."""

from __future__ import annotations

from collections.abc import Iterable

from evalkit.runs import recorded


def code_notices(components: Iterable[recorded.Component]) -> list[str]:
    """Say which modules ran from byte code that is not that of their source.

    Args:
        components: What a run records of its plugins.
    """
    names = dict.fromkeys(name for each in components for name in each.other_byte_code)
    return [
        f"the module {name} ran from byte code that is not that of its source, whose "
        "hash the run records: remove the folder __pycache__ beside it and evaluate "
        "again"
        for name in names
    ]
