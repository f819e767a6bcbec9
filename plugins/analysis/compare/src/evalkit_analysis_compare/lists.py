"""Compares two models by a metric that is a function of two lists."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import NDArray

from evalkit.errors import MetricError
from evalkit.inference.intervals import Floats, Integers
from evalkit.inference.resampling import unit_weights
from evalkit.plugins.bound import BoundMetric
from evalkit.scoring.lists import (
    LIST_REPLICATES,
    MOST_LIST_EXAMPLES,
    Row,
    compute,
    list_columns,
)
from evalkit.scoring.metric import why_not
from evalkit_analysis_compare.differences import Difference, Levels, without_difference
from evalkit_analysis_compare.replicates import (
    Replicates,
    most_apart,
    replicated_difference,
)
from evalkit_analysis_compare.sign_flips import swaps
from evalkit_analysis_compare.swap_tests import RandomSwaps
from evalkit_analysis_compare.tables import PairedTables, Side

Answered = dict[int, list[tuple[int, Row]]]
"""Replication and row of every answer, by example."""

Score = Callable[[list[Row]], tuple[float | None, str | None]]
"""Scores rows; gives the value, and why it is None."""


def compare_lists(
    metric: BoundMetric, tables: PairedTables, levels: Levels
) -> list[Difference]:
    """Compare two models by a function of lists, for every group."""
    for side in tables.sides:
        reason = why_not(metric, side.table)
        if reason:
            raise MetricError(reason)
    answers = [_answers(metric, side) for side in tables.sides]
    return [
        _compare(metric, (answers[0], answers[1]), tables, group, levels.of(group))
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
    level: float,
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
    draws, swaps = _replicates(score, answers, tables, examples)
    method = "paired-bootstrap" + ("" if clusters is None else "-clustered")
    units = tables.effective_units(group)
    replicates = Replicates(
        *(draws, method, units, units, most_apart(metric)),
        is_uneven=tables.is_uneven(group),
    )
    tested = swaps if isinstance(swaps, str) else swaps.test("", first - second, level)
    return replicated_difference(
        (first, second), (n, left_out, clusters), replicates, tested
    )


def _replicates(
    score: Score,
    answers: tuple[Answered, Answered],
    tables: PairedTables,
    examples: Integers,
) -> tuple[Floats | str, RandomSwaps | str]:
    if len(examples) > MOST_LIST_EXAMPLES:
        many = (
            f"a function of lists is not resampled beyond {MOST_LIST_EXAMPLES} examples"
        )
        return many, many
    pair = tables.pair
    units, membership = np.unique(pair.units.codes[examples], return_inverse=True)
    if len(units) < 2:
        one = "n is 1" if pair.clusters is None else "all examples are in one cluster"
        return one, one
    keys = pair.units.keys[units]
    weights = unit_weights(keys, 0, LIST_REPLICATES, LIST_REPLICATES)
    draws = np.full(LIST_REPLICATES, np.nan)
    for replicate in range(LIST_REPLICATES):
        drawn = examples.repeat(weights[membership, replicate])
        draws[replicate] = _paired_difference(score, answers, drawn, None)
    if not tables.swappable:
        return draws, "the runs do not have the same replications"

    def make(first: int, count: int) -> dict[str, Floats]:
        tosses = swaps(keys, first, count)[membership]
        found = [
            _paired_difference(score, answers, examples, tosses[:, number])
            for number in range(count)
        ]
        return {"": np.array(found)}

    return draws, RandomSwaps(make, LIST_REPLICATES, len(units))


def _paired_difference(
    score: Score,
    answers: tuple[Answered, Answered],
    examples: Integers,
    swapped: NDArray[np.uint8] | None,
) -> float:
    """Return the difference on some examples; NaN where it is undefined."""
    turned = np.zeros(len(examples), np.uint8) if swapped is None else swapped
    both = []
    for side in (0, 1):
        pairs = zip(examples, turned, strict=True)
        chosen = [answers[side ^ int(turn)][int(example)] for example, turn in pairs]
        try:
            value, _ = _value(score, chosen, 1)
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
