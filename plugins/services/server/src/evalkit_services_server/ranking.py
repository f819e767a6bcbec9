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

_ROUNDING = 1e-12


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
    def order(self) -> list[int]:
        """Places of the models with a number, the best first."""
        sign = 1.0 if self.higher_is_better is False else -1.0
        known = np.flatnonzero(np.isfinite(self.values))
        if self.higher_is_better is None:
            return [int(place) for place in known]
        best = np.argsort(sign * self.values[known], kind="stable")
        return [int(place) for place in known[best]]

    @cached_property
    def ranks(self) -> dict[int, int]:
        """Ranks by place; none if the direction is unknown."""
        found: dict[int, int] = {}
        last = math.nan
        for number, place in enumerate(self.order, start=1):
            value = float(self.values[place])
            is_equal = abs(value - last) <= _ROUNDING * max(1.0, abs(value))
            found[place] = found[self.order[number - 2]] if is_equal else number
            last = value
        return {} if self.higher_is_better is None else found

    @cached_property
    def _best(self) -> Number:
        return self.number(self.order[0])

    def at(self, place: int) -> Ranked:
        """Return what a model has."""
        if not np.isfinite(self.values[place]):
            return Ranked(None, self.reason(place))
        number, rank, best = self.number(place), self.ranks.get(place), self._best
        if rank is None or place == self.order[0]:
            return Ranked(number, rank=rank)
        worse = number if self.higher_is_better else best
        better = best if self.higher_is_better else number
        return Ranked(number, "", rank, _may_be_equal(better, worse))


def _may_be_equal(first: Number, second: Number) -> bool:
    """Tell whether the interval of a difference of independent scores reaches 0.

    Scores of the same examples vary together, so models whose intervals tell them apart
    here are apart; a comparison of two runs tells more of them apart.
    """
    if None in (*first, *second):
        return False
    (a, low, high), (b, least, most) = first, second
    parts = [Interval(2 * low, 2 * high), Interval(-2 * most, -2 * least)]  # type: ignore[operator]
    below = mean_of_intervals([2 * a, -2 * b], parts).low
    return below is not None and below <= 0


class Grid(NamedTuple):
    """Scores of models in columns, each an array (columns, models)."""

    values: Floats
    """nan where a model has no score, or one that is not comparable with the others."""
    low: Floats
    high: Floats

    def number(self, column: int, place: int) -> Number | None:
        """Return a score; None if the model has none."""
        value, low, high = (float(array[column, place]) for array in self)
        if not math.isfinite(value):
            return None
        has_ends = math.isfinite(low) and math.isfinite(high)
        return Number(value, low, high) if has_ends else Number(value)


def rank_means(
    grid: Grid,
    weights: Sequence[float],
    higher_is_better: bool | None,
) -> Ranking:
    """Rank models by weighted means of columns.

    A model without a score in one of the columns has no mean. The interval is that of
    independent columns (MOVER).

    Args:
        grid: The scores.
        weights: Weights of the columns; those of weight 0 do not count.
        higher_is_better: Direction of the scores.

    Returns:
        The ranking.
    """
    used = [column for column, weight in enumerate(weights) if weight]
    shares = np.array([weights[column] for column in used])
    shares = shares / shares.sum() if used else shares
    values = np.full(grid.values.shape[1], np.nan)
    if used:
        values = shares @ grid.values[used]

    times = (shares * len(used)).tolist()

    def number(place: int) -> Number:
        columns = (array[used, place].tolist() for array in grid)
        parts = [*zip(times, *columns, strict=True)]
        intervals = [
            Interval(weight * low, weight * high)
            if math.isfinite(low) and math.isfinite(high)
            else Interval()
            for weight, _, low, high in parts
        ]
        found = mean_of_intervals([part[0] * part[1] for part in parts], intervals)
        return Number(float(values[place]), found.low, found.high)

    def reason(place: int) -> str:
        if not used:
            return "no column has a weight"
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

    columns = Columns(
        tuple(models),
        tuple(means),
        np.array([*means.values()]),
        tuple(directions[name] for name in means),
        "",
        [math.inf] * len(means),
    )
    scores = rate_dynascore(columns, perf, weights, {}).scores
    found = [scores[model] for model in models]
    values = np.array([math.nan if x.value is None else x.value for x in found])
    return Ranking(
        values,
        True,
        lambda place: Number(float(values[place])),
        lambda place: found[place].reason or "",
    )
