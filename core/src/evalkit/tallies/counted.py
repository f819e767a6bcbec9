"""What follows from the tally of a metric by counting, for all groups."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from evalkit.base.columns import all_named
from evalkit.base.terms import MetricContext
from evalkit.plugins.bound import BoundMetric
from evalkit.scoring.calls import finalize_counts
from evalkit.tallies.build import joins_answers
from evalkit.tallies.calls import finalize_sums
from evalkit.tallies.groups import WHOLE, Group, TagSets
from evalkit.tallies.numbering import Codes, Ragged, dense, expanded
from evalkit.tallies.outcomes import LEFT_OUT, OUTCOME, REASON, SCORED, UNSCORED
from evalkit.tallies.patterns import (
    REPLICATION,
    Floats,
    Patterns,
    average_patterns,
)
from evalkit.tallies.samples import GroupSample
from evalkit.tallies.sums import (
    GroupCounts,
    count_patterns,
    count_rows,
    exact_sums,
    merge_rows,
)
from evalkit.tallies.tally import Entries, Tally


class RowCounts(NamedTuple):
    """The distinct values of a column in all groups, and how often each occurs."""

    values: Floats
    times: Codes
    starts: Codes
    """Where each group starts, and where the last one ends."""


class MetricCounts:
    """The counts of one metric.

    Args:
        metric: The metric.
        context: What else the metric knows.
        tally: Its tally.
        tag_sets: The tag sets of the tally.
        repeats: How many answers each example has.
    """

    def __init__(
        self,
        metric: BoundMetric,
        context: MetricContext,
        tally: Tally,
        tag_sets: TagSets,
        repeats: int = 1,
    ) -> None:
        self.metric, self.tally = metric, tally
        self.groups, self.names, self.facets = _groups(metric, tag_sets)
        self.repeats = 1 if joins_answers(metric, repeats) else repeats
        self.context = context
        is_mean = example_column(metric) is not None and not metric.keys
        self.averages = self.repeats > 1 and is_mean
        self._is_apart = self.repeats > 1 and not is_mean

    @cached_property
    def patterns(self) -> Patterns:
        """The patterns that values are made of: the means of several answers."""
        if self.averages:
            return average_patterns(self.tally.patterns)
        return self.tally.patterns

    @cached_property
    def by_group(self) -> GroupCounts:
        """How many examples of each group have each pattern."""
        return count_patterns(self.tally, self.groups)

    def per_group(self, by_pattern: Codes | NDArray[np.bool_]) -> Codes:
        """Sum a whole number of every pattern over the examples of each group."""
        if len(by_pattern) and (by_pattern == by_pattern[0]).all():
            return int(by_pattern[0]) * self.sizes
        group, pattern, times = self.by_group
        weights = by_pattern[pattern] * times
        sums = np.bincount(group, weights=weights, minlength=len(self.names))
        return sums.astype(np.int64)

    @cached_property
    def sizes(self) -> Codes:
        """How many examples each group has."""
        group, _, times = self.by_group
        sums = np.bincount(group, weights=times, minlength=len(self.names))
        return sums.astype(np.int64)

    @cached_property
    def n(self) -> Codes:
        """How many examples of each group are scored."""
        return self.per_group(self.tally.patterns.is_scored)

    @cached_property
    def answers(self) -> Codes:
        """How many answers each group has."""
        return self.per_group(self.tally.patterns.answers())

    @cached_property
    def scored(self) -> Codes:
        """How many answers of each group are scored."""
        return self.per_group(self.tally.patterns.answers([SCORED]))

    @cached_property
    def given(self) -> Codes:
        """How many answers of each group the metric was given."""
        return self.answers - self.per_group(self.tally.patterns.answers(LEFT_OUT))

    @cached_property
    def unscored(self) -> Codes:
        """To how many of these the metric gave a reason instead of a score."""
        return self.per_group(self.tally.patterns.answers(UNSCORED))

    @cached_property
    def _row_counts(self) -> GroupCounts:
        return count_rows(self.patterns, self.by_group)

    @cached_property
    def sums(self) -> pl.DataFrame:
        """The merged statistics by group, and by replication where these are apart."""
        merges = self.metric.merges
        return merge_rows(self.patterns, self._row_counts, merges, self._is_apart)

    def finalize(self, sums: pl.DataFrame) -> pl.DataFrame:
        """Turn sums into scores; those of replications into their mean.

        Args:
            sums: As `sums`.

        Returns:
            `group`, `score`, `value`, `reason`, `flag` and `stddev_replications`.

        Raises:
            MetricError: The metric failed.
        """
        if not self._is_apart:
            scores = finalize_sums(self.metric, sums, self.context)
            nothing = pl.lit(None, dtype=pl.Float64)
            return scores.with_columns(stddev_replications=nothing)
        apart = pl.col("group") * self.repeats + pl.col(REPLICATION)
        numbered = sums.with_columns(group=apart).drop(REPLICATION)
        scores = finalize_sums(self.metric, numbered, self.context)
        return _mean_of_replications(scores, self.repeats)

    def values_of(self, column: str) -> RowCounts:
        """Return the values of a column in all groups."""
        group, row, times = self._row_counts
        starts = np.searchsorted(group, np.arange(len(self.names) + 1))
        return RowCounts(self.patterns.values(column)[row], times, starts)

    def outcomes_of(self, group: int) -> pl.DataFrame:
        """Return `OUTCOME`, `REASON` and `times` of the rows of a group."""
        starts = self.by_group.starts(len(self.names))
        part = slice(starts[group], starts[group + 1])
        sequences = self.tally.patterns.sequences
        pattern, times = self.by_group.code[part], self.by_group.times[part]
        lengths = sequences.lengths[pattern]
        rows = sequences.items[expanded(sequences.starts[pattern], lengths)]
        counts = np.bincount(
            rows, weights=np.repeat(times, lengths), minlength=sequences.items.max() + 1
        )
        present = np.flatnonzero(counts)
        return self.tally.patterns.rows[present].select(
            pl.col(OUTCOME).cast(pl.String),
            REASON,
            times=pl.Series(counts[present].astype(np.int64)),
        )

    def means_of_replications(self, column: str) -> Floats:
        """Return the mean of a column by group and replication; nan where undefined."""
        patterns = self.tally.patterns
        group, row, times = count_rows(patterns, self.by_group)
        cell = group * self.repeats + patterns.replications[row]
        size = len(self.names) * self.repeats
        order = np.argsort(cell, kind="stable")
        counts = np.bincount(cell, weights=times, minlength=size)
        starts = np.flatnonzero(np.diff(cell[order], prepend=-1))
        totals = np.full(size, np.nan)
        values = patterns.values(column)[row]
        totals[cell[order][starts]] = exact_sums(values[order], times[order], starts)
        means: Floats = (totals / np.maximum(counts, 1)).reshape(-1, self.repeats)
        return means

    @cached_property
    def _scored_entries(self) -> Entries:
        """The entries whose examples are scored."""
        entries = self.tally.entries
        is_scored = self.tally.patterns.is_scored[entries.pattern]
        return Entries(*(part[is_scored] for part in entries))

    @cached_property
    def n_clusters(self) -> Codes:
        """How many clusters the scored examples of each group are in."""
        return self.clusters_of(self.groups, len(self.names))

    def clusters_of(self, groups: Ragged, count: int) -> Codes:
        """Count the clusters of the scored examples of groups.

        Args:
            groups: The groups of each tag set.
            count: How many groups there are.
        """
        tag_set, cluster = self._scored_entries[:2]
        size = int(cluster.max(initial=0)) + 1
        _, distinct = dense(tag_set * size + cluster, len(groups.lengths) * size)
        tag_set, cluster = np.divmod(distinct, size)
        lengths = groups.lengths[tag_set]
        group = groups.items[expanded(groups.starts[tag_set], lengths)]
        keys = group * size + np.repeat(cluster, lengths)
        _, distinct = dense(keys, count * size)
        return np.bincount(distinct // size, minlength=count).astype(np.int64)

    def union_of(self, groups: Sequence[int]) -> tuple[int, int]:
        """Count the scored examples and the clusters that some groups have together."""
        is_chosen = np.zeros(len(self.names), dtype=bool)
        is_chosen[list(groups)] = True
        has_group = np.zeros(len(self.groups.lengths), dtype=bool)
        has_group[self.groups.owners()[is_chosen[self.groups.items]]] = True
        entries = self._scored_entries
        is_inside = has_group[entries.tag_set]
        cluster = entries.cluster[is_inside]
        _, clusters = dense(cluster, int(cluster.max(initial=0)) + 1)
        return int(entries.times[is_inside].sum()), len(clusters)

    @cached_property
    def _entries_by_group(self) -> tuple[Codes, Codes]:
        """The places of the entries of all groups, and where each group starts."""
        tag_set = self._scored_entries.tag_set
        lengths = self.groups.lengths[tag_set]
        group = self.groups.items[expanded(self.groups.starts[tag_set], lengths)]
        places = np.repeat(np.arange(len(tag_set)), lengths)
        order = np.argsort(group, kind="stable")
        starts = np.searchsorted(group[order], np.arange(len(self.names) + 1))
        return places[order], starts

    def sample(self, group: int, is_clustered: bool) -> GroupSample:
        """Return what the intervals of a group are computed from.

        Args:
            group: The group.
            is_clustered: Whether the examples are in clusters.
        """
        cluster = None
        if is_clustered:
            places, starts = self._entries_by_group
            entries = self._scored_entries
            chosen = places[starts[group] : starts[group + 1]]
            pattern, times = entries.pattern[chosen], entries.times[chosen]
            _, cluster = np.unique(entries.cluster[chosen], return_inverse=True)
        else:
            starts = self.by_group.starts(len(self.names))
            part = slice(starts[group], starts[group + 1])
            pattern, times = self.by_group.code[part], self.by_group.times[part]
            is_scored = self.tally.patterns.is_scored[pattern]
            pattern, times = pattern[is_scored], times[is_scored]
        starts = np.searchsorted(self.sums["group"].to_numpy(), [group, group + 1])
        sums = self.sums[starts[0] : starts[1]]
        return GroupSample(
            self.metric,
            self.names[group],
            self.patterns,
            pattern,
            cluster,
            times,
            sums,
            self.finalize,
            self._counts_finalizer(sums),
        )

    def _counts_finalizer(
        self, sums: pl.DataFrame
    ) -> Callable[[Floats], Mapping[str, Floats]] | None:
        metric = self.metric
        if self._is_apart or not metric.keys or not metric.finalizes_counts:
            return None
        cells = sums.select(all_named(metric.keys))
        return lambda counts: finalize_counts(metric, counts, cells, self.context)


def _groups(
    metric: BoundMetric, tag_sets: TagSets
) -> tuple[Ragged, list[Group], dict[str, list[int]]]:
    """Return the groups that a metric has scores of."""
    if not metric.whole_only:
        return tag_sets.groups, tag_sets.names, tag_sets.facets
    count = len(tag_sets)
    whole = Ragged(np.zeros(count, np.int64), np.ones(count, np.int64))
    return whole, [WHOLE], {}


def example_column(metric: BoundMetric) -> str | None:
    """Return the statistic that is a metric's score of one example, if there is one."""
    if metric.example_hook is not None:
        return "score"
    column: str | None = metric.per_example
    return column


def _mean_of_replications(scores: pl.DataFrame, replications: int) -> pl.DataFrame:
    value = pl.col("value")
    is_whole = (value.is_not_null() & value.is_finite()).sum() == replications
    undefined = pl.lit("the metric is not defined for every replication")
    return (
        scores.with_columns(group=pl.col("group") // replications)
        .sort("group", "score", "value", "reason")
        .group_by("group", "score", maintain_order=True)
        .agg(
            value=pl.when(is_whole).then(value.mean()),
            reason=pl.when(~is_whole).then(
                pl.coalesce(pl.col("reason").drop_nulls().first(), undefined)
            ),
            flag=pl.col("flag").drop_nulls().first(),
            stddev_replications=pl.when(is_whole).then(value.std(ddof=1)),
        )
    )
