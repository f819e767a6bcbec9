"""`A` and `I`, which are words of English, as letters of options."""

import polars as pl
import pytest

from evalkit_adapters_rows import extraction

SEVERAL = "choice: several options are named"
NONE = "choice: no option is named"
TOWNS = ["Rome", "Paris", "Oslo"]
TEN = [f"answer{number}" for number in range(10)]


def read(text: str, choices: list[str]) -> tuple[str | None, str | None]:
    found = extraction([{"kind": "choice"}]).extract(
        pl.Series([text]), pl.Series([choices])
    )
    reason = found.reasons.to_list()[0] if found.values[0] is None else None
    return found.values.to_list()[0], reason


@pytest.mark.parametrize(
    "text",
    [
        *("A, B", "A/B", "A and B", "B or A", "A & B", "A, B, and C", "A; B"),
        *("both A and B", "It is either A or B"),
    ],
)
def test_letters_in_a_list_are_several(text: str) -> None:
    assert read(text, TOWNS) == (None, SEVERAL)


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("It's A.", "Rome"),
        ("Take A", "Rome"),
        ("I say A, not B", "Rome"),
        ("not A but B", "Paris"),
        ("A, because B is wrong", "Rome"),
        ("B. A city of lights", "Paris"),
        ("A capital, so B", "Paris"),
        ("I think B", "Paris"),
    ],
)
def test_one_letter_is_the_answer(text: str, answer: str) -> None:
    assert read(text, TOWNS) == (answer, None)


@pytest.mark.parametrize("text", ["B, I think", "I, too, think B", "B and I agree"])
def test_the_word_i_is_no_option(text: str) -> None:
    assert read(text, TEN) == ("answer1", None)


def test_the_letter_i_in_a_list_is_one() -> None:
    assert read("B or I", TEN) == (None, SEVERAL)
    assert read("I, J", TEN) == (None, SEVERAL)


def test_an_article_names_nothing() -> None:
    assert read("A large city", TOWNS) == (None, NONE)
