"""Replicates of counts of gold and predicted labels, drawn from smoothed counts.

Drawing examples again never gives an error that was not seen, so the plain bootstrap of
macro-F1 with 5 % positives covers .75 to .80 at n = 50. Here a total of one example is
spread over all pairs of labels before the counts are drawn: each pair of K labels gets
1/K².
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from evalkit.inference.intervals import Floats

Pair: TypeAlias = tuple[str | None, str | None]
"""Gold and predicted label; None where nothing was predicted."""


class PairCounts(NamedTuple):
    """How often each pair of labels occurs in a group."""

    counts: Mapping[Pair, float]
    """The counts, sorted by pair."""
    labels: Sequence[str]
    """All labels that a prediction may be of, sorted."""

    @property
    def rarest(self) -> float:
        """How often the rarest event of any label occurs.

        The events are: it was predicted rightly, was not predicted where it is right,
        and was predicted where it is wrong.
        """
        least = math.inf
        for label in self.labels:
            hits = self.counts.get((label, label), 0.0)
            gold = sum(n for (other, _), n in self.counts.items() if other == label)
            said = sum(n for (_, other), n in self.counts.items() if other == label)
            least = min(least, hits, gold - hits, said - hits)
        return least

    @property
    def rarest_gold(self) -> float:
        """How many examples the rarest of the gold labels that occur has."""
        return min(self.gold_sizes.values())

    @property
    def gold_sizes(self) -> dict[str | None, float]:
        """How many examples each gold label that occurs has."""
        sizes: dict[str | None, float] = {}
        for (gold, _), count in self.counts.items():
            sizes[gold] = sizes.get(gold, 0.0) + count
        return sizes

    @property
    def golds(self) -> list[str | None]:
        """The gold labels that occur."""
        return list(dict.fromkeys(gold for gold, _ in self.counts))


def count_pairs(
    counted: Iterable[tuple[Pair, float]], declared: Iterable[str]
) -> PairCounts:
    """Count the pairs of a group.

    Args:
        counted: Pairs and how often they occur; a pair may come several times.
        declared: The labels that the data set declares.

    Returns:
        The counts, and as labels those declared and those that occur.
    """
    counts: dict[Pair, float] = {}
    for pair, count in counted:
        counts[pair] = counts.get(pair, 0.0) + count
    seen = {label for pair in counts for label in pair if label is not None}
    ordered = {pair: counts[pair] for pair in sorted(counts, key=pair_place)}
    return PairCounts(ordered, sorted({*declared, *seen}))


def pair_place(pair: Sequence[str | None]) -> tuple[tuple[bool, str], ...]:
    """Return what pairs are sorted by: what is missing before all labels.

    Args:
        pair: Gold and predicted label.
    """
    return tuple((label is not None, label or "") for label in pair)


def smoothed_counts(pairs: PairCounts) -> dict[Pair, float]:
    """Spread a total of one example over the pairs of labels of one group.

    Pairs whose gold label the group does not have stay empty: a tag whose examples are
    all of one class is not resampled into one that has two.

    Args:
        pairs: The counts of the group.

    Returns:
        The smoothed counts, which add up to as many as were given, sorted by pair.
    """
    extra = 1 / max(1, len(pairs.labels)) ** 2
    smoothed = dict(pairs.counts)
    for gold in pairs.golds:
        for label in pairs.labels:
            smoothed[gold, label] = smoothed.get((gold, label), 0.0) + extra
    share = math.fsum(pairs.counts.values()) / math.fsum(smoothed.values())
    return {pair: smoothed[pair] * share for pair in sorted(smoothed, key=pair_place)}


def counts_of_one_class(pairs: PairCounts) -> dict[Pair, float]:
    """Add one right and one wrong example to a group of one gold label.

    Its score follows from a share, and what is compared of shares is smoothed by so
    many (Agresti and Caffo 2000).

    Args:
        pairs: The counts of a group of one gold label.

    Returns:
        The counts and those two examples, the wrong one spread over all other labels
        and no label where there is none, sorted by pair.
    """
    [gold] = pairs.golds
    others: list[str | None] = [label for label in pairs.labels if label != gold]
    others = others or [None]
    counts = dict(pairs.counts)
    counts[gold, gold] = counts.get((gold, gold), 0.0) + 1
    for label in others:
        counts[gold, label] = counts.get((gold, label), 0.0) + 1 / len(others)
    return {pair: counts[pair] for pair in sorted(counts, key=pair_place)}


class DrawnCounts(NamedTuple):
    """Counts of cells, such as pairs of labels, in replicates of one group."""

    names: Sequence[str]
    """Names of the keys of a cell, and of the count."""
    cells: Sequence[Sequence[Any]]
    """The keys of each cell."""
    counts: Floats | NDArray[np.integer[Any]]
    """The counts, of shape (replicates, cells)."""
    kinds: Sequence[Any] = ()
    """The type of each key; none where all are texts."""

    def cell_table(self) -> pl.DataFrame:
        """Return the keys of the cells, one row each."""
        return _table(self, self.cells)


def replicate_counts(
    smoothed: Mapping[Pair, float],
    names: Sequence[str],
    replicates: int,
    generator: np.random.Generator,
) -> DrawnCounts:
    """Draw replicates of the counts of one group.

    Args:
        smoothed: What `smoothed_counts` returned.
        names: Names of the gold label, the predicted label and the count.
        replicates: How many to draw.
        generator: Where the numbers come from.

    Returns:
        What was drawn.
    """
    counts = np.array(list(smoothed.values()))
    total = round(float(counts.sum()))
    drawn = generator.multinomial(total, counts / counts.sum(), size=replicates)
    return DrawnCounts(names, list(smoothed), drawn)


def as_replicate(counts: Mapping[Pair, float], names: Sequence[str]) -> DrawnCounts:
    """Return counts as those of a single replicate."""
    return DrawnCounts(names, list(counts), np.array([[*counts.values()]]))


def counts_table(groups: Sequence[DrawnCounts], firsts: Sequence[int]) -> pl.DataFrame:
    """Put the counts of groups into one table, which takes long for each by itself.

    Args:
        groups: The counts of one group or more, with the same names.
        firsts: The number of the first replicate of each.

    Returns:
        `replicate`, the keys and the counts, one group below the other; no row for a
        count of 0.
    """
    names = groups[0].names
    keys = _table(groups[0], [cell for group in groups for cell in group.cells])
    before = np.cumsum([0, *(len(group.cells) for group in groups)])
    replicates, places, counts = [], [], []
    for group, first, start in zip(groups, firsts, before.tolist(), strict=False):
        replicate, place = np.nonzero(group.counts)
        counts.append(group.counts[replicate, place].astype(np.float64))
        replicates.append(replicate + first)
        places.append(place + start)
    return pl.DataFrame(
        [
            pl.Series("replicate", np.concatenate(replicates)),
            *keys[np.concatenate(places)].get_columns(),
            pl.Series(names[-1], np.concatenate(counts)),
        ]
    )


def _table(counts: DrawnCounts, cells: Sequence[Sequence[Any]]) -> pl.DataFrame:
    keys = counts.names[:-1]
    kinds = counts.kinds or [pl.String()] * len(keys)
    return pl.DataFrame(cells, dict(zip(keys, kinds, strict=True)), orient="row")
