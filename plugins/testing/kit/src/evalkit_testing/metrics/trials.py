"""One check of a law: the metric, what was drawn, and what several laws look at."""

from __future__ import annotations

from functools import cached_property

import polars as pl

from evalkit import MetricError
from evalkit.catalog import BoundMetric
from evalkit.scoring import (
    Groups,
    ScoringTable,
    merge_statistics,
    metric_statistics,
    why_not,
)
from evalkit_testing import checking
from evalkit_testing.metrics.samples import Sample, groups_of
from evalkit_testing.metrics.subjects import Finalized, Scored, Subject


class Trial(checking.Trial):
    """A metric and what was drawn for it, with what several laws look at.

    Args:
        subject: The metric.
        sample: What was drawn.

    Attributes:
        subject: The same.
        sample: The same.
        rows: The examples.
    """

    def __init__(self, subject: Subject, sample: Sample) -> None:
        self.subject = subject.prepared(sample.rows)
        self.sample = sample
        self.rows = sample.rows

    @property
    def origin(self) -> str:
        """The metric's name with its parameters and its distribution."""
        return self.subject.origin

    def again(self) -> Trial:
        """Return the same trial, of which nothing is computed yet."""
        return Trial(self.subject, self.sample)

    def shown(self) -> list[str]:
        """Return the kind of answers, the examples, and their clusters."""
        kind, labels = self.subject.context.answer_kind, self.subject.context.labels
        lines = [
            f"  answers: {kind!r}"
            + (f", labels: {', '.join(labels)}" if labels else ""),
            "  examples (prediction, target):",
            *(f"    {number}: {row!r}" for number, row in enumerate(self.rows)),
        ]
        if self.sample.clustered:
            lines.append(f"  clusters: {[row.cluster for row in self.rows]}")
        return lines

    def failures(self) -> tuple[type[BaseException], ...]:
        """Return what the engine raises where the metric fails."""
        return (MetricError,)

    def failure(self, error: BaseException) -> str | None:
        """Return what a failure is told by; None where the metric may fail."""
        return None if self.subject.allows_errors else str(error)

    @cached_property
    def table(self) -> ScoringTable:
        """The table of the examples, without clusters."""
        return self.subject.table(self.rows)

    @cached_property
    def groups(self) -> Groups:
        """The groups of the examples."""
        return groups_of(self.rows)

    @cached_property
    def adds_up(self) -> bool:
        """Whether the metric has statistics, and can score the examples."""
        return self.subject.adds_up and self.is_scorable

    @cached_property
    def is_scorable(self) -> bool:
        """Whether the metric can score the examples by what it declares."""
        return why_not(self.subject.bind(), self.table) is None

    @cached_property
    def reads_more(self) -> bool:
        """Whether a score may depend on more than prediction and answer."""
        attributes = self.subject.attributes
        needed = {*attributes["columns"]} - {*attributes["optional_columns"]}
        return bool(needed) or any(row.fields for row in self.rows)

    @cached_property
    def scored(self) -> Scored:
        """The scores without intervals."""
        metric = self.subject.bind(interval="none")
        return self.subject.score(metric, self.table, self.groups)

    @cached_property
    def with_intervals(self) -> Scored:
        """The scores with intervals, clustered where clusters were drawn."""
        table = self.subject.table(self.rows, self.sample.clustered)
        return self.subject.score(self.subject.bind(), table, self.groups)

    @cached_property
    def _metric(self) -> BoundMetric:
        """The one metric that computes and finalizes, as in an evaluation."""
        return self.subject.bind()

    @cached_property
    def statistics(self) -> pl.DataFrame:
        """The metric's statistics."""
        return metric_statistics(self._metric, self.table)

    @cached_property
    def sums(self) -> pl.DataFrame:
        """The statistics, merged by group."""
        return merge_statistics(self._metric, self.statistics, self.table, self.groups)

    @cached_property
    def values(self) -> Finalized:
        """What the metric makes of the sums."""
        return self.subject.finalize(self._metric, self.sums, self.groups)


def positions_of(trial: Trial, group: int) -> list[int]:
    """Return the positions of the examples of a group, in order."""
    members = trial.groups.members.filter(pl.col("group") == group)
    return sorted(members["position"].to_list())
