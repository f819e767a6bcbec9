"""Intervals of scores of label pairs: percentiles of a smoothed multinomial.

Drawing examples again never gives an error that was not seen, so the plain bootstrap of
macro-F1 with 5 % positives covers .75 to .80 at n = 50. Here a total of one example is
spread over all pairs of labels before the counts are drawn: each pair of K labels gets
1/K², as in the prior of Perks (1947).
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np

from evalkit.statistics.clusters import Floats, Integers
from evalkit.statistics.intervals import Interval
from evalkit.statistics.resampling import corrected_bounds, percentile_interval

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
        golds: dict[str | None, float] = defaultdict(float)
        predicted: dict[str | None, float] = defaultdict(float)
        for (gold, said), times in self.counts.items():
            golds[gold] += times
            predicted[said] += times
        rarest = math.inf
        for label in self.labels:
            hits = self.counts.get((label, label), 0.0)
            rarest = min(rarest, hits, golds[label] - hits, predicted[label] - hits)
        return rarest

    @property
    def golds(self) -> list[str | None]:
        """The gold labels that occur."""
        return list(dict.fromkeys(gold for gold, _ in self.counts))


def count_pairs(
    counted: Iterable[tuple[Pair, float]], declared: Iterable[str]
) -> PairCounts:
    """Count the pairs of a group, of which one may come several times.

    The labels are those that the dataset declares and those that occur.
    """
    counts: dict[Pair, float] = {}
    for pair, count in counted:
        counts[pair] = counts.get(pair, 0.0) + count
    seen = {label for pair in counts for label in pair if label is not None}
    ordered = {pair: counts[pair] for pair in sorted(counts, key=_pair_order)}
    return PairCounts(ordered, sorted({*declared, *seen}))


def _pair_order(pair: Pair) -> tuple[tuple[bool, str], ...]:
    """Sort a missing label before all others."""
    return tuple((label is not None, label or "") for label in pair)


def smoothed_counts(pairs: PairCounts) -> dict[Pair, float]:
    """Spread a total of one example over the pairs of labels of one group.

    Pairs whose gold label the group does not have stay empty: a tag whose examples are
    all of one class is not resampled into one that has two. The smoothed counts add up
    to as many as before, and are sorted by pair.
    """
    extra = 1 / max(1, len(pairs.labels)) ** 2
    smoothed = dict(pairs.counts)
    for gold in pairs.golds:
        for label in pairs.labels:
            smoothed[gold, label] = smoothed.get((gold, label), 0.0) + extra
    share = math.fsum(pairs.counts.values()) / math.fsum(smoothed.values())
    return {pair: smoothed[pair] * share for pair in sorted(smoothed, key=_pair_order)}


def draw_pairs(
    smoothed: Mapping[Pair, float], replicates: int, random: np.random.Generator
) -> Integers:
    """Draw replicates of smoothed counts of one group, of shape (replicates, pairs)."""
    counts = np.array(list(smoothed.values()))
    total = round(float(counts.sum()))
    return random.multinomial(total, counts / counts.sum(), size=replicates)


def label_interval(
    replicates: Floats,
    centre: float,
    value: float,
    confidence: float,
    flags: tuple[str, ...] = (),
) -> Interval:
    """Compute the interval of a score of label pairs from its replicates.

    It holds the percentiles and the percentiles corrected for bias (Efron 1981): at
    n = 200 the former alone cover .87 for macro-F1 of 20 classes, the latter .63 for a
    model that only predicts the class of nine in ten examples. It holds the value too,
    from which smoothing may draw the replicates away at the edge of its range.

    The centre is the score of the smoothed counts. Centre and replicates are nan where
    they are undefined.
    """
    found = percentile_interval(replicates, confidence, "multinomial")
    low, high = found.low, found.high
    if low is None or high is None:
        return found
    if math.isfinite(centre):
        defined = replicates[np.isfinite(replicates)]
        corrected = corrected_bounds(defined, centre, confidence)
        low, high = min(low, corrected[0]), max(high, corrected[1])
    return found._replace(low=min(low, value), high=max(high, value), flags=flags)


def absent_labels(pairs: PairCounts) -> tuple[str, ...]:
    """Flag labels that no example of a group of several labels has."""
    absent = [label for label in pairs.labels if label not in pairs.golds]
    if not absent or len(pairs.golds) < 2:
        return ()
    return (f"labels without an example: {', '.join(absent)}",)
