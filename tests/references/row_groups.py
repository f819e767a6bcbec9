"""Which rows a score of each group is expected from."""

from collections.abc import Sequence
from typing import Any


def rows_by_group(
    rows: Sequence[tuple[Any, Any, list[str]]],
) -> dict[str | None, list[tuple[Any, Any]]]:
    """Return the pairs of the set (None), of each tag, and of no tag at all."""
    tags = sorted({tag for *_, of in rows for tag in of})
    groups: dict[str | None, list[tuple[Any, Any]]] = {None: [row[:2] for row in rows]}
    for tag in tags:
        groups[tag] = [(p, t) for p, t, of in rows if tag in of]
    untagged = [(p, t) for p, t, of in rows if not of]
    return groups | ({"(untagged)": untagged} if tags and untagged else {})
