"""How many units (examples or clusters) a planned comparison needs for its goal."""

from __future__ import annotations

import math
from numbers import Real
from typing import NamedTuple

import numpy as np

from evalkit.errors import EvalkitError
from evalkit.inference.intervals import Floats
from evalkit.inference.student_t import t_quantile
from evalkit.runs.score_columns import Score
from evalkit_analysis_compare.cluster_power import (
    MOST_SIMULATED,
    UnitModel,
    clusters_for,
    degrees_of,
    detectable_with,
    least_units,
    level_of_flips,
)
from evalkit_analysis_compare.power import detectable_difference
from evalkit_analysis_compare.sample_sizes import (
    MOST_UNITS,
    Goal,
    detectable,
    pairs_for,
    units_beyond_unseen,
    units_for,
    unseen_units,
)
from evalkit_analysis_compare.score_spreads import Factors, ScoreVariance

_LEAST_POWER = 0.5
"""Power up to which Student's quantiles are not asked for."""

_MOST_STUDENT = 200
"""Units beyond which Guenther's correction says as much as Student's quantiles."""


class Needs(NamedTuple):
    """What a comparison needs under one supposition."""

    spread: ScoreVariance
    factors: Factors
    """What becomes of the spread of one model's scores."""
    answers: int | None
    """Answers per example; None for as many as there are."""
    goal: Goal

    def units(self, difference: float) -> int:
        """Count the units that a difference needs.

        Args:
            difference: What is to be found, as stored.

        Returns:
            The number, `MOST_UNITS` at most.
        """
        about = self._about(difference)
        if not self._is_simulated or about >= MOST_UNITS:
            return about
        goal = self.goal._replace(difference=difference)
        about = max(about, least_units(goal.level))
        return clusters_for(self._model(difference), goal, about)

    def detectable_now(self) -> float | None:
        """Return the least difference that as many units as now would find.

        Returns:
            The difference; None where even the greatest is not found often enough.
        """
        spread = self.spread
        now = spread.n if spread.clusters is None else spread.clusters
        most = 1.0 if spread.binary else 1e3 * math.sqrt(spread.variance)
        if not (spread.binary or spread.is_of_set) and self.goal.power > _LEAST_POWER:
            return self._detectable_mean(now)
        about = detectable(self._about, now, most)
        if not self._is_simulated or now > MOST_SIMULATED:
            return about
        near = most if about is None else about
        return detectable_with(self._model, self.goal, now, near, most)

    def disagreement(self, difference: float) -> float | None:
        """Return the share of examples that one model alone is right on.

        Args:
            difference: By how much the models differ.

        Returns:
            The share; None for scores that are not right or wrong.
        """
        spread = self.spread
        if not spread.binary:
            return None
        if spread.disagreement is not None:
            return max(spread.disagreement, difference)
        variance = self.factors.between * spread.variance
        return min(1.0, max(variance + difference**2, difference))

    @property
    def _is_simulated(self) -> bool:
        """Whether sets of right and wrong answers in clusters are drawn."""
        return self.spread.binary and self.spread.clusters is not None

    def _about(self, difference: float) -> int:
        """Count units by formulas, which of shares in clusters need many of them."""
        spread, goal = self.spread, self.goal._replace(difference=difference)
        unequal = self.disagreement(difference)
        if unequal is None:
            return self._of_mean(goal)
        pairs = pairs_for(goal, unequal)
        if spread.clusters is None or pairs >= MOST_UNITS:
            return pairs
        effect = spread.design_effect or 1.0
        return min(MOST_UNITS, math.ceil(pairs * effect / spread.cluster_size))

    def _of_mean(self, goal: Goal) -> int:
        """Count the units whose mean difference the test finds, with Student's t."""
        variance = self.spread.variance_of_unit(self.factors, self.answers)
        units = max(units_for(goal, variance), least_units(goal.level))
        if self.spread.is_share:
            units = max(units, units_beyond_unseen(goal, variance))
        if self.spread.is_of_set or goal.power <= _LEAST_POWER:
            return units
        while units <= _MOST_STUDENT:
            found = self._detectable_mean(units)
            if found is not None and found <= goal.difference:
                break
            units += 1
        return units

    def _detectable_mean(self, units: int) -> float | None:
        """Return the mean difference that some units find; None for too few."""
        if units < least_units(self.goal.level):
            return None
        variance = self.spread.variance_of_unit(self.factors, self.answers)
        degrees = degrees_of(self._sizes, self._correlation, units)
        level = level_of_flips(self.goal.level, units)
        error = math.sqrt(variance / units)
        found = detectable_difference(error, level, degrees, self.goal.power)
        if not self.spread.is_share:
            return found
        beyond = unseen_units(self.goal.level) / units
        return max(found, beyond + t_quantile(2 * self.goal.power - 1, degrees) * error)

    @property
    def _sizes(self) -> Floats:
        return np.array(self.spread.sizes or [1], dtype=np.float64)

    @property
    def _correlation(self) -> float:
        return min(1.0, self.spread.intraclass_correlation or 0.0)

    def _model(self, difference: float) -> UnitModel:
        unequal = self.disagreement(difference)
        assert unequal is not None
        return UnitModel(self._sizes, self._correlation, unequal)


def goal_of(
    score: Score, detect: float, tags: int, power: float, confidence: float
) -> Goal:
    """Check what is to be achieved.

    Args:
        score: The score that is planned for.
        detect: The difference that is to be found, as stored.
        tags: How many tests share the level.
        power: Probability of finding the difference.
        confidence: 1 less the level of all tests.

    Returns:
        The goal of one test.

    Raises:
        EvalkitError: One of them cannot be.
    """
    for name, share in (("confidence", confidence), ("power", power)):
        if not (isinstance(share, Real) and 0 < share < 1):
            raise EvalkitError(f"{name} must be between 0 and 1, is {share}")
    if not isinstance(tags, int) or tags < 1:
        raise EvalkitError(f"tags must be a whole number of at least 1, is {tags}")
    level = (1 - confidence) / tags
    if not level < power:
        raise EvalkitError(
            f"the level of the tests must be below the power, {power:g}, is {level:g} "
            f"with a confidence of {confidence:g}"
        )
    if not isinstance(detect, Real):
        raise EvalkitError(
            f"the difference to detect must be a number, is {detect!r}; two points of "
            "a proportion are 0.02"
        )
    if not (detect > 0 and math.isfinite(detect)):
        raise EvalkitError(f"the difference to detect must be above 0, is {detect}")
    if score.scale == 100 and detect >= 1:
        raise EvalkitError(
            f"{score.metric} is stored as 0 to 1, so that no difference is {detect:g}; "
            f"two points are 0.02"
        )
    return Goal(detect, level, power)


def refuse_more_than_there_is(score: Score, spread: ScoreVariance, goal: Goal) -> None:
    """Refuse a difference of shares that no other model can have from this one.

    Args:
        score: The score that is planned for.
        spread: Of its examples.
        goal: With the difference.

    Raises:
        EvalkitError: It is more than that between the share and 0 or 1.
    """
    value = float(score.value or 0.0)
    most = max(value, 1 - value)
    if spread.binary and goal.difference > most:
        raise EvalkitError(
            f"{score.metric} is {value:g} here: no model differs from it by "
            f"{goal.difference:g}, at most by {most:g}"
        )
