import unicodedata
from collections.abc import Callable
from typing import Any

import polars as pl
import pytest
from hypothesis import given

from .drawn_rows import Row, check_mean, rows_of, texts, value


def by_words(text: str) -> list[str]:
    """Find words by the engine of polars, to which \\w is what Unicode says."""
    plain = pl.Series([unicodedata.normalize("NFC", text.lower())])
    return list(plain.str.extract_all(r"[\pL\pM\pN\p{Pc}]+").to_list()[0])


def by_characters(text: str) -> list[str]:
    return [mark for word in by_words(text) for mark in word]


def by_blanks(text: str) -> list[str]:
    return unicodedata.normalize("NFC", text.lower()).split()


def f1_of(given: list[str], answer: list[str]) -> float:
    left, total = answer.copy(), len(given) + len(answer)
    for token in given:
        if token in left:
            left.remove(token)
    return 2 * (len(answer) - len(left)) / total if total else 1.0


TOKENS = {"words": by_words, "characters": by_characters, "blanks": by_blanks}


@pytest.mark.parametrize(("tokens", "split"), TOKENS.items())
@given(rows=rows_of(texts))
@pytest.mark.slow
def test_it_is_the_definition_for_the_set_and_every_tag(
    tokens: str, split: Callable[[str], list[str]], rows: list[Row]
) -> None:
    name = "token-f1" if tokens == "words" else f"token-f1:tokens={tokens}"
    check_mean(name, rows, lambda p, t: max(f1_of(split(p), split(a)) for a in t))


@pytest.mark.parametrize(
    ("parameters", "prediction", "target", "expected"),
    [
        ("", "the cat sat", "a cat", 2 / 5),  # articles are words
        ("", "state-of-the-art", "state of the art", 1.0),
        ("", "cat cat", "cat", 2 / 3),
        ("", "caf\u00e9", "cafe\u0301", 1.0),
        ("", "दिन", "दन", 0.0),  # a vowel sign is part of its word
        ("", "日本語", "日本", 0.0),
        (":tokens=characters", "日本語", "日本", 0.8),
        (":tokens=blanks", "cat.", "cat", 0.0),
        (":lowercase=false", "Cat", "cat", 0.0),
        ("", "!", "", 1.0),
        ("", "", "cat", 0.0),
        ("", None, "", 0.0),
        ("", "red", ["blue", "red car"], 2 / 3),
    ],
)
def test_single_cases(
    parameters: str, prediction: Any, target: Any, expected: float
) -> None:
    assert value(f"token-f1{parameters}", prediction, target) == pytest.approx(expected)
