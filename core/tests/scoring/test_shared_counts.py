"""What metrics of one pass share changes none of their numbers."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl
import pytest

from evalkit.scoring.measurement import Measured, measure
from evalkit.scoring.records import MetricScores, ScoringSettings
from evalkit.scoring.table import ScoringTable

from ..engine_tables import bound, make_groups, make_table

METRICS = (
    *("macro-f1", "accuracy", "mcc", "f1", "cohen-kappa", "macro-f1:labels=seen"),
    *("balanced-accuracy", "recall:label=b"),
)
SHAPES = ("alone", "clusters", "replications")
ROWS = 240


def table_of(shape: str) -> ScoringTable:
    random = np.random.default_rng(3)
    gold = random.choice(["a", "b", "c"], ROWS)
    said = np.where(random.random(ROWS) < 0.7, gold, "b").tolist()
    said[7] = None
    further: dict[str, Any] = {}
    if shape == "clusters":
        further["clusters"] = (np.arange(ROWS) // 6).tolist()
    if shape == "replications":
        gold = np.repeat(gold[: ROWS // 2], 2)
        further["replications"] = ("r1", "r2")
    return make_table(said, gold.tolist(), labels=["a", "b", "c", "d"], **further)


def measured_of(table: ScoringTable) -> Measured:
    tags = [[f"t:{i // 2 % 3}", *(["few"] if i < 24 else [])] for i in range(ROWS)]
    return Measured(table, pl.repeat(True, ROWS, eager=True), make_groups(tags))


def numbers(metrics: Sequence[Any], measured: Measured, **known: Any) -> list[Any]:
    found = measure(
        [bound(metric) for metric in metrics],
        measured,
        ScoringSettings(),
        lambda _text, _share: None,
        **known,
    )
    return [_plain(each) for each in found]


def _plain(found: MetricScores) -> Any:
    assert found.error is None, found.error
    # as texts, in which a float has all its digits and nan is equal to nan
    return found.name, repr(found.scores), repr(found.aggregates)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.slow
def test_a_metric_has_the_same_numbers_alone_and_in_company(shape: str) -> None:
    measured = measured_of(table_of(shape))
    together = numbers(METRICS, measured)
    assert "multinomial" in together[0][1] or "bootstrap" in together[0][1]
    assert together == [numbers([metric], measured)[0] for metric in METRICS]
    assert together[::-1] == numbers(METRICS[::-1], measured)
