"""The columns of a leaderboard as people read them, and the notes below the table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from evalkit.reporting import count_of
from evalkit_analysis_ratings.records import Cell
from evalkit_analysis_suites.board import sort_key
from evalkit_analysis_suites.records import Member
from evalkit_cli.commanding import NO_VALUE, score_label, show_interval, show_value

if TYPE_CHECKING:
    from evalkit import Score
    from evalkit_analysis_ratings.records import Ranks
    from evalkit_analysis_suites.records import Board

MEAN, MODEL = "mean", "model"
"""Columns that every leaderboard can be sorted by."""

_METHODS = {
    "win-rate": "% of the other models that the model beats, on average; a tie counts "
    "half",
    "mean-rank": "rank averaged over the columns; lower is better",
    "dynascore": "weighted mean of metrics, each converted into the main one (Ma et "
    "al. 2021)",
    "elo": "rating by pairwise verdicts; a lead of 400 is odds of 10 to 1",
    "bradley-terry": "log strength by pairwise verdicts (Bradley and Terry 1952)",
    "length-controlled": "win rate if all responses were equally long (Dubois et al. "
    "2024)",
}
"""Explanations of ratings."""
_WIN_RATE_OF_VERDICTS = (
    "% of verdicts won, averaged over the other models, or against the reference; a "
    "tie counts half"
)

_OVER_COLUMNS = ("win-rate", "mean-rank")
"""Ratings whose `n` is a number of columns."""

_INTERVALS = {
    "mover": "intervals of means: MOVER, which takes datasets as independent",
    "joint-bootstrap": "intervals of means of shared examples: joint bootstrap",
}
"""Explanations of intervals of means."""


def columns_of(board: Board, depth: int | None = 1) -> list[Member]:
    """Return the columns of the table of a leaderboard.

    Args:
        board: The leaderboard.
        depth: Number of levels below the total; None for all.

    Returns:
        The total, the rating, and the members of these levels. A dataset without runs
        is left out, and without a suite a mean without a value; `notices_of` says why.
    """
    return [
        column
        for column in all_columns(board)[_is_of_one(board) :]
        if (depth is None or len(column.path) <= depth or not column.datasets)
        and (_has_values(column) or (board.name and column.cells))
    ]


def _is_of_one(board: Board) -> bool:
    """Tell whether the total is that of the only dataset."""
    return not board.name and board.root.datasets == 1


def all_columns(board: Board) -> list[Member]:
    """Return all members, the rating as a member of no datasets after the total."""
    root, *members = board.root.walk()
    if board.rating is None:
        return [root, *members]
    method, scores, ranks = board.rating
    cells = {model: Cell(score, (), 0) for model, score in scores.items()}
    return [root, Member(method, (method,), cells, 0, ranks), *members]


def _has_values(member: Member) -> bool:
    values = [cell.score.value for cell in member.cells.values()]
    return bool(values) and (values.count(None) < len(values) or not member.children)


def column_name(board: Board, member: Member) -> str:
    """Return the header of a column, with the metric if these differ."""
    name = column_key(board, member)
    metrics = {score_label(cell.score) for cell in _dataset_cells(board.root)}
    if member.children or not member.datasets or len(metrics) < 2:
        return name
    own = dict.fromkeys(score_label(cell.score) for cell in _dataset_cells(member))
    return f"{name}: {' or '.join(own)}" if own else name


def _dataset_cells(member: Member) -> Iterator[Cell]:
    """Yield the cells of all datasets that have a value."""
    for each in member.walk():
        if not each.children:
            cells = each.cells.values()
            yield from (cell for cell in cells if cell.score.value is not None)


def sort_keys(board: Board) -> dict[str, Mapping[str, Cell]]:
    """Return the cells of what models can be sorted by; names have none."""
    columns = [column for column in all_columns(board) if column.cells]
    return {**{column_key(board, each): each.cells for each in columns}, MODEL: {}}


def column_key(board: Board, member: Member) -> str:
    """Return the one of `sort_keys` that is a column's."""
    return "/".join(member.path) or board.name or MEAN


def sort_models(board: Board, by: str) -> Board:
    """Sort models by one of `sort_keys`: best first, those without a score last."""
    scores = {model: cell.score for model, cell in sort_keys(board)[by].items()}
    models = sorted(board.models, key=lambda model: sort_key(model, scores.get(model)))
    return board._replace(models=tuple(models), sorted_by=by)


def sorted_column(board: Board) -> str:
    """Return the one of `sort_keys` by which a leaderboard is sorted."""
    if board.sorted_by != MEAN:
        return board.sorted_by
    return column_key(
        board, board.root.children[0] if _is_of_one(board) else board.root
    )


def show_parts(member: Member, model: str) -> tuple[str, ...]:
    """Return the value of a cell, its interval and its coverage, if it has them."""
    cell = member.cells.get(model)
    if cell is None:
        return (NO_VALUE,)
    parts = [show_value(cell.score, with_unit=False)]
    if cell.score.value is not None and cell.score.ci is not None:
        is_dataset = cell.runs and not member.children
        bounds = cell.runs[0].record.bounds if is_dataset else {}
        parts.append(show_interval(cell.score, bounds))
    if 0 < cell.scored < member.datasets:
        parts.append(f"({cell.scored} of {member.datasets} datasets)")
    return tuple(parts)


