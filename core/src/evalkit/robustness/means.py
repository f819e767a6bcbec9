"""Means over pairs, which the engine scores as it scores the mean of a metric.

Student's interval of the drop of a mean of scores between 0 and 1 takes its spread from
the answers that changed, so that it is too narrow where few did, and there is none
where none did. Tango's score interval has neither fault.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Literal

import numpy as np
import polars as pl

from evalkit.base.terms import IntervalKind, MetricContext
from evalkit.inference.intervals import Integers
from evalkit.plugins.bound import BoundMetric
from evalkit.plugins.classes import Metric
from evalkit.plugins.components import Component
from evalkit.plugins.registry import bind
from evalkit.robustness.pairs import PairGroups, Pairs, Rows
from evalkit.scoring.finalization import EXAMPLES
from evalkit.scoring.grouping import Groups
from evalkit.scoring.metric import score_statistics
from evalkit.scoring.records import GroupScore, ScoringSettings
from evalkit.scoring.table import ScoringTable
from evalkit_analysis_compare.effective_pairs import share_difference_interval


class Mean(Metric):
    """The mean of numbers, each of which stands in place of a prediction."""

    def score_example(self, prediction: float) -> float:
        """Return the number itself."""
        return prediction


@cache
def _bound_mean(interval: str) -> BoundMetric:
    """Bind a mean whose interval is Wilson's, Student's, or none."""
    kind = {"wilson": "wilson", "none": "none", "tango": "none"}.get(interval, "t")
    mean = type(Mean.__name__, (Mean,), {"interval": kind})
    where = f"{__name__}:{Mean.__name__}"
    component = Component("metrics", "mean", where, "evalkit-core", "0")
    return BoundMetric.of(bind(component, mean))


def score_rows(
    rows: Rows,
    groups: PairGroups,
    interval: IntervalKind | Literal["tango"],
    settings: ScoringSettings,
    tags: Sequence[str | None] | None = None,
) -> list[GroupScore]:
    """Compute the mean of each group, with the interval that fits.

    Args:
        rows: What the means are over.
        groups: The groups of pairs that they are of.
        interval: `wilson` where the values may be zeros and ones; `tango` where they
            are differences of two shares or of scores between 0 and 1; `none`; else
            Student's.
        settings: Probability of the intervals.
        tags: The tags of the groups, where they are not those of the pairs.

    Returns:
        A score for each group, with its coverage.
    """
    count = len(rows.value)
    statistics = pl.DataFrame(
        {
            "position": np.arange(count, dtype=np.uint32),
            "score": rows.value,
            EXAMPLES: np.ones(count),
        }
    )
    clusters = clusters_of(groups.pairs, rows.original, rows.are_originals)
    context = MetricContext(None, "one")
    found = score_statistics(
        _bound_mean(interval),
        statistics,
        ScoringTable(statistics, [""] * count, clusters, context),
        numbered_groups(groups.tags if tags is None else tags, rows.group),
        settings,
    )
    scores = [
        score._replace(
            coverage=share_of(rows.used[score.group], rows.offered[score.group])
        )
        for score in found.scores
    ]
    if interval == "tango":
        return _with_tango(scores, rows, clusters, settings.confidence)
    return scores


def _with_tango(
    scores: Sequence[GroupScore],
    rows: Rows,
    clusters: pl.Series | None,
    confidence: float,
) -> list[GroupScore]:
    numbers = None
    if clusters is not None:
        numbers = np.unique(clusters.to_numpy(), return_inverse=True)[1]
    by_group = rows.by_group
    found = []
    for score in scores:
        if score.value is not None:
            part = by_group[score.group]
            interval = share_difference_interval(
                rows.value[part], None if numbers is None else numbers[part], confidence
            )
            score = score._replace(interval=interval)
        found.append(score)
    return found


def numbered_groups(tags: Sequence[str | None], group: Integers) -> Groups:
    """Make groups of rows that are in one group each.

    Args:
        tags: The tag of each group by number.
        group: The group of each row.

    Returns:
        The groups, with rows as positions.
    """
    rows = np.arange(len(group), dtype=np.uint32)
    return Groups(tuple(tags), rows, group.astype(np.uint32), {})


def clusters_of(
    pairs: Pairs, originals: Integers, are_originals: bool
) -> pl.Series | None:
    """Return the cluster of each row of a mean; None for independent rows.

    Args:
        pairs: All pairs.
        originals: The original of each row.
        are_originals: Whether each original has one row.

    Returns:
        The data set's clusters; else the originals, where they have several rows each.
    """
    if pairs.sample.clusters is not None:
        return pairs.sample.clusters.gather(originals)
    if are_originals:
        return None
    return pl.Series("cluster", pairs.original_keys[originals])


def share_of(used: int, offered: int) -> float | None:
    """Return the share of what was offered that took part; None of nothing."""
    return int(used) / int(offered) if offered else None
