"""Compares the scores of a run with those that were computed again."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from evalkit.runs.score_columns import Score
from evalkit.workflows.recounts import COUNTED

RELATIVE = 1e-9
ABSOLUTE = 1e-12
"""How far from each other numbers may be that count as the same."""

COUNTS = "counts"
"""Stands for a metric where a count of the run is not that of its rows."""


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

    @property
    def is_count(self) -> bool:
        """Whether it is a count of the run, named by `field`, and no score."""
        return self.metric == COUNTS and self.field in COUNTED


def differences(
    stored: Sequence[Score], computed: Sequence[Score], fields: Sequence[str]
) -> Iterator[Difference]:
    """Say which scores of a run are not what was computed again.

    Args:
        stored: The scores of the run.
        computed: What was computed.
        fields: Names of the numbers that are compared.

    Yields:
        A difference for each number; for a score that only one side has, too.
    """
    now = {_key(score): score for score in computed}
    for score in stored:
        found = now.pop(_key(score), None)
        for field in fields:
            before = getattr(score, field)
            after = None if found is None else getattr(found, field)
            if not _equal(before, after):
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
    # the worst tag may be another one now: then it is the same score with other numbers
    tag = None if score.aggregate else score.tag
    return score.metric, tag, score.aggregate, score.perturbation, score.computed_on


def _equal(first: float | None, second: float | None) -> bool:
    if first is None or second is None:
        return first is second
    return math.isclose(first, second, rel_tol=RELATIVE, abs_tol=ABSOLUTE)
