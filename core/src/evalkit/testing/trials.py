"""One check of a law: the metric, what was drawn, and what several laws look at."""

from __future__ import annotations

from functools import cached_property

import polars as pl

from evalkit.scoring.calls import merge_by_group
from evalkit.scoring.grouping import Groups
from evalkit.scoring.metric import why_not
from evalkit.scoring.table import ScoringTable
from evalkit.testing.samples import Sample, groups_of
from evalkit.testing.subjects import Finalized, Scored, Subject


class LawBroken(Exception):
    """A law does not hold for some data; the text says what was found."""


def refuse(difference: str | None, where: str) -> None:
    """Raise where two results differ.

    Args:
        difference: What differs; None where nothing does.
        where: How the second result was made.

    Raises:
        LawBroken: Something differs.
    """
    if difference:
        raise LawBroken(f"{difference} {where}")


class Trial:
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
        self.subject = subject
        self.sample = sample
        self.rows = sample.rows

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
    def statistics(self) -> pl.DataFrame:
        """The metric's statistics."""
        return self.subject.statistics(self.subject.bind(), self.table)

    @cached_property
    def sums(self) -> pl.DataFrame:
        """The statistics, merged by group."""
        metric = self.subject.bind()
        return merge_by_group(metric, self.statistics, self.groups.members)

    @cached_property
    def values(self) -> Finalized:
        """What the metric makes of the sums."""
        return self.subject.finalize(self.subject.bind(), self.sums, self.groups)


def positions_of(trial: Trial, group: int) -> list[int]:
    """Give the positions of the examples of a group, in order."""
    members = trial.groups.members.filter(pl.col("group") == group)
    return sorted(members["position"].to_list())
