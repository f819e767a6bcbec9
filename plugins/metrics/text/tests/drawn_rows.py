"""Rows drawn at random, and what the mean of a score over them must be."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st
from row_groups import rows_by_group

import evalkit

words = st.sampled_from(
    [
        *("a", "the", "The", "cat", "Cat", "cats", "is", "and", "red", "3", "-3"),
        *("3.0", "U.S.", "it's", "the-cat", "3,000", "«the»", "İ", "straße", "", "!"),
        *("_", "\u00e9", "e\u0301", "日本", "กำ", "दिन", "two", "dont", "nothing"),
        "Nothing.",
    ]
)
blanks = st.sampled_from([" ", "  ", "\t", "\n", "\u00a0", "\u3000", "-", ", ", ";"])
texts = st.one_of(
    st.lists(st.one_of(words, blanks), max_size=8).map("".join),
    st.lists(words, max_size=6).map(" ".join),
    st.text(max_size=10),
)
tags = st.lists(st.sampled_from(["t", "u:v"]), unique=True)

Row = tuple[str | None, list[str], list[str]]


def rows_of(texts: st.SearchStrategy[str]) -> st.SearchStrategy[list[Row]]:
    """Draw predictions, some missing, with one to three answers, and tags."""
    answers = st.lists(texts, min_size=1, max_size=3)
    row = st.tuples(st.one_of(st.none(), texts), answers, tags)
    return st.lists(row, min_size=1, max_size=8)


def check_mean(
    name: str, rows: Sequence[Row], score_of: Callable[[str, list[str]], float]
) -> None:
    """Check a mean of scores, of the set and every tag, where none is missing 0."""
    predictions, targets, given = (list(column) for column in zip(*rows, strict=True))
    result = evalkit.score(name, predictions, targets, tags=given)
    groups = rows_by_group(rows)
    assert {score.tag for score in result.scores} == set(groups)
    for found in result.scores:
        expected = [0.0 if p is None else score_of(p, t) for p, t in groups[found.tag]]
        assert found.value == pytest.approx(np.mean(expected), abs=1e-12)
        assert (found.n, found.min, found.max) == (
            len(expected),
            pytest.approx(min(expected), abs=1e-12),
            pytest.approx(max(expected), abs=1e-12),
        )


def value(name: str, prediction: Any, target: Any, **options: Any) -> float | None:
    """Return the value of one example."""
    found: float | None = evalkit.score(name, [prediction], [target], **options)[
        name
    ].value
    return found
