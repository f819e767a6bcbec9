"""Computes several metrics of one set of examples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import NamedTuple

import polars as pl

from evalkit.base.progress import Progress
from evalkit.errors import MetricError
from evalkit.parallel.workers import Workers
from evalkit.plugins.bound import BoundMetric
from evalkit.scoring.grouping import Groups
from evalkit.scoring.metric import failed_scores, score_metric, score_statistics
from evalkit.scoring.possible_range import with_possible_range
from evalkit.scoring.records import MetricScores, ScoringSettings
from evalkit.scoring.table import ScoringTable


class Measured(NamedTuple):
    """What is scored."""

    everything: ScoringTable
    """All examples."""
    counted: pl.Series
    """Whether each of them counts."""
    groups: Groups

    @property
    def table(self) -> ScoringTable:
        """Those that count."""
        if self.counted.all():
            return self.everything
        frame = self.everything.frame.filter(self.counted)
        return self.everything._replace(frame=frame)


def measure(
    metrics: Sequence[BoundMetric],
    measured: Measured,
    settings: ScoringSettings,
    progress: Progress,
    statistics: Mapping[str, pl.DataFrame] | None = None,
) -> list[MetricScores]:
    """Compute metrics for all groups, with the bounds where examples were left out.

    Args:
        metrics: The metrics.
        measured: What is scored.
        settings: How intervals are computed.
        progress: Told what is being done, and which share of it is behind.
        statistics: Statistics by name of the metric that were computed before.

    Returns:
        Their scores; a metric that fails does not touch the others.
    """
    table = measured.table
    scored = []
    with Workers(settings.jobs) as workers:
        for number, metric in enumerate(metrics):
            advance = partial(_advance, progress, number / len(metrics))
            advance(f"computing {metric.name}")
            known = (statistics or {}).get(metric.name)
            if known is None:
                found = score_metric(
                    metric, table, measured.groups, settings, advance, workers
                )
            else:
                found = _score_known(metric, known, measured, settings)
            if not measured.counted.all():
                found = with_possible_range(
                    found, measured.everything, ~measured.counted, measured.groups
                )
            scored.append(found)
    return scored


def _advance(progress: Progress, share: float, text: str) -> None:
    progress(text, share)


def _score_known(
    metric: BoundMetric,
    statistics: pl.DataFrame,
    measured: Measured,
    settings: ScoringSettings,
) -> MetricScores:
    try:
        return score_statistics(
            metric, statistics, measured.table, measured.groups, settings
        )
    except MetricError as error:
        return failed_scores(metric, measured.groups, error)
