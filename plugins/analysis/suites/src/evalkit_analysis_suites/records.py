"""Records of a leaderboard: a tree of members, with a score of each for each model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
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
    """The score of one model on one member."""

    score: Score
    """For a mean, `value` is null with the `reason` if it cannot be computed."""
    runs: tuple[Result, ...]
    """The runs that it is computed from."""
    scored: int
    """Number of datasets below the member, or of itself, that have a score."""


class Member(NamedTuple):
    """A dataset, or a mean over members: a column of a leaderboard."""

    name: str
    path: tuple[str, ...]
    """Names of the members above it and its own; empty for the whole suite."""
    cells: Mapping[str, Cell]
    """By model. A model without a run of the dataset has no cell."""
    datasets: int = 1
    """Number of datasets below it; 1 for a dataset."""
    ranks: Mapping[str, Ranks] = {}
    """By model; empty if there are none."""
    no_ranks: str | None = None
    """Why there are no ranks."""
    children: tuple[Member, ...] = ()
    """Empty for a dataset."""

    def walk(self) -> Iterator[Member]:
        """Yield it and all members below it, each before its children."""
        yield self
        for child in self.children:
            yield from child.walk()


class Rating(NamedTuple):
    """A number that compares each model with the others."""

    method: str
    """Method, such as `win-rate`, `dynascore` or `bradley-terry`."""
    scores: Mapping[str, Score]
    """By model."""
    ranks: Mapping[str, Ranks] = {}


class Board(NamedTuple):
    """A leaderboard."""

    name: str
    """Name of the suite; empty for the plain mean over datasets."""
    root: Member
    models: tuple[str, ...]
    """Best first."""
    rating: Rating | None
    confidence: float
    notices: tuple[str, ...]
    """What was left out or kept apart, and why."""
    sorted_by: str = "mean"
    """`mean` of the whole suite, the method of the rating, `model`, or a member."""
