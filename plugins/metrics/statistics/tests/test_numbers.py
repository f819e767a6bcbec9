"""Metrics of numbers, against scikit-learn and scipy."""

import math
import warnings
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from pydantic import BaseModel
from scipy import stats
from sklearn import metrics as sklearn

import evalkit
from evalkit.errors import MetricError

from .values_alone import same, values_by_tag

Reference = Callable[[Sequence[float], Sequence[float]], float]


def _scipy(function: Any) -> Reference:
    def compute(predictions: Sequence[float], targets: Sequence[float]) -> float:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of lists without spread
            return float(function(predictions, targets)[0])

    return compute


REFERENCES: dict[str, Reference] = {
    "mae": lambda p, t: float(sklearn.mean_absolute_error(t, p)),
    "rmse": lambda p, t: float(sklearn.root_mean_squared_error(t, p)),
    "r2": lambda p, t: float(sklearn.r2_score(t, p, force_finite=False)),
    "pearson": _scipy(stats.pearsonr),
    "spearman": _scipy(stats.spearmanr),
    "kendall": _scipy(stats.kendalltau),
}
OF_SPREAD = ("r2", "pearson", "spearman", "kendall")
OF_BOTH = ("pearson", "spearman", "kendall")

every_metric = pytest.mark.parametrize("name", REFERENCES)

few = st.integers(-3, 3).map(float)
many = st.floats(-1e6, 1e6).map(lambda number: round(number, 3))
tags = st.lists(st.sampled_from(["t", "u:v"]), unique=True)
rows = st.sampled_from([few, many]).flatmap(
    lambda number: st.lists(st.tuples(number, number, tags), min_size=2, max_size=30)
)


def value_of(name: str, predictions: Any, targets: Any) -> float | None:
    return values_by_tag(name, predictions, targets)[None].value


def expected(name: str, rows: Sequence[tuple[float, float]]) -> float | None:
    predictions, targets = zip(*rows, strict=True)
    has_no_spread = len(set(targets)) == 1 and name in OF_SPREAD
    if has_no_spread or (len(set(predictions)) == 1 and name in OF_BOTH):
        return None
    return REFERENCES[name](predictions, targets)


@every_metric
@given(rows=rows)
@pytest.mark.slow
def test_the_set_and_its_tags_score_as_the_reference_says(
    name: str, rows: list[tuple[float, float, list[str]]]
) -> None:
    predictions, targets, of_rows = map(list, zip(*rows, strict=True))
    found = values_by_tag(name, predictions, targets, tags=of_rows)
    for tag, score in found.items():
        if tag in ("t", "u:v", None):
            chosen = [(p, t) for p, t, of_row in rows if tag is None or tag in of_row]
            assert same(score.value, expected(name, chosen))
            assert score.value is not None or score.reason


@pytest.mark.parametrize("name", OF_BOTH)
def test_lists_of_equal_numbers_have_no_correlation(name: str) -> None:
    found = evalkit.score(name, [0.1, 0.1, 0.1], [1.0, 2.0, 3.0])[name]
    assert (found.value, found.reason) == (None, "all predictions are equal")
    found = evalkit.score(name, [1.0, 2.0, 3.0], [0.1, 0.1, 0.1])[name]
    assert (found.value, found.reason) == (None, "all answers are equal")


def test_r2_of_equal_answers_is_nothing_by_nothing() -> None:
    found = evalkit.score("r2", [0.1, 0.1, 0.1], [0.1, 0.1, 0.1])["r2"]
    assert (found.value, found.reason) == (None, "all answers are equal")
    assert value_of("r2", [0.2, 0.1, 0.3], [0.2, 0.2, 0.2]) is None
    assert value_of("r2", [2.0, 2.0], [1.0, 3.0]) == 0.0


def _exact_r2(predictions: list[float], targets: list[float]) -> float:
    said, right = ([Fraction(x) for x in part] for part in (predictions, targets))
    mean = sum(right) / len(right)
    errors = sum((s - r) ** 2 for s, r in zip(said, right, strict=True))
    return float(1 - errors / sum((r - mean) ** 2 for r in right))


def _exact_pearson(predictions: list[float], targets: list[float]) -> float:
    said, right = ([Fraction(x) for x in part] for part in (predictions, targets))
    one, other = (sum(part) / len(part) for part in (said, right))
    product = sum((s - one) * (r - other) for s, r in zip(said, right, strict=True))
    spread = sum((s - one) ** 2 for s in said) * sum((r - other) ** 2 for r in right)
    return float(product) / math.sqrt(float(spread))


