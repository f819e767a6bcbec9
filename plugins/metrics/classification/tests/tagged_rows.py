"""Predictions of labels with answers and tags."""

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
