"""Intervals of the mean difference of two scores of single examples."""

from __future__ import annotations

import math
from functools import partial
from typing import NamedTuple

import numpy as np

from evalkit.inference.cluster_sizes import cluster_sums, degrees_of_freedom
from evalkit.inference.intervals import Floats, Integers, Interval, without_interval
from evalkit.inference.skewed_means import (
    clustered_skewed_mean_interval,
    skewed_mean_interval,
)
from evalkit.inference.student_t import t_quantile
from evalkit_analysis_compare.differences import Intervals
from evalkit_analysis_compare.effective_pairs import effective_interval, effective_pairs
from evalkit_analysis_compare.power import POWER
from evalkit_analysis_compare.randomised_tests import Significance
from evalkit_analysis_compare.sample_sizes import unseen_units

FIRST_CONFIDENCE = 0.95
"""Confidence of the interval that the standard error is taken from."""

_FEWEST_CHANGED = 30
"""Units that differ below which a large difference of one in ten of them is missing
from more than 4 % of samples."""

_FEWEST_ALIKE = 60
"""Units of scores without bounds that all differ in one direction, below which there is
no interval where they are fewer than half."""

_MANY_ALIKE = 300
"""Units that all differ in one direction, from which a difference of one in a hundred
in the other is missing from fewer than 5 % of samples."""

_LEAST_LEVEL = 1e-12
"""Level below which intervals are not asked."""

_HALVINGS = 20
"""Halvings of the range in which a level is searched."""


class Spread(NamedTuple):
    """The intervals of a mean difference, and what they rest on."""

    intervals: Intervals
    error: float | None
    degrees: float
    is_skewed: bool = False
    """Whether the intervals are wider because the differences are skewed."""
    warning: str = ""
    """What a claim should say of changes that the sample may not show; "" for none."""
    seen: Intervals | None = None
    """The intervals without unseen changes, where `intervals` hold them."""
    mean: float = 0.0
    unseen: float = 0.0
    """How far a unit that no sample shows may move the mean; 0 without bounds."""

    def agreeing_test(self, tested: Significance) -> Significance:
        """Return a test that rejects at no level at which the intervals hold zero.

        A sample has none of the units that differ in another way with a probability of
        exp(-k), where k are expected. |mean| / `unseen` of them make the mean zero.

        Args:
            tested: A test that no difference is zero on average.

        Returns:
            The test, or one with a greater p-value.
        """
        if self.is_skewed:
            tested = agreeing(tested, self.seen or self.intervals)
        chance = math.exp(-abs(self.mean) / self.unseen) if self.unseen else 0.0
        if tested.p_value >= chance:
            return tested
        return tested._replace(p_value=chance, at_most=False)

    def detectable(self, formula: float | None, level: float) -> float | None:
        """Return the smallest difference whose interval is beyond unseen changes.

        Args:
            formula: What is found by the changes that the sample shows; None for none.
            level: Level of the interval.

        Returns:
            The greater of both; None where that is beyond what shares can differ by.
        """
        if formula is None or self.error is None or not self.unseen:
            return formula
        chance = t_quantile(2 * POWER - 1, self.degrees)
        found = max(formula, _reach(self.unseen, 1 - level) + chance * self.error)
        return found if found <= 1 else None


def spread_of(
    differences: Floats, clusters: Integers | None, *, shares: bool
) -> Spread:
    """Return the intervals of a mean difference, with its error and their degrees.

    Args:
        differences: First score less the second of each row, of shape (n,).
        clusters: The cluster of each row, of shape (n,); None for independent rows.
        shares: Whether the scores lie between 0 and 1, and are meant as shares.

    Returns:
        Intervals by confidence; without bounds, and with the reason, where there are
        none.
    """
    if len(differences) > 1 and shares:
        pairs = effective_pairs(differences, clusters)
        if pairs is None:
            return Spread(partial(effective_interval, None), None, 1.0)
        skewed, _ = _of_mean(differences, clusters)
        is_skewed = "skewed" in skewed(FIRST_CONFIDENCE).method
        seen = partial(_as_wide, partial(effective_interval, pairs), skewed)
        mean, few = float(differences.mean()), _few_changes(differences, clusters)
        unseen = few.unseen(differences)
        # an unseen cluster may differ as a whole where those seen differ in part
        is_open = (
            clusters is not None
            and abs(mean) <= unseen_units(1 - FIRST_CONFIDENCE) / few.units
        )
        return Spread(
            partial(_reaching, seen, mean, unseen),
            pairs.error,
            pairs.degrees,
            is_skewed,
            few.warning(are_clusters=True) if is_open else "",
            seen=seen,
            mean=mean,
            unseen=unseen,
        )
    means, degrees = _of_mean(differences, clusters)
    shown = means(FIRST_CONFIDENCE)
    few = _few_changes(differences, clusters)
    if shown.standard_error is not None and few.leaves_no_interval:
        units = "examples" if clusters is None else "clusters"
        shown = without_interval(
            f"only {few.changed} of {few.units} {units} differ"
            f"{'' if few.is_few else ', all in one direction'}, too few to show a rare "
            "large difference of scores without bounds"
        )
    if shown.standard_error is not None:
        is_skewed = "skewed" in shown.method
        warning = few.warning(are_clusters=clusters is not None)
        return Spread(means, shown.standard_error, degrees, is_skewed, warning)
    if len(differences) > 1 and (differences == differences[0]).all():
        same = "zero" if differences[0] == 0 else "equal"
        shown = without_interval(f"all differences are {same}")
    return Spread(lambda _confidence: shown, None, degrees)


