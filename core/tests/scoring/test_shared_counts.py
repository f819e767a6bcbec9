"""What metrics of one pass share changes none of their numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl
import pytest

from evalkit.scoring import label_pairs, shared_counts
from evalkit.scoring.records import MetricScores, ScoringSettings
from evalkit.scoring.shared_counts import SharedCounts
from evalkit.scoring.table import ScoringTable
from evalkit.tallies.measurement import Measured, measure

from ..engine_tables import Share, bound, make_groups, make_table

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


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(
    ("module", "name"), [(label_pairs, "MOST_KEPT"), (shared_counts, "MOST_ROWS")]
)
def test_what_is_not_kept_is_drawn_again(
    shape: str, module: Any, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    measured = measured_of(table_of(shape))
    kept = numbers(METRICS[:3], measured)
    monkeypatch.setattr(module, name, 0)
    assert numbers(METRICS[:3], measured) == kept


def test_label_pairs_are_drawn_once_for_all_their_metrics(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    drawn = []
    draw = label_pairs.draw_pairs

    def counted(*given: Any) -> Any:
        drawn.append(given)
        return draw(*given)

    monkeypatch.setattr(label_pairs, "draw_pairs", counted)
    measured = measured_of(table_of("alone"))
    numbers(["macro-f1"], measured)
    once = len(drawn)
    assert once == len(measured.groups.tags)
    numbers(["macro-f1", "mcc", "f1", "cohen-kappa"], measured)
    assert len(drawn) == 2 * once


def test_only_the_same_statistics_of_the_same_pass_are_shared() -> None:
    table, settings, groups = table_of("alone"), ScoringSettings(), make_groups(ROWS)
    statistics = pl.DataFrame(
        {"position": range(ROWS), "key": ["a"] * ROWS, "x": [0.0] * ROWS}
    )
    shared = SharedCounts()
    first = shared.of(statistics, ["key"], table, groups, settings)
    assert shared.of(statistics.clone(), ["key"], table, groups, settings) is first
    others = [
        shared.of(statistics, [], table, groups, settings),
        shared.of(statistics.with_columns(x=-0.0), ["key"], table, groups, settings),
        shared.of(statistics.rename({"key": "k"}), ["k"], table, groups, settings),
        shared.of(statistics, ["key"], table_of("clusters"), groups, settings),
        shared.of(statistics, ["key"], table, make_groups(ROWS), settings),
        shared.of(statistics, ["key"], table, groups, ScoringSettings(seed=1)),
    ]
    assert all(other is not first for other in others)
    # three came after it
    assert shared.of(statistics, ["key"], table, groups, settings) is not first


def test_statistics_with_nan_are_shared_and_those_with_nulls_are_not() -> None:
    table, settings, groups = table_of("alone"), ScoringSettings(), make_groups(ROWS)
    shared = SharedCounts()
    for value, is_shared in ((float("nan"), True), (None, False)):
        column = pl.Series("x", [value] * ROWS, dtype=pl.Float64)
        statistics = pl.DataFrame({"position": range(ROWS), "x": column})
        found = [
            shared.of(statistics.clone(), [], table, groups, settings) for _ in "12"
        ]
        assert (found[0] is found[1]) == is_shared


def test_metrics_of_other_statistics_stand_beside_each_other() -> None:
    class Half(Share):
        def statistics(self, batch: pl.DataFrame) -> pl.DataFrame:
            half = pl.DataFrame({"total": [0.5] * batch.height, "n": 1.0})
            return half.with_row_index("row")

    measured = measured_of(table_of("clusters"))
    alone = numbers([Half], measured)
    assert numbers(["macro-f1", Half, "macro-f1:labels=seen"], measured)[1:2] == alone
