"""Means and ranks of the models of a board."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from evalkit.scoring import Interval, mean_of_intervals

Floats = NDArray[np.float64]

_DIGITS = 12


class Number(NamedTuple):
    """A score with the bounds of its interval, where it has one."""

    value: float
    low: float | None = None
    high: float | None = None


class Ranked(NamedTuple):
    """What one model has in the column that a board is sorted by."""

    number: Number | None
    reason: str = ""
    """Why there is no number."""
    rank: int | None = None
    """1 for the best; equal numbers share a rank."""
    is_tied: bool = False
    """Whether the model is not distinguishable from the best."""


class Grid(NamedTuple):
    """Scores of models in columns, each an array (columns, models)."""

    values: Floats
    """nan for no score."""
    low: Floats
    high: Floats

    def number(self, column: int, place: int) -> Number | None:
        """Return a score; None if the model has none."""
        value, low, high = (float(array[column, place]) for array in self)
        if math.isnan(value):
            return None
        return Number(value) if math.isnan(low + high) else Number(value, low, high)


@dataclass(frozen=True)
class Ranking:
    """Models by one number."""

    values: Floats
    """By model; nan where a model has none."""
    higher_is_better: bool | None
    number: Callable[[int], Number]
    """Returns the number of a model that has one, with its interval."""
    reason: Callable[[int], str]
    """Says why a model has none."""

    @cached_property
    def _keys(self) -> Floats:
        """Numbers of which the least is the best; equal up to rounding is equal."""
        sign = {True: -1.0, False: 1.0, None: 0.0}[self.higher_is_better]
        keys: Floats = np.round(sign * self.values, _DIGITS)
        return keys

    @cached_property
    def order(self) -> list[int]:
        """Places of the models with a number, the best first."""
        known = int(np.isfinite(self._keys).sum())
        places: list[int] = np.argsort(self._keys, kind="stable")[:known].tolist()
        return places

    def _rank(self, place: int) -> int | None:
        if self.higher_is_better is None:
            return None
        return 1 + int((self._keys < self._keys[place]).sum())

    @cached_property
    def _best(self) -> Number:
        return self.number(self.order[0])

    def at(self, place: int) -> Ranked:
        """Return what a model has."""
        if not np.isfinite(self.values[place]):
            return Ranked(None, self.reason(place))
        number, rank = self.number(place), self._rank(place)
        if rank is None or place == self.order[0]:
            return Ranked(number, rank=rank)
        ends = (self._best, number) if self.higher_is_better else (number, self._best)
        return Ranked(number, "", rank, _may_be_equal(*ends))


def _may_be_equal(greater: Number, less: Number) -> bool:
    """Tell whether the interval of a difference of independent scores reaches 0.

    Scores on the same examples vary together, so models that this tells apart are
    apart; a comparison of two runs tells more of them apart.
    """
    (a, low, high), (b, least, most) = greater, less
    if low is None or high is None or least is None or most is None:
        return False
    parts = [Interval(2 * low, 2 * high), Interval(-2 * most, -2 * least)]
    below = mean_of_intervals([2 * a, -2 * b], parts).low
    return below is not None and below <= 0


def rank_means(
    grid: Grid, weights: Sequence[float], higher_is_better: bool | None
) -> Ranking:
    """Rank models by weighted means of columns.

    A model without a score in a column that counts has no mean. The interval is that
    of independent columns (MOVER).

    Args:
        grid: The scores.
        weights: Weights of the columns; those of weight 0 do not count.
        higher_is_better: Direction of the scores.
    """
    used = np.flatnonzero(weights)
    shares = np.array(weights, dtype=float)[used]
    shares /= shares.sum() if len(used) else 1.0
    values = shares @ grid.values[used]
    times = (shares * len(used)).tolist()
    if not len(used):
        values = np.full(grid.values.shape[1], np.nan)

    def number(place: int) -> Number:
        scores = zip(
            times, *(array[used, place].tolist() for array in grid), strict=True
        )
        parts = [(w * value, w * low, w * high) for w, value, low, high in scores]
        intervals = [
            Interval() if math.isnan(low + high) else Interval(low, high)
            for _, low, high in parts
        ]
        found = mean_of_intervals([value for value, *_ in parts], intervals)
        return Number(float(values[place]), found.low, found.high)

    def reason(place: int) -> str:
        known = int(np.isfinite(grid.values[used, place]).sum())
        return f"{known} of {len(used)} scores"

    return Ranking(values, higher_is_better, number, reason)


def rank_dynascores(
    means: Mapping[str, Floats],
    directions: Mapping[str, bool | None],
    perf: str,
    weights: Mapping[str, float],
    models: Sequence[str],
) -> Ranking:
    """Rank models by the dynascore of their means of several metrics.

    Args:
        means: Means of each metric, by model.
        directions: Whether higher is better, by metric.
        perf: The metric in whose unit the others are counted.
        weights: Weights of metrics. Default: 1.
        models: Names of the models.

    Returns:
        The ranking, without intervals.
    """
    from evalkit_analysis_ratings import Columns
    from evalkit_analysis_ratings.dynascore import rate_dynascore

    values, ways = np.array([*means.values()]), tuple(map(directions.get, means))
    degrees = [math.inf] * len(means)
    columns = Columns(tuple(models), tuple(means), values, ways, "", degrees)
    scores = rate_dynascore(columns, perf, weights, {}).scores
    found = [scores[model] for model in models]
    rated = np.array([math.nan if x.value is None else x.value for x in found])
    return Ranking(
        rated,
        True,
        lambda place: Number(float(rated[place])),
        lambda place: found[place].reason or "",
    )
