"""Columns of robustness and fairness beside those of accuracy."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from evalkit_analysis_suites.records import Cell, Member

if TYPE_CHECKING:
    from evalkit_analysis_suites.records import Board

FAMILY = "family:"


def with_worst_cases(board: Board) -> Board:
    """Add the worst-case scores of perturbed examples beside each dataset.

    Args:
        board: The leaderboard.

    Returns:
        It with a column for each dataset and family of perturbations, such as
        `film (robustness)`: the mean of the least favorable score of each example and
        its perturbed ones. Other columns do not change.
    """
    root = _beside(board.root)
    if [*root.walk()] == [*board.root.walk()]:
        notice = "no worst-case scores: no run was evaluated with perturbed examples"
        return board._replace(notices=(*board.notices, notice))
    return board._replace(root=root)


def _beside(member: Member) -> Member:
    children = [
        column
        for child in member.children
        for column in (
            [_beside(child)] if child.children else [child, *_worst_cases(child)]
        )
    ]
    return member._replace(children=tuple(children))


def _worst_cases(dataset: Member) -> list[Member]:
    families: dict[str, dict[str, Cell]] = {}
    for model, cell in dataset.cells.items():
        for family, worst in _cells(cell).items():
            families.setdefault(family, {})[model] = worst
    *above, name = dataset.path
    return [
        Member(shown, (*above, shown), families[family])
        for family in sorted(families)
        for shown in [f"{name} ({family})"]
    ]


def _cells(cell: Cell) -> Mapping[str, Cell]:
    """Return the worst cases of a score, by family."""
    from evalkit_analysis_robustness import find_effects

    return {
        str(score.perturbation).removeprefix(FAMILY): Cell(score, cell.runs, 1)
        for run in cell.runs
        for score in find_effects(run).scores
        if score.computed_on == "worst-of-all"
        and (score.metric, score.tag) == (cell.score.metric, cell.score.tag)
    }