def show_ranks(ranks: Ranks | None) -> str:
    """Return the ranks that a model may have: `1`, or `1–3`."""
    if ranks is None:
        return NO_VALUE
    return "–".join(map(str, dict.fromkeys(ranks)))


def board_rows(board: Board, depth: int | None = 1) -> list[list[str]]:
    """Return the table of a leaderboard: a header, and a row for each model."""
    header, rows = [MODEL], [[model] for model in board.models]
    for column in columns_of(board, depth):
        header += [column_name(board, column)] + ["rank"] * bool(column.ranks)
        for row in rows:
            shown = " ".join(show_parts(column, row[0]))
            ranks = show_ranks(column.ranks.get(row[0]))
            row += [shown, ranks] if column.ranks else [shown]
    return [header, *rows]


def explanations(board: Board, depth: int | None = 1) -> list[str]:
    """Explain the numbers of a leaderboard, in a line for each kind of column."""
    runs = [run for cell in _dataset_cells(board.root) for run in cell.runs]
    levels = {run.record.confidence for run in runs} or {board.confidence}
    shown = " and ".join(f"{100 * level:g} %" for level in sorted(levels))
    metrics = "".join(f"{metric}, " for metric in _metrics_by_unit(board))
    lines = [f"{metrics}with {shown} intervals; sorted by {sorted_column(board)}"]
    columns = columns_of(board, depth)
    means = [column for column in columns if column.children]
    if means and means[0].path == ():
        rule = f"total of the suite {board.name}" if board.name else "each dataset once"
        count, name = means[0].datasets, column_name(board, means[0])
        lines.append(f"{name}: {rule}, over {count_of(count, 'dataset')}")
    methods = {cell.score.ci_method for each in means for cell in each.cells.values()}
    lines += [text for method, text in _INTERVALS.items() if method in methods]
    if board.rating is not None:
        method = board.rating.method
        text = _METHODS[method]
        if method == "win-rate" and not board.root.datasets:
            text = _WIN_RATE_OF_VERDICTS
        lines.append(f"{method}: {text}")
    if any(column.ranks for column in columns):
        lines.append(
            "rank: range of the true rank; all ranges of a column hold at once with "
            f"{100 * board.confidence:g} % confidence"
        )
    return lines


def _metrics_by_unit(board: Board) -> list[str]:
    """List the metrics of all datasets, each after those of the same unit."""
    metrics: dict[str, dict[str, None]] = {}
    for cell in _dataset_cells(board.root):
        score = cell.score
        label = score_label(score)
        label += f" of {score.tag}" if score.tag else ""
        if score.perturbation:
            label += f" ({score.computed_on} under {score.perturbation})"
        label += " (lower is better)" if score.higher_is_better is False else ""
        metrics.setdefault(score.unit, {})[label] = None
    return [
        f"{', '.join(names)}{f' in {unit}' if unit else ''}"
        for unit, names in metrics.items()
    ]


def notices_of(board: Board) -> list[str]:
    """Return the notices of a leaderboard, and why numbers are missing or marked."""
    notices = [*board.notices]
    columns = [column for column in all_columns(board) if column.cells]
    unranked: dict[str, list[str]] = {}
    for column in columns:
        if column.no_ranks is not None:
            name = column_name(board, column)
            unranked.setdefault(column.no_ranks, []).append(name)
    notices += [f"{', '.join(own)}: no ranks: {why}" for why, own in unranked.items()]
    method, scores, _ = board.rating or ("", {}, {})
    if method in _OVER_COLUMNS and board.root.children:
        most = max(score.n for score in scores.values())
        notices += [
            f"{method}: {model} is rated on {score.n} of {most} columns"
            for model, score in scores.items()
            if score.n < most
        ]
    for column in columns:
        name = column_name(board, column)
        if column.datasets:
            own = {model: cell.score for model, cell in column.cells.items()}
            notices += [f"{name}: {remark}" for remark in _remarks(own, board)]
    of_rating = _remarks(scores, board) if len(board.models) > 1 else []
    return notices + [f"{method}: {remark}" for remark in of_rating]


def _remarks(scores: Mapping[str, Score], board: Board) -> list[str]:
    """Name the models without a value or an interval, or with a flag, by reason."""
    by_reason: dict[tuple[str, str], list[str]] = {}
    for model in filter(scores.__contains__, board.models):
        score = scores[model]
        lack = "no value" if score.value is None else "no interval"
        why = score.reason if score.ci is None else None
        for what, reason in (("*", score.flag), (lack, why)):
            if reason:
                by_reason.setdefault((what, reason), []).append(model)
    return [
        f"{what} for {', '.join(names)}: {reason}"
        for (what, reason), names in by_reason.items()
    ]
