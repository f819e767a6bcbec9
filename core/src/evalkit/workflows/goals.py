"""Checks what a plan is asked to achieve."""

from __future__ import annotations

import math
from numbers import Real

from evalkit.errors import EvalkitError
from evalkit.inference.sample_sizes import Goal
from evalkit.runs.score_columns import Score
from evalkit.workflows.score_spreads import ScoreVariance


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