@pytest.mark.parametrize("middle", [0.0, 1e3, 1e6, -1e6])
@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_numbers_far_from_zero_lose_no_digits(middle: float, scale: float) -> None:
    random = np.random.default_rng(0)
    targets = (middle + random.normal(size=200)).tolist()
    predictions = (random.normal(size=200) * scale).tolist()
    near = [t + e for t, e in zip(targets, predictions, strict=True)]
    assert value_of("r2", near, targets) == pytest.approx(
        _exact_r2(near, targets), rel=1e-9
    )
    assert value_of("pearson", predictions, targets) == pytest.approx(
        _exact_pearson(predictions, targets), rel=1e-9
    )


@given(rows=st.lists(st.tuples(few, few), min_size=2, max_size=40))
@pytest.mark.slow
def test_tau_counts_pairs(rows: list[tuple[float, float]]) -> None:
    predictions, targets = map(list, zip(*rows, strict=True))
    assume(len(set(predictions)) > 1)
    assume(len(set(targets)) > 1)
    signs = [
        (np.sign(rows[i][0] - rows[j][0]), np.sign(rows[i][1] - rows[j][1]))
        for i in range(len(rows))
        for j in range(i)
    ]
    one, other = (sum(abs(pair[k]) for pair in signs) for k in (0, 1))
    by_hand = sum(a * b for a, b in signs) / math.sqrt(one * other)
    assert value_of("kendall", predictions, targets) == pytest.approx(by_hand)


@every_metric
def test_what_is_no_number_is_refused(name: str) -> None:
    with pytest.raises(MetricError, match="it needs numbers, and the answers are"):
        evalkit.score(name, ["1", "2"], ["1", "3"])


@pytest.mark.parametrize("strange", [math.nan, math.inf])
@every_metric
def test_what_is_not_finite_is_not_scored(name: str, strange: float) -> None:
    targets = [float(n % 7) for n in range(20)]
    predictions = [strange, *(t + t % 2 for t in targets[1:])]
    found = evalkit.score(name, predictions, targets)
    assert found[name].value == pytest.approx(
        value_of(name, predictions[1:], targets[1:])
    )
    assert found[name].n == 19
    assert found.status == "partial"
    [problem] = found.problems
    assert problem.reason == "the prediction is NaN or infinite"


@every_metric
def test_many_that_are_not_finite_leave_no_score(name: str) -> None:
    said = [math.nan, math.nan, 1.0, 2.0]
    found = evalkit.score(name, said, [1.0, 2.0, 3.0, 5.0])
    assert found[name].value is None
    assert "did not score 2 of 4" in str(found[name].reason)


@every_metric
def test_a_missing_prediction_leaves_no_score(name: str) -> None:
    found = evalkit.score(name, [None, 1.0, 2.0], [1.0, 2.0, 3.0])[name]
    assert found.value is None
    assert "declares no worst value" in str(found.reason)


class Question(BaseModel):
    uid: str
    text: str


class Rating(BaseModel):
    id: str
    stars: float


class Stars(evalkit.TaskIO):
    Input = Question
    Output = Rating
    answer_field = "stars"
    answer_kind = "number"
    perf_metric = "mae"
    eval_metrics = ("rmse", "r2", "pearson", "spearman", "kendall")
    example = {"uid": "1", "text": "Good."}


class Reviews(evalkit.Dataset):
    name = "reviews"
    task = Stars

    def load(self, split: str) -> list[dict[str, Any]]:
        return [
            {
                "uid": str(n),
                "text": "Good.",
                "stars": n % 5 + n % 3,
                "tags": [f"m:{n % 2}"],
            }
            for n in range(40)
        ]


SAID = [(n % 5 + n % 4) / 2 for n in range(40)]


def responses(**of_all: Any) -> list[dict[str, Any]]:
    return [{"id": str(n), "stars": stars} | of_all for n, stars in enumerate(SAID)]


@pytest.mark.slow
def test_a_task_of_numbers_is_scored_with_intervals() -> None:
    found = evalkit.evaluate(Reviews, responses())
    right = [n % 5 + n % 3 for n in range(40)]
    for name, reference in REFERENCES.items():
        assert found[name].value == pytest.approx(reference(SAID, right))
        assert found[name].ci is not None
        assert found[name].ci.low < found[name].value < found[name].ci.high
    methods = {name: found[name].ci_method for name in REFERENCES}
    assert methods == {
        "mae": "t",
        "rmse": "delta",
        "r2": "delta",
        "pearson": "delta-fisher-z",
        "spearman": "bootstrap",
        "kendall": "bootstrap",
    }
