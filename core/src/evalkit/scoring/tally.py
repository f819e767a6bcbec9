"""Tallies: how many examples have the same tags, the same cluster and the same pattern.

Values, intervals and tests are functions of tallies. Tallies of parts add up to that of
the whole, bit by bit, after their patterns, tag sets and clusters have been renumbered.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from evalkit.base.columns import all_named, unnamed
from evalkit.errors import MetricError
from evalkit.scoring.grouping import TagSets, merge_tag_sets
from evalkit.scoring.numbering import (
    Codes,
    Ragged,
    dense,
    merge_sequences,
    number_rows,
    number_sequences,
    summed,
)
from evalkit.scoring.records import (
    OUTCOME,
    OUTCOMES,
    REASON,
    SCORED,
    SILENT,
    UNANSWERED,
)
from evalkit.scoring.table import ScoringTable

ClusterKeys = NDArray[np.uint64]

MOST_LABELS = 1_000
"""Distinct answers above which they are texts, not labels."""


class Entries(NamedTuple):
    """Counts of examples, sorted by tag set, cluster and pattern."""

    tag_set: Codes
    cluster: Codes
    """0 where examples are independent."""
    pattern: Codes
    times: Codes

    def add_equal(self) -> Entries:
        """Add the counts of equal entries."""
        sizes = [int(codes.max(initial=0)) + 1 for codes in self[:3]]
        rest, size = dense(self.cluster * sizes[2] + self.pattern, sizes[1] * sizes[2])
        keys, times = summed(
            self.tag_set * max(1, len(size)) + rest,
            sizes[0] * max(1, len(size)),
            self.times,
        )
        tag_set, place = np.divmod(keys, max(1, len(size)))
        cluster, pattern = np.divmod(size[place], sizes[2])
        return Entries(tag_set, cluster, pattern, times)


class Tally(NamedTuple):
    """What one metric made of a set of examples."""

    patterns: Patterns
    entries: Entries


class MetricTally(NamedTuple):
    """The tally of a metric, and those of its bounds."""

    tally: Tally | None
    """None where the metric failed, or does not apply."""
    refusal: str | None = None
    """Why the metric does not apply."""
    error: str | None = None
    """How the metric failed."""
    as_wrong: Tally | None = None
    """The same with the answers that were left out, which have no prediction; None
    where none was."""
    as_right: Tally | None = None
    """The same with the answers that were left out, which are right."""
    is_unbounded: bool = False
    """Whether an example that was left out cannot be scored in one of these ways."""


class Tallies(NamedTuple):
    """The tallies of all metrics of a set of examples, or of a part of it."""

    tag_sets: TagSets
    clusters: ClusterKeys | None
    """Keys of the clusters, sorted; None where examples are independent."""
    replications: tuple[str, ...]
    """Names of the answers of each example; empty for a single one."""
    metrics: Mapping[str, MetricTally]
    answers: pl.DataFrame | None = None
    """The distinct answers, sorted, and their number: `target`, `choices` where
    examples have own options, `weight`."""


def count_examples(
    patterns: Patterns, pattern: Codes, tag_set: Codes, cluster: Codes | None
) -> Tally:
    """Make the tally of examples."""
    cluster = np.zeros(len(pattern), np.int64) if cluster is None else cluster
    ones = np.ones(len(pattern), dtype=np.int64)
    return Tally(patterns, Entries(tag_set, cluster, pattern, ones).add_equal())


def count_answers(
    answers: pl.DataFrame, weight: pl.Series | None = None
) -> pl.DataFrame:
    """Return the distinct answers, sorted, and their number as `weight`."""
    codes, distinct = number_rows(answers)
    sums = np.bincount(codes, weight, distinct.height).astype(np.float64)
    return distinct.with_columns(weight=sums)


def merge_tallies(parts: Sequence[Tallies]) -> Tallies:
    """Add the tallies of parts of a set of examples.

    The result is the tally of the whole, bit by bit, in whichever order the parts are
    given.

    Args:
        parts: Tallies of disjoint parts, made with the same plan; at least one.

    Returns:
        Their sum.

    Raises:
        MetricError: There are no parts, or they differ in metrics or replications, or
            only some have clusters.
    """
    if not parts:
        raise MetricError("tallies: expected at least one part, got none")
    first = parts[0]
    for part in parts:
        if part.metrics.keys() != first.metrics.keys():
            raise MetricError("tallies: the parts have different metrics")
        if part.replications != first.replications:
            raise MetricError("tallies: the parts have different replications")
        if (part.clusters is None) != (first.clusters is None):
            raise MetricError("tallies: only some of the parts have clusters")
    tag_sets, set_numbers = merge_tag_sets([part.tag_sets for part in parts])
    clusters, cluster_numbers = _merge_clusters([part.clusters for part in parts])
    maps = list(zip(set_numbers, cluster_numbers, strict=True))
    metrics = {
        name: _merge_metric([part.metrics[name] for part in parts], maps)
        for name in first.metrics
    }
    answers = _merge_answers([part.answers for part in parts])
    return Tallies(tag_sets, clusters, first.replications, metrics, answers)


_Maps = Sequence[tuple[Codes, Codes]]
"""The new numbers of the tag sets and of the clusters of each part."""


def _merge_clusters(
    parts: Sequence[ClusterKeys | None],
) -> tuple[ClusterKeys | None, list[Codes]]:
    known = [part for part in parts if part is not None]
    if not known:
        return None, [np.zeros(1, dtype=np.int64) for _ in parts]
    keys = np.unique(np.concatenate(known))
    return keys, [np.searchsorted(keys, part) for part in known]


def _merge_metric(parts: Sequence[MetricTally], maps: _Maps) -> MetricTally:
    error = min((part.error for part in parts if part.error), default=None)
    refusal = min((part.refusal for part in parts if part.refusal), default=None)
    # a metric that refuses answers without a prediction looks at no others
    error = None if any(map(_has_unanswered, parts)) else error
    if error or refusal:
        return MetricTally(None, refusal, error)
    wrong = right = None
    if any(part.as_wrong is not None for part in parts):
        # a part of which nothing was left out is the same either way
        wrong = _add_tallies([part.as_wrong or part.tally for part in parts], maps)
        right = _add_tallies([part.as_right or part.tally for part in parts], maps)
    return MetricTally(
        _add_tallies([part.tally for part in parts], maps),
        as_wrong=wrong,
        as_right=right,
        is_unbounded=any(part.is_unbounded for part in parts),
    )


def _has_unanswered(part: MetricTally) -> bool:
    tally = part.tally
    return tally is not None and bool(tally.patterns.answers([UNANSWERED]).any())


def _add_tallies(tallies: Sequence[Tally | None], maps: _Maps) -> Tally | None:
    known = [number for number, tally in enumerate(tallies) if tally is not None]
    chosen = [tally for tally in tallies if tally is not None]
    if not chosen:
        return None
    patterns, numbers = merge_patterns([tally.patterns for tally in chosen])
    moved = []
    for place, (_, entries) in enumerate(chosen):
        tag_sets, clusters = maps[known[place]]
        tag_set, cluster = tag_sets[entries.tag_set], clusters[entries.cluster]
        pattern = numbers[place][entries.pattern]
        moved.append(Entries(tag_set, cluster, pattern, entries.times))
    together = Entries(*map(np.concatenate, zip(*moved, strict=True)))
    return Tally(patterns, together.add_equal())


def _merge_answers(parts: Sequence[pl.DataFrame | None]) -> pl.DataFrame | None:
    known = [part for part in parts if part is not None]
    if len(known) < len(parts):
        return None
    answers = pl.concat(known, how="vertical_relaxed")
    return count_answers(answers.drop("weight"), answers["weight"])


def number_clusters(table: ScoringTable) -> tuple[ClusterKeys | None, Codes | None]:
    """Number the clusters of the examples of a table by their keys."""
    if table.clusters is None:
        return None, None
    keys = table.clusters.gather_every(table.repeats).cast(pl.UInt64).to_numpy()
    distinct, codes = np.unique(keys, return_inverse=True)
    return distinct, codes


Floats = NDArray[np.float64]

REPLICATION = "__replication"
"""Column of the number of the answer."""

_HEAD = (REPLICATION, OUTCOME, REASON)


@dataclass(frozen=True)
class Patterns:
    """The distinct patterns of a metric, sorted by content."""

    rows: pl.DataFrame
    """The distinct rows, sorted: replication, outcome, reason, keys and numbers."""
    keys: tuple[str, ...]
    sequences: Ragged
    """The numbers of the rows of each pattern, sorted."""

    def __len__(self) -> int:
        """Return the number of patterns."""
        return len(self.sequences.lengths)

    @property
    def columns(self) -> list[str]:
        """Names of the number columns."""
        return [name for name in self.rows.columns if name not in (*_HEAD, *self.keys)]

    @cached_property
    def has_numbers(self) -> NDArray[np.bool_]:
        """Whether each row is one of statistics."""
        return self._has_outcome([SCORED])

    @cached_property
    def _outcomes(self) -> NDArray[np.uint8]:
        return self.rows[OUTCOME].to_physical().to_numpy()

    def _has_outcome(self, outcomes: Sequence[str]) -> NDArray[np.bool_]:
        numbers = pl.Series(outcomes, dtype=OUTCOMES).to_physical().to_numpy()
        return np.isin(self._outcomes, numbers)

    @cached_property
    def replications(self) -> Codes:
        """The replication of each row."""
        return self.rows[REPLICATION].to_numpy().astype(np.int64)

    @cached_property
    def is_scored(self) -> NDArray[np.bool_]:
        """Whether each pattern has a row of statistics."""
        return self.answers([SCORED]) > 0

    def answers(self, outcomes: Sequence[str] | None = None) -> Codes:
        """Count the answers of each pattern that have one of some outcomes."""
        items = self.sequences.items
        is_chosen = np.ones(self.rows.height, dtype=bool)
        if outcomes is not None:
            is_chosen = self._has_outcome(outcomes)
        if not is_chosen.any():
            return np.zeros(len(self), dtype=np.int64)
        if len(items) == len(self):  # patterns of one row
            return is_chosen[items].astype(np.int64)
        chosen = is_chosen[items]
        replications = self.replications[items][chosen]
        size = int(replications.max(initial=0)) + 1
        owners = self.sequences.owners()[chosen]
        _, distinct = dense(owners * size + replications, len(self) * size)
        return np.bincount(distinct // size, minlength=len(self)).astype(np.int64)

    def values(self, column: str) -> Floats:
        """Return a number of every row; nan where it has none."""
        numbers = unnamed(self.rows[column]).cast(pl.Float64)
        values: Floats = numbers.fill_null(np.nan).to_numpy()
        return values

    def sums(self, by_row: Floats) -> Floats:
        """Sum a number of every row over the rows of each pattern."""
        items = self.sequences.items
        chosen = np.where(self.has_numbers[items], by_row[items], 0.0)
        return np.bincount(
            self.sequences.owners(), weights=chosen, minlength=len(self)
        ).astype(np.float64)


def number_patterns(
    rows: pl.DataFrame, examples: Codes, count: int, keys: Sequence[str]
) -> tuple[Patterns, Codes]:
    """Number the patterns of examples."""
    codes, distinct = number_rows(_ordered(rows, keys))
    lengths = np.bincount(examples, minlength=count).astype(np.int64)
    if (examples[1:] <= examples[:-1]).any():
        codes = codes[np.lexsort((codes, examples))]
    sequences = Ragged(codes, lengths)
    numbers, first = number_sequences(sequences)
    return Patterns(distinct, tuple(keys), sequences.take(first)), numbers


def merge_patterns(parts: Sequence[Patterns]) -> tuple[Patterns, list[Codes]]:
    """Number the patterns of several parts together."""
    frames = [part.rows for part in parts]
    keys = parts[0].keys
    rows = _ordered(pl.concat(frames, how="diagonal_relaxed"), keys)
    codes, distinct = number_rows(rows)
    # rows are sorted in each part as in the whole, so their order in a pattern stays
    sizes, patterns = [each.height for each in frames], [p.sequences for p in parts]
    sequences, numbers = merge_sequences(patterns, sizes, codes)
    return Patterns(distinct, keys, sequences), numbers


def average_patterns(patterns: Patterns) -> Patterns:
    """Return patterns with one row of statistics each, the mean of the answers'."""
    counts = np.maximum(patterns.sums(np.ones(patterns.rows.height)), 1)
    numbers = {
        name: patterns.sums(patterns.values(name)) / counts for name in patterns.columns
    }
    numbers[REPLICATION] = np.zeros(len(patterns), dtype=np.int64)
    is_scored = pl.lit(pl.Series(patterns.is_scored))
    outcome = pl.when(is_scored).then(pl.lit(SCORED)).otherwise(pl.lit(SILENT))
    rows = pl.DataFrame(numbers).with_columns(
        outcome.cast(OUTCOMES).alias(OUTCOME),
        pl.lit(None, dtype=pl.String).alias(REASON),
    )
    sequences = Ragged(np.arange(len(patterns)), np.ones(len(patterns), dtype=np.int64))
    return Patterns(_ordered(rows, ()), (), sequences)


def _ordered(rows: pl.DataFrame, keys: Sequence[str]) -> pl.DataFrame:
    """Put columns into the order that all parts have; -0 becomes 0."""
    head = [*_HEAD, *keys]
    # a part of which nothing is scored has no keys
    absent = [name for name in keys if name not in rows.columns]
    rows = rows.with_columns(pl.lit(None).alias(name) for name in absent)
    numbers = sorted(name for name in rows.columns if name not in head)
    plain = [(rows[name].cast(pl.Float64) + 0.0).alias(name) for name in numbers]
    return rows.select(all_named([*head, *numbers])).with_columns(plain)
