"""TweetEval's sentiment set: the publisher's own files and predictions."""

import functools
from collections import Counter
from pathlib import Path

import pytest
from scipy import stats
from sklearn.metrics import accuracy_score, f1_score, recall_score

import evalkit

pytestmark = pytest.mark.known_result


@functools.cache
def evaluated(folder: Path) -> evalkit.Result:
    predictions = folder / "tweeteval-sentiment" / "predictions.txt"
    return evalkit.evaluate("tweeteval-sentiment", predictions)


@pytest.fixture
def result(external_data: Path, monkeypatch: pytest.MonkeyPatch) -> evalkit.Result:
    """Score the paper's RoBERTa-retrained model."""
    monkeypatch.setenv("EVALKIT_DATA_DIR", str(external_data))
    return evaluated(external_data)


@pytest.mark.slow
def test_every_row_is_scored(result: evalkit.Result) -> None:
    counts = Counter(result.counts)
    assert +counts == {"examples": 12284, "predictions": 12284, "scored": 12284}
    assert (result.status, result.problems, result.notices) == ("complete", (), ())
    assert result.examples is not None
    assert Counter(result.examples["answer"].to_list()) == {
        "negative": 3972,
        "neutral": 5937,
        "positive": 2375,
    }


@pytest.mark.parametrize(
    ("metric", "value"),
    [
        ("accuracy", 0.7232171930967112),
        ("macro-f1", 0.7231406390580212),
        ("macro-recall", 0.7285672376332831),
    ],
)
def test_scores_are_the_known_ones(
    result: evalkit.Result, metric: str, value: float
) -> None:
    assert result[metric].n == 12284
    assert result[metric].value == pytest.approx(value, rel=0, abs=1e-15)


@pytest.mark.slow
def test_agreement_beyond_chance_is_the_known_one(
    external_data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EVALKIT_DATA_DIR", str(external_data))
    predictions = external_data / "tweeteval-sentiment" / "predictions.txt"
    names = ["mcc", "cohen-kappa"]
    found = evalkit.evaluate("tweeteval-sentiment", predictions, metrics=names)
    values = [found[name].value for name in names]
    assert values == pytest.approx([0.562652, 0.561205], rel=0, abs=5e-7)


def test_headline_is_the_macro_averaged_recall(result: evalkit.Result) -> None:
    assert result.headline is not None
    assert result.headline.metric == "macro-recall"
    assert result.metrics == ["macro-recall", "accuracy", "macro-f1"]


def test_accuracy_has_wilsons_interval(result: evalkit.Result) -> None:
    score = result["accuracy"]
    assert score.ci_method == "wilson"
    assert score.ci is not None
    assert [round(bound, 6) for bound in score.ci] == [0.715236, 0.731058]
    plain = stats.binomtest(8884, 12284).proportion_ci(method="wilson")
    assert score.ci == pytest.approx((plain.low, plain.high), abs=1e-12)


def test_scores_are_those_of_scikit_learn_on_the_bare_files(
    result: evalkit.Result, external_data: Path
) -> None:
    folder = external_data / "tweeteval-sentiment"
    gold, given = (
        (folder / name).read_text(encoding="ascii").split()
        for name in ("test_labels.txt", "predictions.txt")
    )
    assert accuracy_score(gold, given, normalize=False) == 8884
    expected = {
        "accuracy": accuracy_score(gold, given),
        "macro-f1": f1_score(gold, given, average="macro"),
        "macro-recall": recall_score(gold, given, average="macro"),
    }
    found = {name: result[name].value for name in expected}
    assert found == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("metric", ["macro-f1", "macro-recall"])
def test_interval_holds_the_score_and_is_about_as_wide_as_accuracys(
    result: evalkit.Result, metric: str
) -> None:
    score = result[metric]
    accuracy = result["accuracy"]
    assert score.ci_method == "multinomial"
    assert score.ci is not None
    assert accuracy.ci is not None
    assert score.value is not None
    assert score.ci.low < score.value < score.ci.high
    width = (score.ci.high - score.ci.low) / (accuracy.ci.high - accuracy.ci.low)
    assert 0.8 < width < 1.25
