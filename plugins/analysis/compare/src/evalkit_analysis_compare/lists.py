"""Compares two models by a metric that is a function of two lists."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from functools import partial

import numpy as np

from evalkit.catalog import BoundMetric
from evalkit.errors import MetricError
from evalkit.scoring import why_not
from evalkit.scoring.lists import (
    LIST_REPLICATES,
    MOST_LIST_EXAMPLES,
    Row,
    compute,
    list_columns,
)
from evalkit.statistics.clusters import Floats, Integers
from evalkit.statistics.intervals import N_IS_1, ONE_CLUSTER
from evalkit.statistics.resampling import unit_weights
from evalkit_analysis_compare.differences import Difference, without_difference
from evalkit_analysis_compare.replicates import Replicates, replicated_difference
from evalkit_analysis_compare.tables import PairedTables, Side

Answered = dict[int, list[tuple[int, Row]]]
"""Replication and row of every answer, by example."""

Score = Callable[[list[Row]], tuple[float | None, str | None]]
"""Scores rows; gives the value, and why it is None."""


def compare_lists(metric: BoundMetric, tables: PairedTables) -> list[Difference]:
    """Compare two models by a function of lists, for every group."""
    for side in tables.sides:
        reason = why_not(metric, side.table)
        if reason:
            raise MetricError(reason)
    answers = [_answers(metric, side) for side in tables.sides]
    return [
        _compare(metric, (answers[0], answers[1]), tables, group)
        for group in range(len(tables.examples))
    ]


def _answers(metric: BoundMetric, side: Side) -> Answered:
    joined = side.rows.join(side.table.frame, on="position").sort(
        "example", "replication"
    )
    found: Answered = defaultdict(list)
    rows = joined.select(
        "example", "replication", *list_columns(metric, joined)
    ).iter_rows()
    for example, replication, *row in rows:
        found[example].append((replication, tuple(row)))
    return found


def _compare(
    metric: BoundMetric,
    answers: tuple[Answered, Answered],
    tables: PairedTables,
    group: int,
) -> Difference:
    examples, left_out = tables.examples[group], tables.left_out[group]
    n, clusters = len(examples), tables.n_clusters(group)
    if not n:
        return without_difference(
            "no example was scored in both runs", 0, left_out, None
        )
    listed = [int(example) for example in examples]
    score = partial(compute, metric, context=tables.sides[0].table.context)
    values = [
        _value(score, [found[e] for e in listed], side.repeats)
        for found, side in zip(answers, tables.sides, strict=True)
    ]
    first, second = values[0][0], values[1][0]
    if first is None or second is None:
        why = values[0][1] or values[1][1] or ""
        return without_difference(why, n, left_out, clusters)
    method = "paired-bootstrap" + ("" if clusters is None else "-clustered")
    replicates = Replicates(
        _draws(score, answers, tables, examples),
        method,
        tables.effective_units(group),
        is_uneven=tables.is_uneven(group),
    )
    return replicated_difference(
        (first, second), (n, left_out, clusters), replicates, replicates.test()
    )


def _draws(
    score: Score,
    answers: tuple[Answered, Answered],
    tables: PairedTables,
    examples: Integers,
) -> Floats | str:
    if len(examples) > MOST_LIST_EXAMPLES:
        return (
            f"a function of lists is not resampled beyond {MOST_LIST_EXAMPLES} examples"
        )
    pair = tables.pair
    units, membership = np.unique(pair.units.codes[examples], return_inverse=True)
    if len(units) < 2:
        return N_IS_1 if pair.clusters is None else ONE_CLUSTER
    keys = pair.units.keys[units]
    weights = unit_weights(keys, 0, LIST_REPLICATES)
    draws = np.full(LIST_REPLICATES, np.nan)
    for replicate in range(LIST_REPLICATES):
        drawn = examples.repeat(weights[membership, replicate])
        draws[replicate] = _paired_difference(score, answers, drawn)
    return draws


def _paired_difference(
    score: Score, answers: tuple[Answered, Answered], examples: Integers
) -> float:
    """Return the difference on some examples; NaN where it is undefined."""
    both = []
    for side in answers:
        try:
            value, _ = _value(score, [side[int(example)] for example in examples], 1)
        except MetricError:
            # undefined for what was drawn, such as a single class, not for the group
            return float("nan")
        if value is None:
            return float("nan")
        both.append(value)
    return both[0] - both[1]


def _value(
    score: Score, chosen: list[list[tuple[int, Row]]], repeats: int
) -> tuple[float | None, str | None]:
    """Return the mean of the values of all replications, or why there is none."""
    by_replication: dict[int, list[Row]] = defaultdict(list)
    for answered in chosen:
        for replication, row in answered:
            by_replication[replication].append(row)
    values = []
    for replication in sorted(by_replication):
        value, reason = score(by_replication[replication])
        if value is None:
            return None, reason
        values.append(value)
    if not values:
        return None, "nothing was drawn"
    if len(values) < repeats:
        return None, "the metric is not defined for every replication"
    return float(np.mean(values)), None
