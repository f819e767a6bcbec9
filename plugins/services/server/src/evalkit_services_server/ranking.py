"""Means and ranks of the models of a leaderboard."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_DIGITS = 12


class Means(NamedTuple):
    """Weighted means of scores, each field an array by model."""

    values: Floats
    """nan for a model that lacks a score that counts."""
    low: Floats
    high: Floats
    known: NDArray[np.int64]
    """Number of scores that count."""
    keys: Floats
    """Numbers of which the least is the best; nan last."""
    ranks: NDArray[np.int64]
    """1 for the best; equal means share a rank. 0 for none."""
    may_equal_best: NDArray[np.bool_]
    """Whether the interval of the difference from the best reaches 0."""


def rank_means(
    grid: Floats, weights: Sequence[float], higher_is_better: bool | None
) -> Means:
    """Rank models by weighted means of columns.

    The intervals are those of means of independent scores (MOVER, as in
    `evalkit.scoring.mean_of_intervals`, of all models at once). The grid has the scores
    and the bounds of their intervals (3, columns, models).
    """
    used = np.flatnonzero(weights)
    shares = np.array(weights, dtype=float)[used]
    shares /= shares.sum()
    values, low, high = grid[:, used]
    means = shares @ values if len(used) else np.full(grid.shape[2], np.nan)
    below, above = (
        np.linalg.norm(shares[:, None] * (values - ends), axis=0)
        for ends in (low, high)
    )
    sign = {True: -1.0, False: 1.0, None: 0.0}[higher_is_better]
    keys = np.round(sign * means, _DIGITS)  # equal up to rounding is equal
    is_ranked = np.isfinite(keys) & (sign != 0)
    ranks = np.where(is_ranked, np.searchsorted(np.sort(keys), keys) + 1, 0)
    may_equal_best = np.zeros(len(means), dtype=bool)
    if is_ranked.any():
        best = np.nanargmin(keys)
        near, far = (below, above) if higher_is_better else (above, below)
        gap = np.abs(means - means[best])
        may_equal_best = (ranks > 1) & (gap <= np.hypot(near[best], far))
    known = np.isfinite(values).sum(axis=0)
    return Means(
        means, means - below, means + above, known, keys, ranks, may_equal_best
    )
