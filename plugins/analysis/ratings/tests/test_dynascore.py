"""Dynascores against Dynabench's formula."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import pytest

from evalkit.errors import EvalkitError
from evalkit_analysis_ratings import Columns, Rating
from evalkit_analysis_ratings.dynascore import rate_dynascore

NAN = float("nan")


class Rank(NamedTuple):
    """Settings of a dynascore."""

    perf: str = "accuracy"
    weights: Mapping[str, float] = {}
    offset: Mapping[str, float] = {}


NAMES = ("accuracy", "examples/s", "memory", "fairness", "robustness")
SCORES = [[80, 90, 85], [10, 4, 6], [2, 8, 4], [90, 94, 92], [70, 80, 72]]
SETTINGS = Rank(weights={"accuracy": 4}, offset={"memory": 32})


def dynascore(scores: Any, rank: Rank = SETTINGS) -> Rating:
    values = np.array(scores, dtype=float)
    models = tuple(f"m{place}" for place in range(values.shape[1]))
    directions = (True, True, False, True, True)
    columns = Columns(models, NAMES, values, directions, "not drawn", [9] * 5)
    return rate_dynascore(columns, *rank)


def test_dynascore_is_dynabenchs() -> None:
    found = dynascore(SCORES).scores
    values = [found[f"m{place}"].value for place in range(3)]
    assert values == pytest.approx([85.208333, 90.208333, 87.333333])
    assert "rates of exchange jump" in str(found["m0"].reason)
    assert found["m0"].flag is None
    tied = dynascore([[80, 80, 90], *SCORES[1:]]).scores
    assert tied["m0"].flag == "models of equal accuracy are in the order of their names"
    values = [tied[f"m{place}"].value for place in range(3)]
    assert values == pytest.approx([122.8125, 121.25, 126.25])
    columns = np.array([[2.0, 2, 1], [8, 9, 7]])  # a perf whose lower values are better
    costs = Columns(("a", "b", "c"), NAMES[:2], columns, (False, True), "", [9, 9])
    rated = rate_dynascore(costs, *Rank()).scores.values()
    assert None not in {score.value for score in rated}


def test_weights_of_a_dynascore_are_normalized() -> None:
    weights = dict(zip(NAMES, [40, 10, 10, 10, 10], strict=True))
    tenfold = SETTINGS._replace(weights=weights)
    assert dynascore(SCORES, tenfold).scores == dynascore(SCORES).scores
    constant = [*SCORES[:3], [7, 7, 7], SCORES[4]]
    unweighted = Rank(weights={"accuracy": 4, "fairness": 0})
    assert dynascore(constant, unweighted).scores["m0"].value is not None


@pytest.mark.parametrize(
    ("column", "scores", "reasons"),
    [
        (3, [7, 7, 7], ["fairness does not change with accuracy"] * 3),
        (0, [8, 8, 8], ["all models have the same accuracy"] * 3),
        (
            1,
            [10, NAN, NAN],
            ["fewer than two models have all scores", *["no score for examples/s"] * 2],
        ),
    ],
)
def test_degenerate_dynascore_is_null_with_a_reason(
    column: int, scores: list[float], reasons: list[str]
) -> None:
    changed = [scores if n == column else own for n, own in enumerate(SCORES)]
    found = dynascore(changed).scores
    assert [found[f"m{place}"].reason for place in range(3)] == reasons
    assert {each.value for each in found.values()} == {None}


def test_model_without_a_score_leaves_the_dynascores_of_others() -> None:
    scores = np.column_stack([SCORES, [95, NAN, 1, 99, 99]])
    found = dynascore(scores).scores
    assert found["m0"].value == pytest.approx(85.208333)
    assert found["m3"].reason == "no score for examples/s"


def test_wrong_settings_are_refused() -> None:
    no_weight = dict.fromkeys(NAMES, 0)
    for wrong in (Rank("x"), Rank(weights=no_weight)):
        with pytest.raises(EvalkitError, match=r"^rank: "):
            dynascore(SCORES, wrong)
