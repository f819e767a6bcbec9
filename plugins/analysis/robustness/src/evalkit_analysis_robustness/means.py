"""Means over originals, which the engine scores as it scores the mean of a metric.

The interval of the drop of a share is Tango's; that of the drop of other scores is
Student's.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np
import polars as pl

from evalkit import Component, Metric, MetricContext
from evalkit.catalog import BoundMetric
from evalkit.hookspecs import IntervalKind
from evalkit.plugins.registry import bind
from evalkit.scoring import (
    Groups,
    GroupScore,
    Outcomes,
    ScoringSettings,
    ScoringTable,
    score_statistics,
)
from evalkit.scoring.finalization import EXAMPLES
from evalkit.scoring.records import no_outcomes
from evalkit.statistics.clusters import Integers
from evalkit_analysis_robustness.pairs import PairGroups, Pairs, Rows


class Mean(Metric):
    """The mean of numbers, each of which stands in place of a prediction."""

    def score_example(self, prediction: float) -> float:
        """Return the number itself."""
        return prediction


@cache
def _bound_mean(interval: str) -> BoundMetric:
    """Bind a mean whose interval is Wilson's, Student's, or none."""
    kind = {"wilson": "wilson", "none": "none"}.get(interval, "t")
    mean = type(Mean.__name__, (Mean,), {"interval": kind})
    where = f"{__name__}:{Mean.__name__}"
    component = Component("metrics", "mean", where, "evalkit-analysis-robustness", "0")
    return BoundMetric.of(bind(component, mean))


def score_rows(
    rows: Rows,
    groups: PairGroups,
    interval: IntervalKind,
    settings: ScoringSettings,
    tags: Sequence[str | None] | None = None,
) -> list[GroupScore]:
    """Compute the mean of each group, with its interval."""
    count = len(rows.value)
    statistics = pl.DataFrame(
        {
            "position": np.arange(count, dtype=np.uint32),
            "score": rows.value,
            EXAMPLES: np.ones(count),
        }
    )
    context = MetricContext(None, "one")
    clusters = clusters_of(groups.pairs, rows.original)
    found = score_statistics(
        _bound_mean(interval),
        Outcomes(statistics, no_outcomes()),
        ScoringTable(statistics, [""] * count, clusters, context),
        numbered_groups(groups.tags if tags is None else tags, rows.group),
        settings,
    )
    return [
        score._replace(
            coverage=share_of(rows.used[score.group], rows.offered[score.group])
        )
        for score in found.scores
    ]


def numbered_groups(tags: Sequence[str | None], group: Integers) -> Groups:
    """Make groups of rows that are in one group each."""
    rows = np.arange(len(group), dtype=np.uint32)
    return Groups(tuple(tags), rows, group.astype(np.uint32), {})


def clusters_of(pairs: Pairs, originals: Integers) -> pl.Series | None:
    """Return the cluster of each row of a mean; None for independent rows."""
    if pairs.sample.clusters is None:
        return None
    return pairs.sample.clusters.gather(originals)


def share_of(used: int, offered: int) -> float | None:
    """Return used / offered, or None if `offered` is 0."""
    return int(used) / int(offered) if offered else None
