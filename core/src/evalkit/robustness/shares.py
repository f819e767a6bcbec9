"""Intervals of the drop of a mean of scores between 0 and 1.

Student's interval takes its spread from the answers that changed, so that it is too
narrow where few did, and there is none where none did. Tango's score interval has
neither fault.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from evalkit.inference.effective_pairs import share_difference_interval
from evalkit.inference.intervals import Integers
from evalkit.plugins.bound import BoundMetric
from evalkit.robustness.pairs import PairGroups, Rows, clusters_of, score_rows
from evalkit.scoring.records import GroupScore, ScoringSettings


def is_share(metric: BoundMetric) -> bool:
    """Tell whether a metric's scores lie between 0 and 1, as it declares."""
    return tuple(metric.bounds or ()) == (0, 1)


def score_share_drops(
    rows: Rows, groups: PairGroups, settings: ScoringSettings
) -> list[GroupScore]:
    """Compute the mean drop of each group.

    Args:
        rows: Original less perturbed of each row, -1 to 1.
        groups: The groups of pairs that they are of.
        settings: Probability of the intervals.

    Returns:
        A score for each group, with Tango's interval.
    """
    scores = score_rows(rows, groups, "none", settings)
    clusters = _numbers(clusters_of(groups.pairs, rows.original, rows.are_originals))
    order = np.argsort(rows.group, kind="stable")
    ends = np.searchsorted(rows.group[order], np.arange(len(groups.tags) + 1))
    found = []
    for score in scores:
        if score.value is not None:
            part = order[ends[score.group] : ends[score.group + 1]]
            interval = share_difference_interval(
                rows.value[part],
                None if clusters is None else clusters[part],
                settings.confidence,
            )
            score = score._replace(interval=interval)
        found.append(score)
    return found


def _numbers(clusters: pl.Series | None) -> Integers | None:
    if clusters is None:
        return None
    return np.unique(clusters.to_numpy(), return_inverse=True)[1].astype(np.int64)
