"""The largest difference between groups: the test that all are equal.

The largest of all standardized differences is drawn under the hypothesis that there is
none (max-T, Westfall and Young 1993). In the far tail, where few draws lie, the bound
of Bonferroni over all pairs takes their place, so that no p-value has a floor.
"""

from __future__ import annotations

from collections.abc import Iterator
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from evalkit.inference import draw_counts
from evalkit.inference.intervals import Floats, Integers
from evalkit.inference.student_t import outside_probability

DRAWS = draw_counts.DRAWS_OF_LARGEST_DIFFERENCES
"""Draws of the largest standardized difference."""

_LEAST_TAIL = 1e-300

_MOST_AT_ONCE = 1_000_000
"""Differences that are held at a time."""

_FIRST_CANDIDATES = 24
"""Groups of a draw, the furthest out, among which its largest difference is sought."""


class PairDifferences(NamedTuple):
    """All differences between groups, and how the largest one varies by chance."""

    values: Floats
    """Scores of the groups, of shape (groups,)."""
    errors: Floats
    """Standard errors of their differences, of shape (groups, groups)."""
    largest: Floats
    """Draws of the largest standardized difference of equal groups."""
    degrees: float
    """Degrees of freedom of a difference."""

    @property
    def pairs(self) -> tuple[Integers, Integers]:
        """The two groups of each pair whose difference has an error."""
        first, second = np.triu_indices(len(self.values), 1)
        known = self.errors[first, second] > 0
        return first[known], second[known]

    @property
    def p_value(self) -> float:
        """Of the test that all groups are equal."""
        first, second = self.pairs
        if not len(first):
            return 1.0
        differences = np.abs(self.values[first] - self.values[second])
        observed = float((differences / self.errors[first, second]).max())
        as_normal = _normal_equivalent(observed, self.degrees)
        exceeding = int((self.largest >= as_normal - 1e-12).sum())
        bound = len(first) * outside_probability(observed, self.degrees)
        return min((1 + exceeding) / (1 + len(self.largest)), bound)


def pair_differences(
    values: Floats, covariance: Floats, degrees: float, random: np.random.Generator
) -> PairDifferences:
    """Draw the largest standardized difference between equal groups.

    Args:
        values: Scores of the groups, of shape (groups,).
        covariance: Their covariance, of shape (groups, groups), or their variances, of
            shape (groups,), where they are independent.
        degrees: Degrees of freedom of a difference.
        random: Where the draws come from.

    Returns:
        The differences.
    """
    if covariance.ndim == 1:
        errors = np.sqrt(covariance[:, None] + covariance[None, :])
        np.fill_diagonal(errors, 0.0)
        largest = _largest_of_independent(covariance, random)
    else:
        variances = np.diag(covariance)
        squares = variances[:, None] + variances[None, :] - 2 * covariance
        # of groups of the same examples nothing but rounding is left
        least = 1e-12 * (variances[:, None] + variances[None, :])
        errors = np.sqrt(np.where(squares > least, squares, 0.0))
        largest = _largest_of_dependent(covariance, errors, random)
    return PairDifferences(values, errors, largest, max(1.0, degrees))


def _largest_of_independent(variances: Floats, random: np.random.Generator) -> Floats:
    """Draw the largest difference of groups that are independent.

    By the inequality of Cauchy and Schwarz, a pair's standardized difference is at
    most the root of the sum of the groups' squared standardized draws. So the largest
    one is sought among the groups that lie furthest out, and among more of them only
    in those draws where another pair could exceed what was found.
    """
    drawn = random.standard_normal((DRAWS, len(variances)))
    largest, bounds = np.zeros(DRAWS), np.zeros(DRAWS)
    open_draws = np.arange(DRAWS)
    candidates = min(_FIRST_CANDIDATES, len(variances))
    while len(open_draws):
        for part in _parts(open_draws, candidates**2):
            largest[part], bounds[part] = _largest_among(
                drawn[part], variances, candidates
            )
        open_draws = open_draws[bounds[open_draws] > largest[open_draws]]
        candidates = min(2 * candidates, len(variances))
    return largest


def _parts(draws: Integers, size: int) -> Iterator[Integers]:
    """Cut draws into parts whose differences can be held at a time."""
    step = max(1, _MOST_AT_ONCE // size)
    for start in range(0, len(draws), step):
        yield draws[start : start + step]


def _largest_among(
    drawn: Floats, variances: Floats, candidates: int
) -> tuple[Floats, Floats]:
    """Return the largest difference of the outermost groups, and a bound of others."""
    outer = np.abs(drawn)
    if candidates < drawn.shape[1]:
        chosen = np.argpartition(-outer, candidates - 1, axis=1)[:, :candidates]
        outer = np.take_along_axis(outer, chosen, axis=1)
        bound = np.hypot(outer.max(axis=1), outer.min(axis=1))
    else:
        chosen = np.broadcast_to(np.arange(candidates), drawn.shape)
        bound = np.zeros(len(drawn))
    # a row a group, so that each step goes through memory in its order
    spread = np.ascontiguousarray(variances[chosen].T)
    values = np.take_along_axis(drawn, chosen, axis=1).T * np.sqrt(spread)
    largest = np.zeros(len(drawn))
    for group in range(candidates - 1):
        squares = values[group + 1 :] - values[group]
        squares *= squares
        squares /= spread[group + 1 :] + spread[group]
        np.maximum(largest, squares.max(axis=0), out=largest)
    return np.sqrt(largest), bound


def _largest_of_dependent(
    covariance: Floats, errors: Floats, random: np.random.Generator
) -> Floats:
    values, vectors = np.linalg.eigh(covariance)
    root = vectors * np.sqrt(np.maximum(values, 0))
    drawn = root @ random.standard_normal((len(values), DRAWS))
    with np.errstate(divide="ignore"):
        precisions = np.where(errors > 0, 1 / errors, 0.0)
    largest = np.zeros(DRAWS)
    for part in _parts(np.arange(DRAWS), 10 * len(values)):
        block = np.ascontiguousarray(drawn[:, part])
        found = np.zeros(len(part))
        for group in range(len(values) - 1):
            differences = block[group + 1 :] - block[group]
            np.abs(differences, out=differences)
            differences *= precisions[group, group + 1 :, None]
            np.maximum(found, differences.max(axis=0), out=found)
        largest[part] = found
    return largest


def _normal_equivalent(t: float, degrees: float) -> float:
    """Return the normal quantile of the probability that Student's stands for."""
    outside = outside_probability(t, degrees)
    return -NormalDist().inv_cdf(outside / 2) if outside > _LEAST_TAIL else t
