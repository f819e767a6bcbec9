import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import jaccard_score

import evalkit
from evalkit_metrics_example.word_overlap import WordOverlap, overlap

VOCABULARY = ("red", "green", "blue", "nine", "naïve")
WORDS = st.sets(st.sampled_from(VOCABULARY), min_size=1)


@given(WORDS, WORDS)
def test_it_equals_scikit_learns_jaccard_score(
    words: set[str], other_words: set[str]
) -> None:
    indicators = [
        np.array([word in chosen for word in VOCABULARY])
        for chosen in (words, other_words)
    ]
    expected = jaccard_score(*indicators)
    found = overlap(" ".join(words), ", ".join(other_words).upper())
    assert found == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(
    ("text", "other", "expected"),
    [
        ("The Nile.", "the nile", 1.0),
        ("the nile", "the amazon", 1 / 3),
        ("nile nile nile", "nile", 1.0),
        ("nile", "", 0.0),
        ("", "?!", 1.0),
    ],
)
def test_landmarks(text: str, other: str, expected: float) -> None:
    assert overlap(text, other) == pytest.approx(expected, abs=1e-12)
    assert overlap(other, text) == pytest.approx(expected, abs=1e-12)


def test_the_nearest_of_several_acceptable_answers_counts() -> None:
    targets = [["a river", "the Nile"], ["blue"]]
    score = evalkit.score(WordOverlap, ["the nile", "red"], targets)["word-overlap"]
    assert score.value == pytest.approx((1 + 0) / 2, abs=1e-12)


def test_a_missing_prediction_counts_as_no_overlap() -> None:
    score = evalkit.score(WordOverlap, ["red", None], ["red", "red"])["word-overlap"]
    assert (score.value, score.n) == (0.5, 2)


def test_mean_and_spread_are_over_the_examples() -> None:
    predictions = ["the nile", "nile", "a b c d", "x"]
    targets = ["the amazon", "nile", "a b c e", "y"]
    expected = np.array([1 / 3, 1, 3 / 5, 0])
    score = evalkit.score(WordOverlap, predictions, targets)["word-overlap"]
    assert score.value == pytest.approx(expected.mean(), abs=1e-12)
    assert score.stddev == pytest.approx(expected.std(), abs=1e-12)
    assert (score.min, score.max) == (0, 1)
    assert score.ci_method == "t"
