"""Free answers that hold the right one, and score 0."""

from __future__ import annotations

import polars as pl
import pytest

import evalkit
from evalkit.predictions.embedded_answers import embedded_notices, is_about_embedded


def _found(answer: str, given: str, **options: bool) -> list[str]:
    scores = pl.Series([0.0])
    return embedded_notices(
        pl.Series([answer]), pl.Series([given]), scores, None, **options
    )


@pytest.mark.parametrize(
    ("answer", "given"),
    [
        ("8", "So the answer is 8."),
        ("1800", "It is $1,800, I think"),
        ("1,800", "It is 1800"),
        ("1800000", "It is 1,800,000"),
        ("1234567890", "It is 1,234,567,890"),
        ("3.5", "about 3.5%"),
        ("-8", "It is -8."),
        ("8", "**8**"),
        ("8", "x=8"),
        ("Paris", "It is paris!"),
        ("New York", "in new  york, NY"),
        ("A", "The answer is (A)."),
        ("Zürich", "in zürich"),
        ("नमस्ते", "उसने नमस्ते कहा"),
    ],
)
def test_answers_among_words_are_found(answer: str, given: str) -> None:
    [notice] = _found(answer, given)
    assert notice.startswith("1 prediction that scores 0 holds the right answer")
    assert "docs/adapters.md" in notice
    assert is_about_embedded(notice)


@pytest.mark.parametrize(
    ("answer", "given"),
    [
        ("8", "18"),
        ("8", "3.8"),
        ("8", "8.5"),
        ("8", "1,800"),
        ("1800", "1,800,000"),
        ("1", "version 3.8.1"),
        ("8", "It is -8"),
        ("cat", "concatenate"),
        ("A", "a cat"),
        ("...", "what?"),
        ("", "anything"),
        ("York New", "New York"),
        ("नम", "नमस्ते"),
    ],
)
def test_parts_of_words_and_numbers_are_none(answer: str, given: str) -> None:
    assert _found(answer, given) == []


def test_only_rows_that_score_zero_are_counted() -> None:
    answers = pl.Series(["8"] * 4)
    given = pl.Series(["It is 8", "It is 8", "It is 8", "7"])
    scores = pl.Series([0.0, 0.5, None, 0.0])
    [notice] = embedded_notices(answers, given, scores, None)
    assert notice.startswith("1 prediction that scores 0")


def test_an_answer_of_several_is_counted_once() -> None:
    answers = pl.Series([["8", "eight"], ["5"], [], None], dtype=pl.List(pl.String))
    given = pl.Series(["8, that is eight", "5 it is", "x", "y"])
    [notice] = embedded_notices(answers, given, pl.Series([0, 0, 0, 0]), None)
    assert notice.startswith("2 predictions that score 0 hold")
    assert "such as '8, that is eight' for '8'" in notice


def test_labels_and_numbers_are_left_alone() -> None:
    zero = pl.Series([0.0])
    assert embedded_notices(pl.Series(["no"]), pl.Series(["no no"]), zero, ["no"]) == []
    assert embedded_notices(pl.Series([1.0]), pl.Series(["1"]), zero, None) == []
    assert embedded_notices(pl.Series(["1"]), pl.Series([1.0]), zero, None) == []


def test_texts_are_not_quoted_where_they_may_not_be() -> None:
    [notice] = _found("secret", "a secret word", show=False)
    assert "secret" not in notice


@pytest.mark.parametrize(("is_better", "told"), [(True, 1), (False, 0), (None, 0)])
def test_a_metric_of_which_0_is_not_the_worst_says_nothing(
    is_better: bool | None, told: int
) -> None:
    class Hedges(evalkit.Metric):
        bounds = (0, 1)
        higher_is_better = is_better

        def score_example(self, prediction: str) -> float:
            return float("maybe" in prediction)

    result = evalkit.evaluate(
        data=[{"uid": "1", "source": "Capital of France?", "text": "Paris"}],
        predictions=[{"id": "1", "text": "It is Paris"}],
        task="text-generation",
        metrics=[Hedges],
    )
    assert len([*filter(is_about_embedded, result.notices)]) == told
