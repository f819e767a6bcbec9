"""The systems that ship with the sample data, compared with each other."""

from pathlib import Path

import pytest

import evalkit
from evalkit_analysis_compare import Comparison, compare

PREDICTIONS = Path(__file__).parents[1] / "src/evalkit_datasets_samples/predictions"


def compared(dataset: str) -> Comparison:
    files = sorted((PREDICTIONS / dataset).iterdir())
    return compare(*(evalkit.evaluate(dataset, path) for path in files))


@pytest.mark.slow
def test_sentiment_cannot_tell_the_two_apart() -> None:
    comparison = compared("sample-sentiment")
    assert [row.metric for row in comparison.whole] == ["macro-f1", "accuracy"]
    for row in comparison.rows:
        assert row.conclusion.startswith("undecided: ")
    accuracy = comparison.whole[1]
    assert (accuracy.wins, accuracy.losses) == (7, 8)
    assert accuracy.p_value == pytest.approx(0.803619384765625)
    assert accuracy.conclusion == (
        "undecided: the difference of 0.7 points could be chance (p = .80); a "
        "true difference of 8.1 points would be found with a probability of about 80 %"
    )


@pytest.mark.parametrize(
    ("dataset", "conclusion"),
    [
        ("sample-hs", "keywords is better than profanity by "),
        ("sample-nli", "rules is better than overlap by "),
        ("sample-qa", "typed is better than overlap by "),
    ],
)
@pytest.mark.slow
def test_the_other_pairs_differ(dataset: str, conclusion: str) -> None:
    for row in compared(dataset).whole:
        assert row.conclusion.startswith(conclusion)
        assert row.ci_low is not None
        assert row.ci_high is not None
        assert row.ci_low * row.ci_high > 0
