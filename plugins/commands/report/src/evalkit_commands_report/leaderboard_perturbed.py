"""Columns of robustness and fairness beside those of accuracy."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalkit_analysis_ratings.records import Cell
from evalkit_analysis_suites.records import Member

if TYPE_CHECKING:
    from evalkit_analysis_suites.records import Board


def with_worst_cases(board: Board) -> Board:
    """Add the worst-case scores of perturbed examples beside each dataset.

    Args:
        board: The leaderboard.

    Returns:
        It with a column for each dataset and family of perturbations, such as
        `film (robustness)`: the mean of the least favorable score of each example and
        its perturbed ones. Other columns do not change.
    """
    root = _with_worst_cases(board.root)
    if [*root.walk()] == [*board.root.walk()]:
        notice = "no worst-case scores of these metrics in the runs"
        return board._replace(notices=(*board.notices, notice))
    return board._replace(root=root)


def _with_worst_cases(member: Member) -> Member:
    children: list[Member] = []
    for child in member.children:
        children += [_with_worst_cases(child), *_worst_cases(child)]
    return member._replace(children=tuple(children))


def _worst_cases(member: Member) -> list[Member]:
    """Make a column for each family of perturbations of a dataset."""
    from evalkit_analysis_robustness import find_effects

    families: dict[str, dict[str, Cell]] = {}
    cells = {} if member.children else member.cells
    for model, (score, runs, _) in cells.items():
        for worst in (each for run in runs for each in find_effects(run).scores):
            key = worst.metric, worst.tag, worst.computed_on
            if key == (score.metric, score.tag, "worst-of-all"):
                family = str(worst.perturbation).removeprefix("family:")
                families.setdefault(family, {})[model] = Cell(worst, runs, 1)
    return [
        Member(name, (*member.path[:-1], name), cells)
        for family, cells in sorted(families.items())
        for name in [f"{member.name} ({family})"]
    ]
