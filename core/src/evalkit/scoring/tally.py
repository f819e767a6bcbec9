"""Tallies: how many examples have the same tags, the same cluster and the same pattern.

Values, intervals and tests are functions of tallies. Tallies of parts add up to that of
the whole, bit by bit, after their patterns, tag sets and clusters have been renumbered.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from evalkit.errors import MetricError
from evalkit.scoring.numbering import (
    Codes,
    Ragged,
    dense,
    number_column,
    number_sequences,
    places_of,
    summed,
)
from evalkit.scoring.patterns import Patterns, merge_patterns
from evalkit.scoring.tag_sets import TagSets, merge_tag_sets

ClusterKeys = NDArray[np.uint64]


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


class AnswerTally(NamedTuple):
    """How many examples have the same tags and the same answer."""

    answers: pl.DataFrame
    """The distinct answers, sorted: `target`, and `choices` where examples have own
    options."""
    tag_set: Codes
    answer: Codes
    times: Codes


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
    answers: AnswerTally | None = None


def count_examples(
    patterns: Patterns, pattern: Codes, tag_set: Codes, cluster: Codes | None
) -> Tally:
    """Make the tally of examples."""
    cluster = np.zeros(len(pattern), np.int64) if cluster is None else cluster
    ones = np.ones(len(pattern), dtype=np.int64)
    return Tally(patterns, Entries(tag_set, cluster, pattern, ones).add_equal())


def count_answers(
    answers: pl.DataFrame, tag_set: Codes, times: Codes | None = None
) -> AnswerTally:
    """Count the answers of examples by tag set."""
    codes, size = np.zeros(answers.height, dtype=np.int64), 1
    for column in answers.get_columns():
        own, count = _number_answers(column)
        codes, distinct = dense(codes * count + own, size * count)
        size = len(distinct)
    places = places_of(codes, size)
    times = np.ones(len(codes), dtype=np.int64) if times is None else times
    sets = int(tag_set.max(initial=0)) + 1
    keys, sums = summed(tag_set * size + codes, sets * size, times)
    distinct_answers = answers[places] if answers.height else answers
    return AnswerTally(distinct_answers, keys // size, keys % size, sums)


def _number_answers(column: pl.Series) -> tuple[Codes, int]:
    if not isinstance(column.dtype, pl.List):
        return number_column(column)
    lengths = column.list.len().fill_null(0).to_numpy().astype(np.int64)
    items, _ = number_column(column.filter(column.list.len() > 0).explode())
    codes, first = number_sequences(Ragged(items, lengths))
    return codes, len(first)


def merge_tallies(parts: Sequence[Tallies]) -> Tallies:
    """Add the tallies of parts of a set of examples.

    The result is the tally of the whole, bit by bit, in whichever order the parts are
    given.

    Args:
        parts: Tallies of disjoint parts, made with the same plan; at least one.

    Returns:
        Their sum.

    Raises:
        MetricError: The parts have other metrics, replications or kinds of clusters.
    """
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
    answers = _merge_answers([part.answers for part in parts], set_numbers)
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
    if error or refusal:
        return MetricTally(None, refusal, error)
    wrong = right = None
    if any(part.as_wrong is not None for part in parts):
        # a part of which nothing was left out is the same either way
        wrong = add_tallies([part.as_wrong or part.tally for part in parts], maps)
        right = add_tallies([part.as_right or part.tally for part in parts], maps)
    return MetricTally(
        add_tallies([part.tally for part in parts], maps),
        as_wrong=wrong,
        as_right=right,
        is_unbounded=any(part.is_unbounded for part in parts),
    )


def add_tallies(
    tallies: Sequence[Tally | None], maps: _Maps | None = None
) -> Tally | None:
    """Add tallies."""
    known = [number for number, tally in enumerate(tallies) if tally is not None]
    chosen = [tally for tally in tallies if tally is not None]
    if not chosen:
        return None
    patterns, numbers = merge_patterns([tally.patterns for tally in chosen])
    moved = []
    for place, (_, entries) in enumerate(chosen):
        tag_set, cluster = entries.tag_set, entries.cluster
        if maps is not None:
            of_sets, of_clusters = maps[known[place]]
            tag_set, cluster = of_sets[tag_set], of_clusters[cluster]
        pattern = numbers[place][entries.pattern]
        moved.append(Entries(tag_set, cluster, pattern, entries.times))
    together = Entries(*map(np.concatenate, zip(*moved, strict=True)))
    return Tally(patterns, together.add_equal())


def _merge_answers(
    parts: Sequence[AnswerTally | None], set_numbers: Sequence[Codes]
) -> AnswerTally | None:
    known = [part for part in parts if part is not None]
    if len(known) < len(parts):
        return None
    rows = [part.answers[part.answer] for part in known]
    sets = [
        numbers[part.tag_set] for part, numbers in zip(known, set_numbers, strict=True)
    ]
    times = np.concatenate([part.times for part in known])
    answers = pl.concat(rows, how="vertical_relaxed")
    return count_answers(answers, np.concatenate(sets), times)


def number_clusters(clusters: pl.Series) -> tuple[ClusterKeys, Codes]:
    """Number the clusters of examples by their keys."""
    keys = clusters.cast(pl.UInt64).to_numpy()
    distinct, codes = np.unique(keys, return_inverse=True)
    return distinct, codes
