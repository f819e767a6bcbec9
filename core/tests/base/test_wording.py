from __future__ import annotations

import pytest

from evalkit.base.wording import count_of


@pytest.mark.parametrize(
    ("number", "words"),
    [(0, "0 rows"), (1, "1 row"), (2, "2 rows"), (1000, "1000 rows")],
)
def test_a_noun_follows_its_number(number: int, words: str) -> None:
    assert count_of(number, "row") == words
