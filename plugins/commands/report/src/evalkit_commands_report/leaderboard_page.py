"""A leaderboard as one self-contained HTML page."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from evalkit_commands_report.leaderboard_columns import (
    MODEL,
    column_key,
    column_name,
    columns_of,
    explanations,
    notices_of,
    show_parts,
    show_ranks,
    sorted_column,
)
from evalkit_commands_report.markup import (
    Child,
    Markup,
    asset,
    element,
    fragment,
    make_document,
    table,
)

if TYPE_CHECKING:
    from evalkit import Result
    from evalkit_analysis_ratings.records import Cell, Ranks
    from evalkit_analysis_suites.records import Board, Member


FEW_NOTICES = 10
"""Number of notices up to which a page shows them unfolded."""


def board_page(board: Board, depth: int | None = 1) -> str:
    """Return a self-contained page with a leaderboard."""
    title, notices = f"Leaderboard {board.name}".rstrip(), notices_of(board)
    folded = element(
        "details",
        element("summary", f"Notices ({len(notices)})"),
        _list(notices),
        open=len(notices) <= FEW_NOTICES,
    )
    article = element(
        "article",
        element("h1", title),
        board_table(board, depth),
        _list(explanations(board, depth)),
        folded if notices else None,
        class_="board",
    )
    says = "from the records of the runs. The page loads nothing."
    return make_document(title, article, says=says, script=asset("leaderboard.js"))


def _list(notes: Sequence[str]) -> Markup:
    return element("ul", [element("li", note) for note in notes], class_="notices")


def board_table(
    board: Board,
    depth: int | None = 1,
    link: Callable[[Result], str] | None = None,
    link_model: Callable[[str], Child] = str,
) -> Markup:
    """Return the table of a leaderboard, which `leaderboard.js` makes sortable.

    Args:
        board: The leaderboard.
        depth: Number of levels below the total; None for all.
        link: Returns the address of a run, to which the score of a dataset is linked.
        link_model: Returns what stands for a model.
    """
    columns = columns_of(board, depth)
    header: list[Child] = [MODEL]
    rows: list[list[Child]] = [[link_model(model)] for model in board.models]
    order = {0: "ascending"} if sorted_column(board) == MODEL else {}
    for column in columns:
        name = column_name(board, column)
        if column_key(board, column) == sorted_column(board):
            is_best_low = "low" in map(_best, column.cells.values())
            order = {len(header): "ascending" if is_best_low else "descending"}
        rank = fragment("rank", element("span", f" by {name}", class_="unseen"))
        header += [name, rank] if column.ranks else [name]
        for model, row in zip(board.models, rows, strict=True):
            row.append(_score(column, model, link))
            if column.ranks:
                row.append(_ranks(column.ranks.get(model)))
    title = f"Leaderboard {board.name}".rstrip()
    return table(header, rows, caption=title, class_="board", order=order)


def _score(column: Member, model: str, link: Callable[[Result], str] | None) -> Markup:
    shown, *beside = show_parts(column, model)
    value: Child = shown
    cell = column.cells.get(model)
    if cell is not None and cell.score.value is not None:
        value = element("data", shown, value=cell.score.value, data_best=_best(cell))
        if link is not None and cell.runs and not column.children:
            value = element("a", value, href=link(cell.runs[0]))
    return fragment(value, [element("small", " ", part) for part in beside])


def _best(cell: Cell) -> str | None:
    return "low" if cell.score.higher_is_better is False else None


def _ranks(ranks: Ranks | None) -> Child:
    shown = show_ranks(ranks)
    if ranks is None:
        return shown
    return element("data", shown, value=ranks.best, data_best="low")
