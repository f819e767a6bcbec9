"""Records of scores, and what computes their intervals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from evalkit.plugins.bound import BoundMetric
from evalkit.statistics.intervals import Interval
from evalkit.tallies.groups import Group
from evalkit.tallies.samples import GroupSample

NO_VALUE = Interval(reason="there is no value")

NOTHING_SCORED = "no example was scored"


class FacetTest(NamedTuple):
    """A test that the tags of a facet have equal scores, or why there is none."""

    p_value: float | None = None
    reason: str | None = None


class Intervals(Protocol):
    """Computes intervals and tests of one metric."""

    def score(self, sample: GroupSample, score: str, value: float) -> Interval:
        """Return the interval of a score of a group."""

    def mean(self, samples: Sequence[GroupSample], values: Sequence[float]) -> Interval:
        """Return the interval of the mean of the main scores of a facet's groups."""

    def test(self, samples: Sequence[GroupSample]) -> FacetTest:
        """Test that the groups of a facet have equal scores."""


class NoIntervals:
    """Computes no intervals and no tests."""

    reason = "no interval was requested"

    def score(self, sample: GroupSample, score: str, value: float) -> Interval:
        """Return no interval."""
        return Interval(reason=self.reason)

    def mean(self, samples: Sequence[GroupSample], values: Sequence[float]) -> Interval:
        """Return no interval."""
        return Interval(reason=self.reason)

    def test(self, samples: Sequence[GroupSample]) -> FacetTest:
        """Return no p-value."""
        return FacetTest(reason="no test was requested")


class Spread(NamedTuple):
    """How the scores of the examples of a group are spread."""

    mean: float
    deviation: float
    """The population standard deviation."""
    least: float
    greatest: float


class GroupScore(NamedTuple):
    """A score of a group."""

    score: str
    """Name within the metric; "" for the main one."""
    group: Group
    value: float | None
    n: int
    """Scored examples."""
    n_clusters: int | None
    coverage: float | None
    """Fraction of the group's answers that are scored."""
    interval: Interval
    reason: str | None = None
    """Why there is no value."""
    flag: str | None = None
    """What a reader of the value should know."""
    spread: Spread | None = None
    bounds: tuple[float | None, float | None] | None = None
    """Value if every example that was left out were wrong, and if it were right."""
    stddev_within: float | None = None
    """Pooled standard deviation over the answers to an example."""
    stddev_replications: float | None = None
    """Standard deviation of the score over the replications."""


class AggregateScore(NamedTuple):
    """What the scores of the groups of a facet amount to."""

    kind: str
    """`macro:FACET`, `worst:FACET` or `gap:FACET`."""
    tag: str | None
    """The tag with the worst score."""
    value: float
    n: int
    n_clusters: int | None
    interval: Interval
    flag: str | None = None
    p_value: float | None = None


class MetricScores(NamedTuple):
    """All scores of a metric."""

    name: str
    metric: BoundMetric
    scores: Sequence[GroupScore]
    aggregates: Sequence[AggregateScore] = ()
    error: str | None = None
    """How the metric failed, for all or for some examples."""
    notices: Sequence[str] = ()


def failed_scores(
    metric: BoundMetric,
    groups: Sequence[Group],
    refusal: str | None,
    error: str | None = None,
) -> MetricScores:
    """Return scores without values, for a metric that failed or does not apply.

    Args:
        metric: The metric.
        groups: The groups.
        refusal: Why it does not apply.
        error: How it failed.
    """
    reason = error or refusal
    scores = [
        GroupScore("", group, None, 0, None, None, NO_VALUE, reason) for group in groups
    ]
    return MetricScores(metric.name, metric, scores, error=error)
