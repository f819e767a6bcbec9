from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given

from .drawn_rows import Row, check_mean, rows_of, texts, value

NAME = "edit-similarity"


def edits_of(given: Sequence[str], answer: Sequence[str]) -> int:
    """Levenshtein's distance by the table that defines it."""
    row = list(range(len(answer) + 1))
    for number, one in enumerate(given, 1):
        above, row = row, [number]
        for place, other in enumerate(answer):
            changed = above[place] + (one != other)
            row.append(min(changed, above[place + 1] + 1, row[place] + 1))
    return row[-1]


def similarity(given: Sequence[str], answer: Sequence[str]) -> float:
    longest = max(len(given), len(answer))
    return 1 - edits_of(given, answer) / longest if longest else 1.0


@given(rows=rows_of(texts))
def test_it_is_the_definition_by_characters(rows: list[Row]) -> None:
    check_mean(NAME, rows, lambda p, t: max(similarity(p, a) for a in t))


@given(rows=rows_of(texts))
@pytest.mark.slow
def test_it_is_the_definition_by_words(rows: list[Row]) -> None:
    check_mean(
        f"{NAME}:tokens=blanks",
        rows,
        lambda p, t: max(similarity(p.split(), a.split()) for a in t),
    )


@pytest.mark.parametrize(
    ("parameters", "prediction", "target", "expected"),
    [
        ("", "kitten", "sitting", 4 / 7),
        ("", "", "", 1.0),
        ("", "", "abc", 0.0),
        ("", "\u00e9", "e\u0301", 0.0),
        ("", "🙂", "🙃", 0.0),
        ("", None, "", 0.0),
        ("", "abc", ["xyz", "abd"], 2 / 3),
        (":tokens=blanks", "the cat sat", "the cat", 2 / 3),
        (":tokens=blanks", " ", "", 1.0),
        ("", 10, 11, 0.5),
    ],
)
def test_single_cases(
    parameters: str, prediction: Any, target: Any, expected: float
) -> None:
    assert value(NAME + parameters, prediction, target) == pytest.approx(expected)
