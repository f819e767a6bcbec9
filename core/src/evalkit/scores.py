"""Records that scoring works with."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

import polars as pl

from evalkit.calls import ScoringTable
from evalkit.errors import MetricError
from evalkit.grouping import Groups
from evalkit.intervals import Floats, Interval, percentile_interval, without_interval
from evalkit.names import score_name
from evalkit.registry import Bound

Advance = Callable[[str], None]
"""Told what is being computed, for a progress bar."""


class ScoringSettings(NamedTuple):
    """How intervals are computed."""

    confidence: float = 0.95
    seed: int = 0


class GroupScore(NamedTuple):
    """One score of one group."""

    score: str
    """Name within the metric; "" for the main one."""
    group: int
    value: float | None
    n: int
    n_clusters: int | None
    interval: Interval
    reason: str | None = None
    flag: str | None = None
    spread: tuple[float, float, float, float] | None = None
    """Mean, population standard deviation, least and greatest per-example score."""
    bounds: tuple[float | None, float | None] | None = None
    """Value if every example left out were wrong, and if it were right."""


class MetricScores(NamedTuple):
    """All that one metric computed."""

    name: str
    metric: Bound
    scores: list[GroupScore]
    per_example: pl.DataFrame | None
    """Columns `position` and `score`, for metrics that have per-example scores."""
    error: str | None = None
    """Why the metric failed; its scores are null then."""
    failure: MetricError | None = None
    """The same as an exception, which holds the cause."""

    def full_name(self, part: str) -> str:
        """Give the full name of one of its scores."""
        return score_name(
            self.metric.component.name, self.metric.changed_parameters, part
        )


class Members:
    """The rows of each group's examples, and how many examples they are.

    Args:
        rows: Any columns, with `position`; no, one or several rows a position.
        groups: The groups.
        table: Gives the clusters.

    Attributes:
        clustered: Whether examples are grouped into clusters.
        parts: The rows of each group that has any, with `unit`, which is the cluster
            or else the position.
    """

    def __init__(self, rows: pl.DataFrame, groups: Groups, table: ScoringTable) -> None:
        joined = groups.members.join(rows, on="position", maintain_order="left_right")
        self.clustered = table.clusters is not None
        if table.clusters is not None:
            cluster = table.clusters.gather(joined["position"])
            joined = joined.with_columns(unit=cluster)
        else:
            joined = joined.with_columns(unit=pl.col("position"))
        self.parts: Mapping[int, pl.DataFrame] = {
            int(key[0]): part
            for key, part in joined.partition_by("group", as_dict=True).items()
        }
        self._empty = joined.clear()

    def of(self, group: int) -> pl.DataFrame:
        """Give the rows of a group."""
        return self.parts.get(group, self._empty)

    def n(self, group: int) -> int:
        """Count the distinct examples of a group."""
        return self.of(group)["position"].n_unique()

    def n_clusters(self, group: int) -> int | None:
        """Count the clusters of a group; None where there are none."""
        return self.of(group)["unit"].n_unique() if self.clustered else None


_LEAST_IN_TAIL = 5
"""Replicates beyond each end of a percentile interval."""


def bootstrap_interval(
    replicates: Floats, requested: int, confidence: float, clustered: bool
) -> Interval:
    """Make an interval of bootstrap replicates.

    Args:
        replicates: The values that are defined.
        requested: How many were drawn.
        confidence: Probability of the interval.
        clustered: Whether whole clusters were drawn.

    Returns:
        The interval; none where fewer than half of the replicates are defined.
    """
    if requested * (1 - confidence) / 2 < _LEAST_IN_TAIL - 1e-9:
        return without_interval(
            f"{requested} bootstrap replicates are too few for this confidence"
        )
    if len(replicates) < requested / 2:
        return without_interval("the score is undefined in most bootstrap replicates")
    return percentile_interval(replicates, confidence, clustered)
