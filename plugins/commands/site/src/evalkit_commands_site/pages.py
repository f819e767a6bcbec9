"""The start page, the pages of leaderboards, and the one that compares two runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from evalkit.reporting import count_of
from evalkit_commands_report.leaderboard_columns import (
    columns_of,
    explanations,
    notices_of,
)
from evalkit_commands_report.leaderboard_page import board_table
from evalkit_commands_report.markup import Markup, element
from evalkit_commands_site.frame import article, control, notes, section
from evalkit_commands_site.gathering import Collection, page_of

if TYPE_CHECKING:
    from evalkit import Result
    from evalkit_analysis_suites.records import Board


PREVIEW = 10
"""Models of a leaderboard on the start page."""


def board_name(board: Board) -> str:
    """Return what a leaderboard is called."""
    return board.name or "All datasets"


def board_page(board: Board) -> str:
    """Return the path of the page of a leaderboard."""
    return page_of("boards", board_name(board))


def start_page(
    collection: Collection, boards: Sequence[Board], reasons: Sequence[str]
) -> Markup:
    """Return the start page: leaderboards, and why others could not be made."""
    runs = count_of(len(collection.runs), "run")
    datasets = count_of(len(collection.datasets), "dataset")
    models = count_of(len(collection.models), "model")
    return article(
        "Leaderboards",
        [_preview(board) for board in boards],
        [element("p", reason, class_="warning") for reason in reasons],
        about=(
            element("a", runs, href="runs.html"),
            element("a", datasets, href="datasets.html"),
            element("a", models, href="models.html"),
        ),
    )


def _preview(board: Board) -> Markup:
    page, datasets = board_page(board), board.root.datasets
    best = board._replace(models=board.models[:PREVIEW])
    depth = 0 if datasets > 1 and columns_of(board, 0) else 1
    models = count_of(len(board.models), "model")
    more = f"All {models} and {count_of(datasets, 'dataset')}"
    return section(
        element("a", board_name(board), href=page),
        page,
        board_table(best, depth, link_model=_model_link("")),
        notes(explanations(board, depth)),
        element("p", element("a", more, href=page), class_="note"),
        class_="board",
    )


def _model_link(up: str) -> Callable[[str], Markup]:
    return lambda model: element("a", model, href=up + page_of("models", model))


def board_content(board: Board) -> Markup:
    """Return the page of a leaderboard, with all levels of its suite."""
    notices = notices_of(board)
    summary = element("summary", f"Notices ({len(notices)})")
    shown = board_table(board, None, _run_link, _model_link("../"))
    return article(
        board_name(board),
        element("div", shown, class_="board"),
        notes(explanations(board, None)),
        element("details", summary, notes(notices)) if notices else None,
    )


def _run_link(result: Result) -> str:
    return f"../{page_of('runs', result.record.fingerprint)}"


_CHOICES = (("Dataset", "dataset"), ("First run", "first"), ("Second run", "second"))


def compare_page() -> Markup:
    """Return the page of two runs, which the reader chooses; its script fills it."""
    controls = [control(label, name, "select") for label, name in _CHOICES]
    why = "The choice of two runs needs JavaScript. The pages of datasets need none."
    return article(
        "Compare two runs",
        element("noscript", element("p", why, class_="warning")),
        element("form", controls, class_="controls compare", hidden=True),
        element("p", "", class_="status", role="status"),
        element("div", "", id="comparison"),
    )
