"""Compares the scores of a run with those that were computed again."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from evalkit import Score
from evalkit.runs.score_columns import COMPUTED

RELATIVE = 1e-9
"""Maximum relative difference of numbers that count as the same."""

ABSOLUTE = 1e-12
"""Maximum difference of numbers near 0 that count as the same."""


class Difference(NamedTuple):
    """A number that is not what the run says."""

    metric: str
    tag: str | None
    aggregate: str | None
    field: str
    stored: float | None
    computed: float | None
    perturbation: str | None = None
    computed_on: str = "all"


def find_differences(
    stored: Sequence[Score], computed: Sequence[Score]
) -> Iterator[Difference]:
    """Yield the numbers in which scores differ.

    Args:
        stored: The scores of the run.
        computed: The scores that were computed again.

    Yields:
        A difference for each number, also of a score that only one side has.
    """
    now = {_key(score): score for score in computed}
    for score in stored:
        again = now.pop(_key(score), None)
        for field in COMPUTED:
            before = getattr(score, field)
            after = None if again is None else getattr(again, field)
            if not _are_equal(before, after):
                yield _difference(score, field, before, after)
    for score in now.values():
        if score.value is not None:
            yield _difference(score, "value", None, score.value)


def _difference(
    score: Score, field: str, stored: float | None, computed: float | None
) -> Difference:
    metric, tag, aggregate, perturbation, computed_on = _key(score)
    return Difference(
        metric, tag, aggregate, field, stored, computed, perturbation, computed_on
    )


def _key(score: Score) -> tuple[str, str | None, str | None, str | None, str]:
    # the worst tag may be another one now: it is the same score with other numbers
    tag = None if score.aggregate else score.tag
    return score.metric, tag, score.aggregate, score.perturbation, score.computed_on


def _are_equal(first: float | None, second: float | None) -> bool:
    if first is None or second is None:
        return first is second
    return math.isclose(first, second, rel_tol=RELATIVE, abs_tol=ABSOLUTE)
