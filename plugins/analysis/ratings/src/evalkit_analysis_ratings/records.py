"""Scores, ranks and ratings of models."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from evalkit import Result, Score
from evalkit.statistics.intervals import Interval

NO_INTERVAL = Interval()


def make_score(interval: Interval = NO_INTERVAL, **fields: Any) -> Score:
    """Make a score of an interval and some fields; the others are empty."""
    plain = {"split": "", "computed_on": "all", "n": 0, "unit": "", "scale": 1.0}
    low, high, error, method, reason, _ = interval
    own = {"se": error, "ci_low": low, "ci_high": high, "ci_method": method}
    own["reason"] = reason
    return Score(**{**dict.fromkeys(Score._fields), **plain, **own, **fields})


class Ranks(NamedTuple):
    """The best and the worst rank that a model may have."""

    best: int
    worst: int


class Cell(NamedTuple):
    """The score of one model on a member of a suite."""

    score: Score
    """For a mean, `value` is null with the `reason` if it cannot be computed."""
    runs: tuple[Result, ...]
    """The runs that it is computed from."""
    scored: int
    """Number of datasets below the member, or of itself, that have a score."""


class Rating(NamedTuple):
    """A number that compares each model with the others."""

    method: str
    """Method, such as `win-rate`, `dynascore` or `bradley-terry`."""
    scores: Mapping[str, Score]
    """By model."""
    ranks: Mapping[str, Ranks] = {}
