"""Compares two models by a metric of sums, such as macro-F1, WER or AUROC."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import polars as pl

from evalkit.base.columns import all_named
from evalkit.catalog import BoundMetric
from evalkit.errors import MetricError
from evalkit.scoring import merge_statistics, metric_statistics, why_not
from evalkit.scoring.finalization import call_finalize
from evalkit.scoring.group_intervals import NO_INTERVAL
from evalkit.scoring.passes import value_columns
from evalkit.statistics.clusters import Floats
from evalkit_analysis_compare.differences import Difference, without_difference
from evalkit_analysis_compare.joint_counts import JointCounts, Labels
from evalkit_analysis_compare.paired_sums import (
    MOST_CELLS,
    SUM_REPLICATES,
    SumPair,
    UnitSums,
)
from evalkit_analysis_compare.paired_tests import Significance
from evalkit_analysis_compare.power import detectable_difference
from evalkit_analysis_compare.replicates import (
    Replicates,
    replicated_difference,
    swap_test,
)
from evalkit_analysis_compare.smooth_differences import (
    PairedInfluences,
    SmoothDifference,
    compare_rankings,
    two_classes,
)
from evalkit_analysis_compare.tables import PairedTables, Side

Parts = Mapping[str, list[Difference]]
"""The difference of each group by number, by name of the score within the metric."""


def compare_statistics(
    metric: BoundMetric, tables: PairedTables
) -> dict[str, list[Difference]]:
    """Compare two models by every score of a metric, for every group."""
    for side in tables.sides:
        reason = why_not(metric, side.table)
        if reason:
            raise MetricError(reason)
    if metric.joins_replications:
        tables = tables.joined()
    first, second = (_statistics(metric, side) for side in tables.sides)
    values = [
        _values(metric, found, side, tables)
        for found, side in zip((first, second), tables.sides, strict=True)
    ]
    names = sorted({part for found in values for part, _ in found})
    differences: dict[str, list[Difference]] = {name: [] for name in names}
    compared = _Compared(metric, (first, second), tables)
    for group in range(len(tables.examples)):
        for name in names:
            pair = [found.get((name, group), _ABSENT) for found in values]
            differences[name].append(compared.difference(name, group, pair))
    return differences


OF_WHOLE = "it is of the whole set, and examples have no part in it"
"""Why a difference of such scores is not tested."""

_Value = tuple[float | None, str | None]
"""A value, and why it is None."""

_ABSENT: _Value = (None, "the metric gave no value")


def _statistics(metric: BoundMetric, side: Side) -> pl.DataFrame:
    """Return the statistics with the example and replication that they are of."""
    return metric_statistics(metric, side.table).join(
        side.rows, on="position", how="inner"
    )


def _values(
    metric: BoundMetric, statistics: pl.DataFrame, side: Side, tables: PairedTables
) -> dict[tuple[str, int], tuple[float | None, str | None]]:
    """Return value and reason of every score and group, the mean over replications."""
    table = side.table._replace(replications=(), clusters=None)
    drop = statistics.drop("example", "replication")
    sums = merge_statistics(metric, drop, table, side.groups(tables.examples))
    scores = call_finalize(metric, sums, side.table.context)
    found: dict[tuple[str, int], list[tuple[float | None, str | None]]] = {}
    for group, score, value, reason, _ in scores.iter_rows():
        key = (score, group // side.replications)
        found.setdefault(key, []).append((value, reason))
    return {key: _mean(given, side.repeats) for key, given in found.items()}


def _mean(
    given: list[tuple[float | None, str | None]], repeats: int
) -> tuple[float | None, str | None]:
    if len(given) < repeats:
        return None, "the metric is not defined for every replication"
    for value, reason in given:
        if value is None or not np.isfinite(value):
            return None, reason or "the metric is not defined for these examples"
    return float(np.mean([value for value, _ in given])), None


class _Drawn(NamedTuple):
    """Differences in replicates of one group, by score; or why there are none."""

    draws: Mapping[str, Floats] | str
    swaps: Mapping[str, Floats] | None = None
    """Differences after swaps; None where the replicates are the test."""
    method: str = "none"
    differing: int = 0

    def replicates(self, name: str, tables: PairedTables, group: int) -> Replicates:
        """Return the replicates of one score."""
        draws: Floats | str = np.full(SUM_REPLICATES, np.nan)
        if isinstance(self.draws, str):
            draws = self.draws
        elif name in self.draws:
            draws = self.draws[name]
        units, is_uneven = tables.effective_units(group), tables.is_uneven(group)
        return Replicates(draws, self.method, units, is_uneven)

    def test(
        self, name: str, value: float, replicates: Replicates
    ) -> Significance | str:
        """Return the test of one score."""
        if self.swaps is None:
            return replicates.test()
        return swap_test(self.swaps.get(name, np.empty(0)), value, self.differing)


class _Compared:
    """Compares the scores of one metric, group by group."""

    def __init__(
        self, metric: BoundMetric, statistics: SumPair, tables: PairedTables
    ) -> None:
        self._metric, self._statistics, self._tables = metric, statistics, tables
        is_single = all(side.repeats == 1 for side in tables.sides)
        self._influences = None
        if is_single and metric.interval_kind in ("wilson", "t", "delta", "ratio"):
            self._influences = PairedInfluences(metric, statistics, tables)
        self._classes = None
        if is_single and tables.pair.clusters is None:
            self._classes = two_classes(metric, statistics)
        self._drawn: dict[int, _Drawn] = {}

    def difference(self, name: str, group: int, pair: list[_Value]) -> Difference:
        """Compare one score on one group."""
        tables = self._tables
        n, left_out = len(tables.examples[group]), tables.left_out[group]
        clusters = tables.n_clusters(group)
        if not n:
            reason = "no example was scored in both runs"
            return without_difference(reason, n, left_out, None)
        (first, why_first), (second, why_second) = pair
        if first is None or second is None:
            why = why_first or why_second or ""
            return without_difference(why, n, left_out, clusters)
        counts = n, left_out, clusters
        smooth = None
        if self._metric.interval != "none" and not self._metric.whole_only:
            smooth = self._smooth(name, group, (first, second))
        if isinstance(smooth, SmoothDifference):
            return _of_smooth((first, second), counts, smooth)
        drawn = self._draw(group)
        replicates = drawn.replicates(name, tables, group)
        tested = drawn.test(name, first - second, replicates)
        return replicated_difference((first, second), counts, replicates, tested)

    def _smooth(
        self, name: str, group: int, values: tuple[float, float]
    ) -> SmoothDifference | str | None:
        if self._influences is not None:
            return self._influences.difference(name, group, values)
        if self._classes is None:
            return None
        parts = self._parts(group)
        return compare_rankings((parts[0], parts[1]), self._classes)

    def _parts(self, group: int) -> list[pl.DataFrame]:
        members = pl.DataFrame({"example": self._tables.examples[group]})
        return [
            part.join(members, on="example", how="semi") for part in self._statistics
        ]

    def _draw(self, group: int) -> _Drawn:
        if group not in self._drawn:
            self._drawn[group] = self._draw_group(group)
        return self._drawn[group]

    def _draw_group(self, group: int) -> _Drawn:
        metric, tables = self._metric, self._tables
        if metric.whole_only:
            return _Drawn(OF_WHOLE)
        first, second = self._parts(group)
        columns = value_columns(metric, first.drop("example", "replication"))
        if any(metric.merges.get(name, "sum") != "sum" for name in columns):
            return _Drawn("the metric's statistics do not merge by sum")
        if first.is_empty() or second.is_empty():
            return _Drawn("no example was scored in both runs")
        both, keys = (first, second), list(metric.keys)
        clustered = tables.pair.clusters is not None
        are_labels = metric.counts_labels and all(
            part.schema[key] == pl.String for part in both for key in keys
        )
        try:
            if are_labels and not clustered and _is_count(both, columns):
                return self._joint(both, Labels(keys[0], keys[1], columns[0]))
            is_same = first.drop("position").equals(second.drop("position"))
            if is_same and not are_labels:
                return _Drawn("both runs have the same predictions")
            source = UnitSums(both, keys, columns, tables.pair.units)
            if source.size > MOST_CELLS:
                return _Drawn("the group is too large to resample")
            if len(source.keys) < 2:
                one = "all examples are in one cluster" if clustered else "n is 1"
                return _Drawn(one)
            drawn = source.draw(SUM_REPLICATES)
            draws = _finalised(metric, drawn, tables, SUM_REPLICATES)
        except MetricError as error:
            return _Drawn(f"resampling failed: {error}")
        if metric.interval == "none":
            return _Drawn(NO_INTERVAL)
        method = "paired-bootstrap" + ("-clustered" if clustered else "")
        return _Drawn(draws, None, method)

    def _joint(self, both: SumPair, labels: Labels) -> _Drawn:
        """Draw and swap counts of label pairs of independent examples."""
        metric, tables = self._metric, self._tables
        known = _known_labels(both, [labels.gold, labels.predicted], tables)
        source = JointCounts(both, labels, known, tables.pair.seed)
        drawn = source.draw(SUM_REPLICATES)
        draws = _finalised(metric, drawn, tables, SUM_REPLICATES)
        swaps = None
        if tables.swappable:
            blocks = [
                _finalised(metric, sums, tables, size) for size, sums in source.swaps()
            ]
            names = {name for block in blocks for name in block}
            swaps = {
                name: np.concatenate([block[name] for block in blocks if name in block])
                for name in names
            }
        return _Drawn(draws, swaps, "paired-multinomial", source.differing)


def _of_smooth(
    values: tuple[float, float],
    counts: tuple[int, int, int | None],
    smooth: SmoothDifference,
) -> Difference:
    """Make a difference of what formulas say of it."""
    tested = smooth.tested

    def detects(level: float) -> float | None:
        if not smooth.error or isinstance(tested, str):
            return None
        return detectable_difference(smooth.error, level, smooth.degrees)

    return Difference(
        *(*values, *counts, smooth.error),
        intervals=smooth.intervals,
        detects=detects,
        tested=None if isinstance(tested, str) else tested,
        reason=tested if isinstance(tested, str) else None,
    )


def _known_labels(
    statistics: SumPair, keys: Sequence[str], tables: PairedTables
) -> pl.Series:
    """Return all labels that a prediction may be of, sorted."""
    declared = tables.sides[0].table.context.labels or ()
    parts = [pl.Series("label", [str(label) for label in declared], dtype=pl.String)]
    for part in statistics:
        parts += [part[name].alias("label") for name in keys]
    return pl.concat(parts).drop_nulls().unique().sort()


def _is_count(parts: SumPair, columns: list[str]) -> bool:
    """Tell whether each example has one row, which counts 1, in either model."""
    if len(columns) != 1 or len(parts[0]) != len(parts[1]) or len(parts[0]) < 2:
        return False
    return all(
        part["example"].n_unique() == part.height
        and bool((part[columns[0]] == 1).all())
        for part in parts
    )


def _finalised(
    metric: BoundMetric, sums: SumPair, tables: PairedTables, count: int
) -> dict[str, Floats]:
    """Return the difference in each replicate by score; NaN where it is undefined."""
    first, second = (
        _replicate_values(metric, part, side, count)
        for part, side in zip(sums, tables.sides, strict=True)
    )
    nothing = np.full(count, np.nan)
    return {
        name: first.get(name, nothing) - second.get(name, nothing)
        for name in {*first, *second}
    }


def _replicate_values(
    metric: BoundMetric, sums: pl.DataFrame, side: Side, count: int
) -> dict[str, Floats]:
    times = side.replications
    numbered = sums.with_columns(
        group=pl.col("replicate") * times + pl.col("replication")
    ).drop("replicate", "replication")
    keys = metric.keys
    ordered = numbered.select(all_named(["group", *keys]), ~all_named(["group", *keys]))
    scores = call_finalize(
        metric, ordered.sort(all_named(["group", *keys])), side.table.context
    )
    found = {}
    for (name,), part in scores.partition_by("score", as_dict=True).items():
        values = np.full(count * times, np.nan)
        values[part["group"].to_numpy()] = part["value"].fill_null(np.nan).to_numpy()
        found[str(name)] = values.reshape(count, times).mean(axis=1)
    return found
