"""What a metric's scores and intervals are computed from."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import NamedTuple, cast

import numpy as np
import polars as pl
from numpy.typing import NDArray

from evalkit.base.columns import all_named
from evalkit.base.terms import MergeKind, MetricContext
from evalkit.plugins.bound import BoundMetric
from evalkit.scoring.finalization import Finalizer, Influences, RowInfluences
from evalkit.scoring.grouping import TagSets
from evalkit.scoring.numbering import Codes, Ragged, expanded, number_sequences, summed
from evalkit.scoring.records import (
    LEFT_OUT,
    OUTCOME,
    REASON,
    SCORED,
    UNSCORED,
    ScoringSettings,
)
from evalkit.scoring.statistics_rows import (
    CellCounts,
    Memberships,
    StatisticsRows,
    merge_cells,
    weighted_sums,
)
from evalkit.scoring.table import Units
from evalkit.scoring.tally import (
    REPLICATION,
    ClusterKeys,
    Entries,
    Patterns,
    Tally,
    average_patterns,
)
from evalkit.scoring.tallying import joins_answers
from evalkit.statistics.clusters import ClusterSizes, Floats, describe_sizes
from evalkit.statistics.resampling import Keys, Weights, unit_weights


class UnitTotals(NamedTuple):
    """Sums over the units of a group."""

    units: Codes
    """Numbers of the units."""
    totals: Floats
    sizes: Floats
    """How many examples each unit has."""


class PatternCounts(NamedTuple):
    """How many examples of each group have each pattern, sorted by both."""

    group: Codes
    pattern: Codes
    times: Codes


def count_patterns(tally: Tally, groups: Ragged) -> PatternCounts:
    """Count the patterns of each group."""
    size, (tag_set, _, pattern, times) = max(1, len(tally.patterns)), tally.entries
    keys, times = summed(tag_set * size + pattern, len(groups.lengths) * size, times)
    tag_set, pattern = np.divmod(keys, size)
    group, lengths = groups.take(tag_set)
    keys = group * size + np.repeat(pattern, lengths)
    count = int(groups.items.max(initial=0)) + 1
    keys, times = summed(keys, count * size, np.repeat(times, lengths))
    return PatternCounts(*np.divmod(keys, size), times)


def _statistics_rows(patterns: Patterns, keys: Sequence[str]) -> StatisticsRows:
    """Return the rows of statistics of patterns."""
    chosen = patterns.rows.filter(pl.Series(patterns.has_numbers))
    rows = patterns.sums(np.ones(patterns.rows.height))
    return StatisticsRows(
        list(keys),
        patterns.columns,
        chosen.select(all_named([*keys, *patterns.columns])),
        is_single=bool((rows <= 1).all()),
    )


class Evidence:
    """The counts of one metric, and all that its scores and intervals follow from.

    The scored examples are numbered in the order of the tally's entries. So intervals
    are computed as from a table, and the numbers stand for the examples' ids.
    """

    def __init__(
        self,
        metric: BoundMetric,
        context: MetricContext,
        tally: Tally,
        tag_sets: TagSets,
        clusters: ClusterKeys | None,
        settings: ScoringSettings,
        repeats: int,
    ) -> None:
        self.metric, self.context = metric, context
        self.tally, self.settings = tally, settings
        self.repeats = 1 if joins_answers(metric, repeats) else repeats
        is_mean = metric.example_column is not None and not metric.keys
        self.averages = self.repeats > 1 and is_mean
        self.apart = 1 if is_mean else self.repeats
        self.patterns = tally.patterns
        if self.averages:
            self.patterns = average_patterns(tally.patterns)
        self._tag_sets = tag_sets.whole if metric.whole_only else tag_sets
        is_scored = tally.patterns.is_scored[tally.entries.pattern]
        self._scored = Entries(*(part[is_scored] for part in tally.entries))
        self.examples = int(self._scored.times.sum())
        keys = [*metric.keys, *([REPLICATION] if self.apart > 1 else [])]
        self.rows = _statistics_rows(self.patterns, keys)
        self.clustered = clusters is not None
        self._clusters = None
        if clusters is not None:
            of_entries = clusters[self._scored.cluster]
            self._clusters = np.repeat(of_entries, self._scored.times)
        self.tags = self._tag_sets.texts
        self.facets = self._tag_sets.facets

    @cached_property
    def units(self) -> Units:
        """The units that a sample is made of."""
        numbers = cast(Sequence[str], range(self.examples))
        return Units(numbers, self._clusters, self.settings.seed)

    @cached_property
    def shared_keys(self) -> Keys:
        """What decides how often each unit is drawn in all groups that it is in."""
        if self.clustered:
            return self.units.keys
        entries = self._scored
        # by groups and pattern, whatever the sets of groups are numbered by
        ranks, _ = number_sequences(self._tag_sets.groups)
        order = np.lexsort((entries.pattern, ranks[entries.tag_set]))
        place = np.empty(len(order), dtype=np.int64)
        place[order] = np.arange(len(order))
        numbers = np.empty(self.examples, dtype=np.int64)
        places = np.repeat(place, entries.times)
        numbers[np.argsort(places, kind="stable")] = np.arange(self.examples)
        return self.units.keys[numbers]

    @cached_property
    def _pattern_of_example(self) -> Codes:
        return np.repeat(self._scored.pattern, self._scored.times)

    def draw(self, units: Codes, first: int, count: int) -> Weights:
        """Draw how often each unit of a group is in some of its replicates.

        Examples are drawn by their place among the patterns of their group. So a tag
        draws what a file of its examples alone would draw.
        """
        if not self.clustered:
            place = np.empty(len(units), dtype=np.int64)
            order = np.argsort(self._pattern_of_example[units], kind="stable")
            place[order] = np.arange(len(units))
            units = place
        return unit_weights(self.units.keys[units], first, count)

    def is_same(self, other: Evidence) -> bool:
        """Whether another metric has the same tally, of the same groups."""
        one, two = self.patterns, other.patterns
        return (
            self._tag_sets is other._tag_sets
            and self.rows.keys == other.rows.keys
            and self.settings == other.settings
            and one.rows.equals(two.rows)
            and all(map(np.array_equal, one.sequences, two.sequences))
            and all(map(np.array_equal, self._scored, other._scored))
        )

    @cached_property
    def _entries(self) -> tuple[Codes, Codes]:
        """The entries of all groups, and where those of each group start."""
        group, lengths = self._tag_sets.groups.take(self._scored.tag_set)
        order = np.argsort(group, kind="stable")
        entries = np.repeat(np.arange(len(lengths)), lengths)[order]
        return entries, np.searchsorted(group[order], np.arange(len(self.tags) + 1))

    def entries_of(self, group: int) -> Codes:
        """Return the entries of a group's scored examples."""
        entries, starts = self._entries
        return entries[starts[group] : starts[group + 1]]

    def count_together(self, groups: Sequence[int]) -> tuple[int, int | None]:
        """Count the distinct examples of some groups, and their clusters if any."""
        is_inside = np.zeros(len(self._scored.times), dtype=bool)
        for group in groups:
            is_inside[self.entries_of(group)] = True
        n = int(self._scored.times[is_inside].sum())
        clusters = np.unique(self._scored.cluster[is_inside])
        return n, len(clusters) if self.clustered else None

    @cached_property
    def is_simple(self) -> bool:
        """Whether each unit is one example with one row of statistics."""
        return not self.clustered and self.repeats == 1 and self.rows.is_single

    @cached_property
    def by_group(self) -> PatternCounts:
        """How many examples of each group have each pattern."""
        return count_patterns(self.tally, self._tag_sets.groups)

    @cached_property
    def cells(self) -> CellCounts:
        """How often each row of statistics occurs in each group."""
        owner, code = self._codes(self.by_group.pattern)
        group, times = self.by_group.group[owner], self.by_group.times[owner]
        size = max(1, self.rows.distinct.height)
        keys = group * size + code
        keys, times = summed(keys, len(self.tags) * size, times)
        return CellCounts(*np.divmod(keys, size), times)

    @cached_property
    def _ends(self) -> Codes:
        return np.searchsorted(self.cells.group, np.arange(len(self.tags) + 1))

    def cells_of(self, group: int) -> tuple[Codes, Codes]:
        """Return the distinct rows of a group, and how often each occurs."""
        part = slice(self._ends[group], self._ends[group + 1])
        return self.cells.code[part], self.cells.times[part]

    def _codes(self, patterns: Codes) -> tuple[Codes, Codes]:
        """Return the codes of the rows of patterns, and whose they are."""
        row, lengths = self.patterns.sequences.take(patterns)
        owner = np.repeat(np.arange(len(patterns)), lengths)
        has_numbers = self.patterns.has_numbers[row]
        codes = np.cumsum(self.patterns.has_numbers) - 1
        return owner[has_numbers], codes[row[has_numbers]]

    def members_of(self, group: int) -> Memberships:
        """Return the rows of a group's examples."""
        entries, times = self.entries_of(group), self._scored.times
        position = expanded((np.cumsum(times) - times)[entries], times[entries])
        entry = np.repeat(entries, times[entries])
        owner, code = self._codes(self._scored.pattern[entry])
        return Memberships(position[owner], code)

    def n_clusters(self, group: int) -> int | None:
        """Count the clusters of a group; None where there are none."""
        return len(self.unit_sizes(group)) if self.clustered else None

    def cluster_sizes(self, group: int) -> ClusterSizes | None:
        """Say how unequal the clusters of a group are; None where there are none."""
        if not self.clustered or not self.n[group]:
            return None
        return describe_sizes(self.unit_sizes(group))

    def unit_sizes(self, group: int) -> Floats:
        """Count the examples of each cluster of a group."""
        entries = self.entries_of(group)
        cluster, times = self._scored.cluster[entries], self._scored.times[entries]
        sizes = np.bincount(cluster, weights=times)
        return sizes[sizes > 0].astype(np.float64)

    def per_group(self, by_pattern: Codes | NDArray[np.bool_]) -> Codes:
        """Sum a whole number of every pattern over the examples of each group."""
        group, pattern, times = self.by_group
        weights = by_pattern[pattern] * times
        sums = np.bincount(group, weights=weights, minlength=len(self.tags))
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

    def outcomes_of(self, group: int) -> pl.DataFrame:
        """Return `OUTCOME`, `REASON` and `times` of the rows of a group."""
        is_own = self.by_group.group == group
        pattern, times = self.by_group.pattern[is_own], self.by_group.times[is_own]
        rows, lengths = self.tally.patterns.sequences.take(pattern)
        counts = np.bincount(rows, weights=np.repeat(times, lengths))
        present = np.flatnonzero(counts)
        return self.tally.patterns.rows[present].select(
            pl.col(OUTCOME).cast(pl.String),
            REASON,
            times=pl.Series(counts[present].astype(np.int64)),
        )

    @cached_property
    def finalizer(self) -> Finalizer:
        """Makes scores of sums."""
        return Finalizer(self.metric, self.context, self.apart)

    @cached_property
    def _merges(self) -> set[MergeKind]:
        return {self.metric.merges.get(name, "sum") for name in self.rows.columns}

    @property
    def merges_by_sum(self) -> bool:
        """Whether all statistics add up."""
        return self._merges <= {"sum"}

    @property
    def has_gradients(self) -> bool:
        """Whether all statistics change smoothly with the weights of the examples."""
        return self._merges <= {"sum", "moments"}

    @property
    def merges_by_extremes(self) -> bool:
        """Whether a statistic is a least or greatest value."""
        return bool(self._merges & {"min", "max"})

    @cached_property
    def sums(self) -> pl.DataFrame:
        """The merged statistics of all groups."""
        merges: Mapping[str, MergeKind] = self.metric.merges
        return merge_cells(self.rows, self.cells, merges)

    def values_of(self, group: int, column: str) -> tuple[Floats, Floats]:
        """Return the values of a column in a group, and how often each occurs."""
        codes, counts = self.cells_of(group)
        return self.rows.distinct[column].to_numpy()[codes], counts.astype(np.float64)

    def mean_of(self, group: int, column: str) -> float:
        """Return the mean of a number column over the rows of a group."""
        values, counts = self.values_of(group, column)
        [total] = weighted_sums(values, counts, np.zeros(1, dtype=np.int64))
        return float(total) / math.fsum(counts)

    def unit_sums(self, group: int, by_code: Floats | RowInfluences) -> UnitTotals:
        """Sum a number of every distinct row over the units of a group."""
        members = self.members_of(group)
        values: Floats = by_code[members.code]
        codes = self.units.codes[members.position]
        if self.is_simple:
            return UnitTotals(codes, values, np.ones(len(values)))
        units, unit_of_row = np.unique(codes, return_inverse=True)
        # sorted by value, so that rounding does not depend on the order of rows
        order = np.lexsort((values, unit_of_row))
        totals = np.bincount(
            unit_of_row[order], weights=values[order], minlength=len(units)
        )
        position = members.position
        if not self.rows.is_single:
            position = np.unique(position)
        place = np.searchsorted(units, self.units.codes[position])
        sizes = np.bincount(place, minlength=len(units)).astype(np.float64)
        return UnitTotals(units, totals.astype(np.float64), sizes)

    @cached_property
    def _influences(self) -> Influences:
        return Influences(self.finalizer, self.rows, self.sums)

    def influences(self, group: int, score: str = "") -> UnitTotals | None:
        """Return what each unit of a group adds to the error of a score."""
        by_code = self._influence_of_rows(group, score)
        if by_code is None:
            return None
        found = self.unit_sums(group, by_code)
        mean = math.fsum(found.totals) / math.fsum(found.sizes)
        return found._replace(totals=found.totals - mean * found.sizes)

    def distinct_influences(
        self, group: int, score: str
    ) -> tuple[Floats, Floats, Floats] | None:
        """Return influences, the sizes of their units, and how many units have each."""
        if not self.is_simple:
            found = self.influences(group, score)
            return found and (found.totals, found.sizes, np.ones(len(found.sizes)))
        by_code = self._influence_of_rows(group, score)
        if by_code is None:
            return None
        codes, counts = self.cells_of(group)
        influences, times = by_code[codes], counts.astype(np.float64)
        mean = math.fsum(influences * times) / float(times.sum())
        return influences - mean, np.ones(len(codes)), times

    def _influence_of_rows(self, group: int, score: str) -> RowInfluences | None:
        if not self.has_gradients or self.metric.interval == "none":
            return None
        return self._influences.of(group).get(score)