def _of_mean(differences: Floats, clusters: Integers | None) -> tuple[Intervals, float]:
    """Return Student's intervals of a mean, with their degrees of freedom.

    They are wider where the differences are skewed: a few large losses against many
    small gains are called a difference by the test in 17 % of samples without any.
    """
    if clusters is None:
        rows = partial(skewed_mean_interval, differences, np.ones(len(differences)))
        return rows, max(1.0, len(differences) - 1.0)
    totals, sizes = cluster_sums(differences, clusters)
    degrees = degrees_of_freedom(sizes) if len(sizes) > 1 else 1.0
    return partial(clustered_skewed_mean_interval, totals, sizes), degrees


class _Changes(NamedTuple):
    """How many units, which are examples or clusters, have a difference.

    Nine small gains for each large loss are taken for a difference in a quarter of
    samples where few units differ, as many of these hold no loss.
    """

    changed: int
    units: int
    is_one_sided: bool
    """Whether all differ in one direction."""

    @property
    def is_few(self) -> bool:
        """Whether most units are alike, and few of the others are there to judge by."""
        return 0 < self.changed < min(_FEWEST_CHANGED, self.units / 2)

    @property
    def leaves_no_interval(self) -> bool:
        """Whether scores without bounds have no interval."""
        is_alike = self.is_one_sided and 0 < self.changed < _FEWEST_ALIKE
        return self.is_few or (is_alike and self.changed < self.units / 2)

    def unseen(self, differences: Floats) -> float:
        """Return how far a unit of which none is seen may move a mean of shares.

        An unseen kind of cluster is taken to change as many rows as those that differ.
        """
        if not self.changed:
            return 0.0
        return int(np.count_nonzero(differences)) / self.changed / len(differences)

    def warning(self, *, are_clusters: bool) -> str:
        """Say what differences all in one direction may not show."""
        if not (self.is_one_sided and 0 < self.changed < _MANY_ALIKE):
            return ""
        units = "clusters" if are_clusters else "examples"
        return (
            f"all {self.changed} {units} that differ do so in one direction; a rare "
            "large difference in the other, which so few may not show, could undo it"
        )


def _few_changes(differences: Floats, clusters: Integers | None) -> _Changes:
    sums, differing = differences, differences != 0
    if clusters is not None:
        sums, _ = cluster_sums(differences, clusters)
        differing = cluster_sums(np.abs(differences), clusters)[0] > 0
    one_sided = bool((sums >= 0).all() or (sums <= 0).all())
    return _Changes(int(differing.sum()), len(sums), one_sided)


def _reach(unseen: float, confidence: float) -> float:
    """Return how far unseen units may move a mean, at most with this probability."""
    return unseen * unseen_units(1 - confidence)


def _reaching(
    intervals: Intervals, mean: float, unseen: float, confidence: float
) -> Interval:
    """Return an interval that holds what unseen changes may make of a mean."""
    found = intervals(confidence)
    if found.low is None or found.high is None:
        return found
    reach = _reach(unseen, confidence)
    return found._replace(
        low=max(-1.0, min(found.low, mean - reach)),
        high=min(1.0, max(found.high, mean + reach)),
    )


def _as_wide(intervals: Intervals, skewed: Intervals, confidence: float) -> Interval:
    """Return an interval that holds that of skewed differences, where they are."""
    found, other = intervals(confidence), skewed(confidence)
    if "skewed" not in other.method or found.low is None or found.high is None:
        return found
    assert other.low is not None
    assert other.high is not None
    return found._replace(
        low=max(-1.0, min(found.low, other.low)),
        high=min(1.0, max(found.high, other.high)),
    )


def agreeing(tested: Significance, intervals: Intervals) -> Significance:
    """Return a test that rejects at no level at which an interval holds zero.

    Flipped signs take differences for symmetric. Where 2 % of 200 are large losses,
    and the others small gains, they give p below .05 in 8 % of samples without any
    difference.

    Args:
        tested: A test that no difference is zero on average.
        intervals: The interval of the difference, by confidence.

    Returns:
        The test, or one whose p-value is the least level at which the interval does not
        hold zero, where that is more.
    """
    low, high = max(tested.p_value, _LEAST_LEVEL), 1.0
    if _has_no_zero(intervals, low):
        return tested
    for _ in range(_HALVINGS):
        middle = math.sqrt(low * high)
        low, high = (low, middle) if _has_no_zero(intervals, middle) else (middle, high)
    return tested._replace(p_value=high, at_most=False)


def _has_no_zero(intervals: Intervals, level: float) -> bool:
    found = intervals(1 - level)
    if found.low is None or found.high is None:
        return False
    return found.low > 0 or found.high < 0
