"""Records that scoring works with."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import NamedTuple

import polars as pl

from evalkit.base.names import score_name
from evalkit.errors import MetricError
from evalkit.plugins.bound import BoundMetric
from evalkit.statistics.clusters import ClusterSizes
from evalkit.statistics.intervals import Interval

Advance = Callable[[str], None]
"""Told what is being computed, for a progress bar."""


class ScoringSettings(NamedTuple):
    """How scores and intervals are computed."""

    confidence: float = 0.95
    seed: int = 0
    jobs: int = 1
    """Processes that metrics written in Python may use."""
    fewest: int = 1
    """Examples below which a tag takes no part in a worst group or gap."""
    one_family: bool = True
    """Whether the tests of several facets are adjusted for being read together."""


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
    coverage: float | None = None
    """Share of the group's answers that were scored; None for n / size."""
    replications: int | None = None
    stddev_within: float | None = None
    stddev_replications: float | None = None
    cluster_sizes: ClusterSizes | None = None


class AggregateScore(NamedTuple):
    """What the scores of the groups of a facet amount to."""

    kind: str
    """`macro:FACET`, `worst:FACET` or `gap:FACET`."""
    tag: str | None
    """The tag whose score it is, of a worst group."""
    value: float | None
    n: int
    n_clusters: int | None
    interval: Interval
    reason: str | None = None
    flag: str | None = None
    p_value: float | None = None
    p_adjusted: float | None = None
    """The p-value adjusted for how many facets are tested."""


class MetricScores(NamedTuple):
    """All that one metric computed."""

    name: str
    metric: BoundMetric
    scores: list[GroupScore]
    per_example: pl.DataFrame | None
    """Columns `position` and `score`, for metrics that have per-example scores."""
    error: str | None = None
    """Why the metric failed: its scores are null then, or, without a `failure`, not of
    all examples."""
    failure: MetricError | None = None
    """The same as an exception, which holds the cause."""
    aggregates: Sequence[AggregateScore] = ()
    statistics: pl.DataFrame | None = None
    """`position`, the keys and the number columns; None for a function of lists."""
    notices: Sequence[str] = ()
    """What a reader of the scores should know."""
    unscored: pl.DataFrame | None = None
    """`position`, `reason` and `failed` of the answers that the metric did not score,
    though it applies to them; None where there are none."""

    def full_name(self, part: str) -> str:
        """Return the full name of one of its scores."""
        return score_name(
            self.metric.component.name,
            self.metric.changed_parameters,
            part or self.metric.part,
        )


def notices_of(scored: Sequence[MetricScores]) -> list[str]:
    """Return the notices of several metrics.

    What all scores of a metric that gives several have in common is said once.
    """
    said = []
    for found in scored:
        origin, part = found.metric.component.origin, found.metric.part
        own = f"{origin}#{part}: " if part else f"{origin}: "
        for text in found.notices:
            is_own = text.startswith(own)
            common = f"{origin}: {text.removeprefix(own)}" if is_own else text
            whole = found.metric.whole or found.metric
            said.append((whole.name, common, text, len(whole.scores)))
    times = Counter((name, common) for name, common, _, _ in said)
    texts = [
        common if times[name, common] == scores > 1 else text
        for name, common, text, scores in said
    ]
    return [*dict.fromkeys(texts)]


def bootstrap_method(clustered: bool) -> str:
    """Name the bootstrap of examples, or of clusters."""
    return "bootstrap-clustered" if clustered else "bootstrap"


def score_flag(
    flag: str | None, sizes: ClusterSizes | None, interval: Interval
) -> str | None:
    """Join a metric's own flag with the flags of an interval."""
    warning = sizes.warning if sizes and interval.low is not None else None
    return "; ".join(filter(None, (flag, warning, *interval.flags))) or None
