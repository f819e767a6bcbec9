"""Scores that are so large or small that their squares are no floats."""

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from evalkit import Dataset, Metric, Result, evaluate
from evalkit.scoring.aggregates import DESCRIBED
from evalkit.statistics.intervals import TOO_LARGE

COUNT = 24


@pytest.fixture(autouse=True)
def _no_warnings() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        yield


class Letters(Dataset):
    task = "text-classification"
    license = "CC0-1.0"
    labels = ("a", "b")

    def load(self, split: str) -> list[dict[str, Any]]:
        return [
            {
                "uid": str(i),
                "statement": "x",
                "label": "ab"[i % 2],
                "group": i // 3,
                "tags": [f"t:{i % 2}", f"u:{i % 3}"],
            }
            for i in range(COUNT)
        ]


class Clustered(Letters):
    cluster = "group"


def _result(
    scale: float, dataset: type[Dataset] = Letters, bounds: Any = None
) -> Result:
    def score_example(self: Any, prediction: str, target: str) -> float:
        return scale * (0.1 + 0.2 * (target == "a") + 0.3 * (prediction == "a"))

    members = {"bounds": bounds, "interval": "t", "score_example": score_example}
    predictions = [{"id": str(i), "label": "ab"[i // 2 % 2]} for i in range(COUNT)]
    return evaluate(dataset, predictions, metrics=[type("Own", (Metric,), members)])


def _reasons(result: Result) -> set[str | None]:
    assert result.scores
    return {score.reason for score in result.scores}


@pytest.mark.parametrize("dataset", [Letters, Clustered])
@pytest.mark.parametrize("bounds", [None, (0, 1e300)])
@pytest.mark.parametrize("scale", [1e100, 1e150, 1e155, 1e250])
def test_scores_too_large_for_an_interval_say_so(
    scale: float, bounds: Any, dataset: type[Dataset]
) -> None:
    result = _result(scale, dataset, bounds)
    reasons = {TOO_LARGE, f"a part has no interval: {TOO_LARGE}", DESCRIBED, None}
    assert _reasons(result) <= reasons
    assert result["own"].value == pytest.approx(0.35 * scale)
    [mean] = [s for s in result.scores if s.aggregate == "macro:u"]
    if scale > 1e154:  # its square is no float
        assert str(mean.reason).endswith(TOO_LARGE)


@pytest.mark.parametrize("dataset", [Letters, Clustered])
@pytest.mark.parametrize("scale", [1e-16, 1e-30, 1e-60, 1e60])
def test_the_size_of_scores_scales_their_intervals(
    scale: float, dataset: type[Dataset]
) -> None:
    expected, found = _result(1.0, dataset), _result(scale, dataset)
    for first, second in zip(expected.scores, found.scores, strict=True):
        assert second.reason == first.reason
        ends = [first.ci_low, first.ci_high, second.ci_low, second.ci_high]
        numbers = np.array(ends, np.float64)
        # degrees of freedom are whole: rounding may make one of them one less
        np.testing.assert_allclose(numbers[2:], numbers[:2] * scale, rtol=2e-3)


@pytest.mark.parametrize("dataset", [Letters, Clustered])
@pytest.mark.parametrize("scale", [1e-80, 1e-160])
def test_scores_that_differ_are_not_called_equal(
    scale: float, dataset: type[Dataset]
) -> None:
    small = "the values are too small for an interval"
    reasons = _reasons(_result(scale, dataset))
    assert reasons <= {small, f"a part has no interval: {small}", DESCRIBED, None}
    assert small in reasons


def test_a_sum_beyond_all_floats_is_no_fault_of_the_metric() -> None:
    result = _result(1e308)
    assert _reasons(result) == {"the sum of the scores is too large for a number"}
    assert result["own"].value is None
