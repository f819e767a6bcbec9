"""The numbers of a leaderboard: means over data sets, win rates and ranges of ranks."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple


class Estimate(NamedTuple):
    """A number with its interval."""

    value: float
    low: float
    high: float


class Ranks(NamedTuple):
    """The best and the worst rank that a model may have."""

    best: int
    worst: int


def mean_of(parts: Sequence[Estimate]) -> Estimate:
    """Return the mean of independent estimates, with its interval.

    The distances from each value to its bounds add up like standard errors: the lower
    bound is `mean − √Σ(value − low)² / k`, the upper one likewise (the method of
    variance estimates recovery: Zou and Donner 2008, Statistics in Medicine 27,
    1693-1702). Where all intervals are `value ± z · SE`, it is `mean ± z · √ΣSE² / k`;
    where they are not, it keeps their skewness, and has a width even where a standard
    error is 0, as that of a share of 100 % is.
    """
    count = len(parts)
    mean = math.fsum(part.value for part in parts) / count
    below = math.hypot(*(max(0.0, part.value - part.low) for part in parts)) / count
    above = math.hypot(*(max(0.0, part.high - part.value) for part in parts)) / count
    return Estimate(mean, mean - below, mean + above)


def error_of_mean(errors: Sequence[float]) -> float:
    """Return the standard error of the mean of independent estimates: √ΣSE² / k."""
    return math.hypot(*errors) / len(errors)


def win_rates(scores: Mapping[str, float], higher_is_better: bool) -> dict[str, float]:
    """Return the share of the other models that each does better than.

    An equal score counts as half of a win.
    """
    if len(scores) < 2:
        return {}
    sign = 1 if higher_is_better else -1
    return {
        model: sum(
            0.5 if other == own else float(sign * own > sign * other)
            for name, other in scores.items()
            if name != model
        )
        / (len(scores) - 1)
        for model, own in scores.items()
    }


def rank_ranges(
    models: Collection[str], shown: Collection[tuple[str, str]]
) -> dict[str, Ranks]:
    """Return the ranks that each model may have."""
    pairs = set(shown)
    return {
        model: Ranks(
            1 + sum(loser == model for _, loser in pairs),
            len(models) - sum(winner == model for winner, _ in pairs),
        )
        for model in models
    }
