"""Which rows a score of each group is expected from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hypothesis import strategies as st

import evalkit

DECLARED = ["a", "b", "ü", "never"]
GOLD = ["a", "b", "ü"]

rows_of_examples = st.lists(
    st.tuples(
        st.sampled_from([*DECLARED, "outside", None]),
        st.sampled_from(GOLD),
        st.lists(st.sampled_from(["t", "u:v"]), unique=True),
    ),
    min_size=1,
    max_size=30,
)
"""Predictions, which may be missing or of no label, with answers and tags."""


def one(name: str, predictions: Any, targets: Any, **options: Any) -> evalkit.Score:
    """Return the score that a metric gives two lists."""
    return evalkit.score(name, predictions, targets, **options)[name]


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
