import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import evalkit

from .drawn_rows import texts


@given(said=st.lists(texts, min_size=1, max_size=8))
def test_words_and_characters_are_counted(said: list[str]) -> None:
    found = evalkit.score("length", said, [""] * len(said))
    words = [len(re.findall(r"[^\s]+", text)) for text in said]
    assert found["length#words"].value == pytest.approx(np.mean(words))
    characters = [sum(1 for _ in text) for text in said]
    assert found["length#characters"].value == pytest.approx(np.mean(characters))


def test_a_missing_prediction_has_no_length() -> None:
    found = evalkit.score("length", ["a b", None], ["", ""])["length#words"]
    assert found.value is None
    assert "without a prediction" in (found.reason or "")
