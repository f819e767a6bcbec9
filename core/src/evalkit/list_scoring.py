"""Scores metrics that are functions of two whole lists, group by group."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np
import polars as pl

from evalkit.calls import ScoringTable, call, checked_value
from evalkit.errors import MetricError
from evalkit.grouping import Groups
from evalkit.intervals import Interval, without_interval
from evalkit.registry import Bound
from evalkit.scores import (
    Advance,
    GroupScore,
    Members,
    MetricScores,
    ScoringSettings,
    bootstrap_interval,
)
from evalkit.seeds import generator

LIST_REPLICATES = 200
MOST_LIST_EXAMPLES = 10_000
"""Examples in a group beyond which a function of lists gets no interval."""


def score_lists(
    metric: Bound,
    table: ScoringTable,
    groups: Groups,
    settings: ScoringSettings,
    advance: Advance,
) -> MetricScores:
    """Compute a function of lists for every group.

    Args:
        metric: A metric that implements `compute`.
        table: What is scored.
        groups: The groups.
        settings: How intervals are computed.
        advance: Told about progress.

    Returns:
        Its scores.

    Raises:
        MetricError: The metric failed.
    """
    members = Members(table.frame.select("position"), groups, table)
    values = {
        position: (prediction, target)
        for position, prediction, target in table.frame.select(
            "position", "prediction", "target"
        ).iter_rows()
    }
    scores = []
    for group, tag in enumerate(groups.tags):
        advance(f"{metric.name}: {tag or 'all'}")
        part = members.of(group)
        pairs = [values[position] for position in part["position"]]
        if not pairs:
            nothing = without_interval("there is no value")
            reason = "no example was scored"
            scores.append(GroupScore("", group, None, 0, None, nothing, reason))
            continue
        value, why = compute(metric, pairs)
        interval = without_interval("there is no value")
        if value is not None:
            interval = _list_interval(metric, pairs, part, members, tag, settings)
        scores.append(
            GroupScore(
                "",
                group,
                value,
                len(pairs),
                members.n_clusters(group),
                interval,
                why,
            )
        )
    return MetricScores(metric.name, metric, scores, None)


def compute(
    metric: Bound, pairs: list[tuple[Any, Any]]
) -> tuple[float | None, str | None]:
    """Call a function of lists.

    Args:
        metric: A metric that implements `compute`.
        pairs: Prediction and target of each example.

    Returns:
        The value, and why it is None.

    Raises:
        MetricError: The metric failed.
    """
    predictions = [prediction for prediction, _ in pairs]
    targets = [target for _, target in pairs]
    value = call(
        metric,
        "computing it",
        lambda: metric.hooks.compute(predictions=predictions, targets=targets),
    )
    return checked_value(metric, value)


def _list_interval(
    metric: Bound,
    pairs: list[tuple[Any, Any]],
    part: pl.DataFrame,
    members: Members,
    tag: str | None,
    settings: ScoringSettings,
) -> Interval:
    if metric.attributes["interval"] == "none":
        return without_interval("the metric declares no interval")
    if len(pairs) > MOST_LIST_EXAMPLES:
        return without_interval(
            f"a function of lists is not resampled beyond {MOST_LIST_EXAMPLES} examples"
        )
    by_unit = defaultdict(list)
    for unit, pair in zip(part["unit"], pairs, strict=True):
        by_unit[unit].append(pair)
    if len(by_unit) < 2:
        one = "all examples are in one cluster" if members.clustered else "n is 1"
        return without_interval(one)
    # by content, so that what is drawn does not depend on the order of rows
    units = sorted((sorted(unit, key=repr) for unit in by_unit.values()), key=repr)
    random = generator(settings.seed, metric.name, tag or "")
    replicates = []
    for _ in range(LIST_REPLICATES):
        drawn = random.integers(0, len(units), len(units))
        try:
            value, _ = compute(metric, [pair for i in drawn for pair in units[i]])
        except MetricError:
            # undefined for what was drawn, such as a single class, not for the group
            continue
        if value is not None:
            replicates.append(value)
    return bootstrap_interval(
        np.array(replicates), LIST_REPLICATES, settings.confidence, members.clustered
    )
