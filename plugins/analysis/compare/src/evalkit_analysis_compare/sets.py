"""Compares two models by a metric of sums, such as macro-F1."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial

import numpy as np
import polars as pl

from evalkit.base.columns import all_named, named
from evalkit.errors import MetricError
from evalkit.inference.intervals import Floats, Integers
from evalkit.plugins.bound import BoundMetric
from evalkit.scoring.calls import call_finalize, merge_by_group, value_columns
from evalkit.scoring.group_intervals import NO_INTERVAL
from evalkit.scoring.metric import why_not
from evalkit.scoring.passes import metric_statistics
from evalkit_analysis_compare.differences import Difference, Levels, without_difference
from evalkit_analysis_compare.effective_pairs import share_reach
from evalkit_analysis_compare.joint_counts import JointCounts, Labels
from evalkit_analysis_compare.paired_sums import (
    MOST_CELLS,
    SUM_REPLICATES,
    SumPair,
    UnitSums,
)
from evalkit_analysis_compare.randomised_tests import Significance
from evalkit_analysis_compare.replicates import (
    Replicates,
    most_apart,
    replicated_difference,
)
from evalkit_analysis_compare.swap_tests import AllSwaps, RandomSwaps, Swaps
from evalkit_analysis_compare.tables import PairedTables, Side

Reach = Callable[[float], tuple[float, float]]
"""How far below and above a difference its interval must reach, by confidence."""

Parts = Mapping[str, list[Difference]]
"""The difference of each group by number, by name of the score within the metric."""


def compare_statistics(
    metric: BoundMetric, tables: PairedTables, levels: Levels
) -> dict[str, list[Difference]]:
    """Compare two models by every score of a metric, for every group.

    The interval is that of the differences in 1 000 replicates in which both models
    get the same examples (Koehn 2004); the test swaps examples between the models
    in all ways, or 1 000 times and on until it is decided (Noreen 1989).
    """
    for side in tables.sides:
        reason = why_not(metric, side.table)
        if reason:
            raise MetricError(reason)
    if metric.joins_replications:
        tables = tables.joined()
    statistics = tuple(_statistics(metric, side) for side in tables.sides)
    values = [
        _values(metric, found, side, tables)
        for found, side in zip(statistics, tables.sides, strict=True)
    ]
    names = sorted({part for found in values for part, _ in found})
    differences: dict[str, list[Difference]] = {name: [] for name in names}
    for group in range(len(tables.examples)):
        if metric.whole_only:
            drawn = _Drawn.none(OF_WHOLE)
        else:
            drawn = _Drawn.of(metric, (statistics[0], statistics[1]), tables, group)
        if metric.interval == "none":
            drawn.draws = NO_INTERVAL
        for name in names:
            pair = tuple(found.get((name, group), _ABSENT) for found in values)
            differences[name].append(
                _difference(pair[0], pair[1], drawn, name, tables, group, levels)
            )
    return differences


OF_WHOLE = "it is of the whole set, and examples have no part in it"
"""Why a difference of such scores is not tested."""

_ABSENT: tuple[float | None, str | None] = (None, "the metric gave no value")


def _statistics(metric: BoundMetric, side: Side) -> pl.DataFrame:
    """Return the statistics with the example and replication that they are of."""
    return metric_statistics(metric, side.table).join(
        side.rows, on="position", how="inner"
    )


def _values(
    metric: BoundMetric, statistics: pl.DataFrame, side: Side, tables: PairedTables
) -> dict[tuple[str, int], tuple[float | None, str | None]]:
    """Return value and reason of every score and group, the mean over replications."""
    members = pl.concat(
        [
            pl.DataFrame({"example": examples}).with_columns(
                number=pl.lit(group, dtype=pl.Int64)
            )
            for group, examples in enumerate(tables.examples)
        ]
    )
    rows = members.join(side.rows, on="example").select(
        "position", group=pl.col("number") * side.replications + pl.col("replication")
    )
    drop = statistics.drop("example", "replication")
    sums = merge_by_group(metric, drop, rows)
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


class _Drawn:
    """Differences in replicates of one group, by score; or why there are none."""

    def __init__(
        self,
        draws: Mapping[str, Floats] | str,
        swaps: Swaps | str,
        method: str,
        differing: float = 0.0,
        most: float = math.inf,
        reach: Reach | None = None,
    ) -> None:
        self.reach = reach
        self.differing = differing
        self.most = most
        self.draws = draws
        self.swaps = swaps
        self.method = method

    @classmethod
    def of(
        cls, metric: BoundMetric, statistics: SumPair, tables: PairedTables, group: int
    ) -> _Drawn:
        """Draw and swap the examples of a group."""
        members = pl.DataFrame({"example": tables.examples[group]})
        parts = [part.join(members, on="example", how="semi") for part in statistics]
        columns = value_columns(metric, parts[0].drop("example", "replication"))
        merges = metric.merges
        if any(merges.get(name, "sum") != "sum" for name in columns):
            return cls.none("the metric's statistics do not merge by sum")
        if any(part.is_empty() for part in parts):
            return cls.none("no example was scored in both runs")
        source: JointCounts | UnitSums
        both = (parts[0], parts[1])
        keys = list(metric.keys)
        clustered = tables.pair.clusters is not None
        are_labels = metric.counts_labels and all(
            part.schema[key] == pl.String for part in both for key in keys
        )
        if are_labels and not clustered and _is_count(both, columns):
            seed = (tables.pair.seed, metric.name)
            labels = Labels(keys[0], keys[1], columns[0])
            known = _known_labels(both, keys, tables)
            source = JointCounts(both, labels, known, seed)
            method = "paired-multinomial"
        elif not are_labels and parts[0].drop("position").equals(
            parts[1].drop("position")
        ):
            return cls.none("both runs have the same predictions")
        else:
            source = UnitSums(both, keys, columns, tables.pair.units)
            method = "paired-bootstrap" + ("-clustered" if clustered else "")
            if source.size > MOST_CELLS:
                return cls.none("the group is too large to resample")
            if len(source.keys) < 2:
                return cls.none(
                    "all examples are in one cluster" if clustered else "n is 1"
                )
        swaps: Swaps | str = "the runs do not have the same replications"
        try:
            drawn = source.draw(SUM_REPLICATES)
            draws = _finalised(metric, drawn, tables, SUM_REPLICATES)
            if tables.swappable:
                swaps = _swaps(metric, source, tables)
        except MetricError as error:
            return cls.none(f"resampling failed: {error}")
        reach = None
        if are_labels:
            reach = label_reach(both, keys, tables.pair.clusters)
        differing = source.effective_differing
        return cls(draws, swaps, method, differing, most_apart(metric), reach)

    @classmethod
    def none(cls, reason: str) -> _Drawn:
        """Return no replicates, with the reason."""
        return cls(reason, reason, "none")


def label_reach(
    parts: SumPair, keys: Sequence[str], clusters: Integers | None
) -> Reach:
    """Return how far the interval of the share of right answers reaches.

    Args:
        parts: The label pairs of either side, with their `example`.
        keys: Names of the columns of label and prediction.
        clusters: The cluster of every example; None for independent examples.
    """
    is_right = named(keys[0]).eq_missing(named(keys[1]))
    first, second = (
        part.group_by("example").agg(right=is_right.mean()) for part in parts
    )
    both = first.join(second, on="example", suffix="_second").sort("example")
    differences = (both["right"] - both["right_second"]).to_numpy()
    if clusters is not None:
        clusters = clusters[both["example"].to_numpy()]
    return partial(share_reach, differences, clusters)


def _swaps(
    metric: BoundMetric, source: JointCounts | UnitSums, tables: PairedTables
) -> Swaps:
    """Swap in every way, or at random where there are too many."""
    every = source.all_swaps()
    if every is not None:
        sums, weights = every
        return AllSwaps(_finalised(metric, sums, tables, len(weights)), weights)

    def make(first: int, count: int) -> dict[str, Floats]:
        return _finalised(metric, source.swap(first, count), tables, count)

    return RandomSwaps(make, SUM_REPLICATES, source.differing)


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


def _difference(
    first: tuple[float | None, str | None],
    second: tuple[float | None, str | None],
    drawn: _Drawn,
    name: str,
    tables: PairedTables,
    group: int,
    levels: Levels,
) -> Difference:
    n, left_out = len(tables.examples[group]), tables.left_out[group]
    clusters = tables.n_clusters(group)
    if not n:
        reason = "no example was scored in both runs"
        return without_difference(reason, n, left_out, None)
    if first[0] is None or second[0] is None:
        why = first[1] or second[1] or ""
        return without_difference(why, n, left_out, clusters)
    draws = drawn.draws
    replicates = Replicates(
        draws if isinstance(draws, str) else draws.get(name, np.empty(0)),
        drawn.method,
        tables.effective_units(group),
        drawn.differing,
        drawn.most,
        first[0] - second[0],
        drawn.reach,
        tables.is_uneven(group),
    )
    tested: Significance | str = (
        drawn.swaps
        if isinstance(drawn.swaps, str)
        else drawn.swaps.test(name, first[0] - second[0], levels.of(group))
    )
    return replicated_difference(
        (first[0], second[0]), (n, left_out, clusters), replicates, tested
    )
