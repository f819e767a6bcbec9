"""Records of a leaderboard: a tree of members, with a score of each for each model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from evalkit_analysis_ratings import Cell, Ranks, Rating


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
