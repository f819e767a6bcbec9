"""Kendall's rank correlation."""

from __future__ import annotations

import math

import numpy as np

from evalkit_metrics_statistics.ranks import Floats, Integers, RankMetric, dense_ranks


class Kendall(RankMetric):
    """Kendall's tau-b: pairs of examples in the right order, less those in the wrong.

    Of all pairs of two examples C are in the same order by prediction and by answer, D
    in the opposite one, P are not tied by prediction and T not by answer: (C - D) /
    sqrt(P T). Where all predictions, or all answers, are equal it is 0 / 0, and null.
    An answer or prediction that is NaN or infinite is not scored, and the score is null
    where a missing prediction counts. All numbers are kept, 16 bytes an example. Range
    -1 to 1, 0 is chance, higher is better; a bootstrap interval up to 10 000 examples.

    Source: Kendall, The Treatment of Ties in Ranking Problems, 1945;
    `scipy.stats.kendalltau`.

    Example:
        >>> import evalkit
        >>> evalkit.score("kendall", [1, 2, 3, 4], [1, 3, 2, 4])["kendall"].value
        0.6666666666666666
    """

    def association(self, predictions: Floats, targets: Floats) -> float | None:
        """Count the pairs."""
        one, ones = dense_ranks(predictions)
        other, others = dense_ranks(targets)
        together = one * len(others) + other
        order = np.argsort(together, kind="stable")
        starts = np.flatnonzero(np.diff(together[order], prepend=-1))
        both = np.diff(np.append(starts, len(order)))
        every = _pairs(np.array([len(one)]))
        tied_one, tied_other, tied_both = map(_pairs, (ones, others, both))
        # where predictions are tied, answers rise: such pairs are not out of order
        discordant = inversions(other[order])
        difference = every - tied_one - tied_other + tied_both - 2 * discordant
        value = difference / math.sqrt((every - tied_one) * (every - tied_other))
        return max(-1.0, min(1.0, value))


def _pairs(counts: Integers) -> int:
    """Count the pairs within groups of so many each."""
    return int((counts.astype(np.int64) * (counts - 1) // 2).sum())


def inversions(ranks: Integers) -> int:
    """Count the pairs of which the first one is greater.

    Halves that are in order are compared and merged, all of one length at a time
    (Knight, A Computer Method for Calculating Kendall's Tau with Ungrouped Data, 1966).

    Args:
        ranks: Whole numbers from 0.

    Returns:
        How many there are.
    """
    length = 1 << max(0, len(ranks) - 1).bit_length()
    highest = int(ranks.max(initial=0)) + 1
    # what is filled in at the end is greater than none that stands after it
    padded = np.full(length, highest, dtype=np.int64)
    padded[: len(ranks)] = ranks
    found, width = 0, 1
    while width < length:
        blocks = padded.reshape(-1, 2 * width)
        apart = np.arange(len(blocks))[:, None] * (highest + 1)
        left, right = (blocks + apart)[:, :width], (blocks + apart)[:, width:]
        below = np.searchsorted(left.ravel(), right.ravel(), side="right")
        ends = np.repeat(np.arange(1, len(blocks) + 1) * width, width)
        found += int((ends - below).sum())
        padded = np.sort(blocks, axis=1).ravel()
        width *= 2
    return found
