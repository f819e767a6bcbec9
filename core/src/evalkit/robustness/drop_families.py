"""Adjusts drops under perturbation for all that are read together in one table.

A family is one metric's drops of the whole set under all perturbations, those under all
families of perturbations, or those of all tags under one perturbation or family. Within
it p-values and intervals are adjusted as those of compared models are
(`evalkit.comparing.judging`), so that they agree with each other.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from evalkit.comparing.differences import Difference
from evalkit.comparing.judging import judge
from evalkit.perturbing.columns import FAMILY
from evalkit.runs.score_columns import Score, plain_number


class TestedScore(NamedTuple):
    """A score under perturbation, and the test of a drop."""

    score: Score
    tested: Difference | None = None
    """None of what is no drop, or cannot be tested."""


def adjust(found: Iterable[TestedScore], confidence: float) -> Iterator[TestedScore]:
    """Adjust the drops of tags under one perturbation or family.

    Args:
        found: Its scores by one metric.
        confidence: Probability of the intervals; 1 less it is the level of the tests.

    Returns:
        The same scores, of which drops of tags have adjusted p-values and intervals and
        no test any more.
    """
    listed = list(found)
    yield from _adjusted(listed, confidence, whole=False)


def adjust_whole(found: Sequence[TestedScore], confidence: float) -> list[Score]:
    """Adjust the drops of the whole set, under perturbations and under families.

    Args:
        found: All scores by one metric under all perturbations.
        confidence: Probability of the intervals; 1 less it is the level of the tests.

    Returns:
        The scores, of which drops of the whole set have adjusted p-values and
        intervals.
    """
    return [each.score for each in _adjusted(found, confidence, whole=True)]


def _adjusted(
    found: Sequence[TestedScore], confidence: float, *, whole: bool
) -> Iterator[TestedScore]:
    sizes: dict[tuple[str, bool], int] = {}
    for score, tested in found:
        if tested is not None and (score.tag is None) == whole:
            sizes[_family(score)] = sizes.get(_family(score), 0) + 1
    for score, tested in found:
        if tested is None or (score.tag is None) != whole:
            yield TestedScore(score, tested)
        else:
            size = sizes[_family(score)]
            yield TestedScore(_judged(score, tested, size, confidence))


def _family(score: Score) -> tuple[str, bool]:
    """Tell what a drop is read with: those of a metric, families apart."""
    return score.metric, str(score.perturbation).startswith(FAMILY)


def _judged(score: Score, found: Difference, size: int, confidence: float) -> Score:
    judged = judge(found, size, confidence, None)
    tested = found.tested
    return score._replace(
        reason=score.reason or found.reason,
        p_value=None if tested is None else tested.p_value,
        p_adjusted=judged.p_value,
        p_method=None if tested is None else tested.method,
        p_at_most=None if tested is None else tested.at_most,
        ci_low_adjusted=plain_number(judged.interval.low),
        ci_high_adjusted=plain_number(judged.interval.high),
        family_size=size,
        different=judged.different,
    )
