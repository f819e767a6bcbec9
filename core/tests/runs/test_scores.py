"""What a run records of its metrics' bounds."""

import math
from typing import Any

import pytest

import evalkit
from evalkit import MetricError
from evalkit.plugins.registry import Registry
from evalkit.plugins.resolver import Resolver
from evalkit.runs.scores import bounds_of


def bound(bounds: Any) -> Any:
    class Shown(evalkit.Metric):
        def score_example(self, prediction: str, target: str) -> float:
            return 1.0

    Shown.bounds = bounds
    return Resolver(Registry()).bind("metrics", Shown)


@pytest.mark.parametrize(
    ("bounds", "recorded"),
    [
        ((0, 1), {"shown": (0, 1)}),
        ((None, 1.0), {"shown": (None, 1.0)}),
        ((0.0, math.inf), {"shown": (0.0, None)}),
        ((-math.inf, math.inf), {}),
        ((None, None), {}),
        (None, {}),
    ],
)
def test_bounds_are_recorded_by_name_and_are_json(bounds: Any, recorded: Any) -> None:
    assert bounds_of([bound(bounds)]) == recorded


def test_a_value_beyond_recorded_bounds_cannot_be() -> None:
    class Beyond(evalkit.Metric):
        bounds = (0.0, 0.5)

        def score_example(self, prediction: str, target: str) -> float:
            return 1.0

    metric = Resolver(Registry()).bind("metrics", Beyond)
    assert bounds_of([metric]) == {"beyond": (0.0, 0.5)}
    with pytest.raises(MetricError, match=r"outside of its bounds 0\.0 to 0\.5"):
        evalkit.score(Beyond, predictions=["a", "b"], targets=["a", "b"])
