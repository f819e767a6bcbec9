"""The columns of a leaderboard as people read them, and the notes below the table."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from evalkit_analysis_suites.records import Cell, Member
from evalkit_cli.commanding import (
    NO_VALUE,
    score_label,
    show_coverage,
    show_interval,
    show_value,
)
from evalkit_commands_report.numbers import range_words

if TYPE_CHECKING:
    from evalkit import Score
    from evalkit_analysis_suites.records import Board, Ranks

MEAN, MODEL = "mean", "model"
"""Columns that every leaderboard can be sorted by."""

_METHODS = {
    "win-rate": "share of the other models that it scores better than, a tie as a "
    "half, on average over the columns that are rated",
    "mean-rank": "average rank over the columns that are rated; lower is better",
    "dynascore": "weighted mean of metrics, each converted into the main one (Ma et "
    "al. 2021)",
    "elo": "rating by pairwise verdicts; a lead of 400 is odds of 10 to 1",
    "bradley-terry": "strength by pairwise verdicts (Bradley and Terry 1952)",
}
"""Explanations of ratings."""


def columns_of(board: Board, depth: int | None = 1) -> list[Member]:
    """Return the columns of the table of a leaderboard.

    Args:
        board: The leaderboard.
        depth: Number of levels below the total; None for all.

    Returns:
        The total, the rating, and the members of these levels. A dataset without runs
        and a mean without a value are left out; `notices_of` says why.
    """
    is_plain = not board.name and len(board.root.children) == 1
    return [
        column
        for column in all_columns(board)[is_plain:]
        if (depth is None or len(column.path) <= depth or not column.datasets)
        and _has_values(column)
    ]


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
    name = "/".join(member.path) or board.name or MEAN
    metrics = {score_label(score) for score in _dataset_scores(board)}
    if member.children or not member.datasets or len(metrics) < 2:
        return name
    labels = dict.fromkeys(score_label(cell.score) for cell in member.cells.values())
    return f"{name}: {' or '.join(labels)}"


def _dataset_scores(board: Board) -> Iterator[Score]:
    for member in board.root.walk():
        if not member.children:
            yield from (cell.score for cell in member.cells.values())


def sort_models(board: Board, by: str) -> Board:
    """Sort the models of a leaderboard, the best first, those without a score last.

    Args:
        board: The leaderboard.
        by: `mean`, `model`, the method of the rating, or the name or path of a member.

    Raises:
        KeyError: It is none of these; the names that it may be.
    """
    columns = {"/".join(each.path) or MEAN: each for each in columns_of(board, None)}
    cells = {} if by == MODEL else columns[by].cells

    def order(model: str) -> tuple[bool, float, str]:
        score = cells[model].score if model in cells else None
        if score is None or score.value is None:
            return True, 0.0, model
        sign = 1 if score.higher_is_better is False else -1
        return False, sign * score.value, model

    return board._replace(models=tuple(sorted(board.models, key=order)), sorted_by=by)


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
    levels = " and ".join(f"{100 * level:g} %" for level in _levels(board))
    metrics = _metrics_by_unit(board)
    lines = [
        f"{metrics}{', ' * bool(metrics)}with {levels} intervals; "
        f"sorted by {board.sorted_by}"
    ]
    columns = columns_of(board, depth)
    if columns and columns[0].children:
        lines.append(_about_total(board, columns[0]))
    if board.rating is not None:
        method = board.rating.method
        lines.append(f"{method}: {_METHODS[method]}")
    if any(column.ranks for column in columns):
        lines.append(
            "rank: all ranks that the model may have; the ranges of a column hold "
            f"together with {100 * board.confidence:g} % confidence"
        )
    return lines


def _about_total(board: Board, total: Member) -> str:
    rule = f"total of the suite {board.name}" if board.name else "each counts once"
    methods = {cell.score.ci_method for cell in total.cells.values()}
    line = f"{column_name(board, total)}: over {total.datasets} datasets; {rule}"
    if "mover" in methods:
        line += "; its interval takes the datasets as independent (MOVER)"
    if any("bootstrap" in method for method in methods):
        line += "; its interval resamples the examples of all models together"
    return line


def _levels(board: Board) -> list[float]:
    """Return the levels of the intervals of all runs."""
    cells = [
        cell
        for member in board.root.walk()
        if not member.children
        for cell in member.cells.values()
    ]
    levels = {run.record.confidence for cell in cells for run in cell.runs}
    return sorted(levels) or [board.confidence]


def _metrics_by_unit(board: Board) -> str:
    """List the metrics of all datasets, each after those of the same unit."""
    metrics: dict[str, dict[str, None]] = {}
    for score in _dataset_scores(board):
        label = score_label(score)
        label += f" of {score.tag}" if score.tag else ""
        if score.perturbation:
            label += f" ({score.computed_on} under {score.perturbation})"
        label += " (lower is better)" if score.higher_is_better is False else ""
        metrics.setdefault(score.unit, {})[label] = None
    return ", ".join(
        f"{', '.join(names)}{f' in {unit}' if unit else ''}"
        for unit, names in metrics.items()
    )


def notices_of(board: Board) -> list[str]:
    """Return the notices of a leaderboard, and the reasons of scores that are missing.

    Scores that do not count all examples are named, too.
    """
    notices = [*board.notices]
    for member in board.root.walk():
        name = column_name(board, member)
        if member.no_ranks is not None:
            notices.append(f"{name}: no ranks: {member.no_ranks}")
        notices += [f"{name}: {gap}" for gap in _gaps(member)]
        if not member.children:
            for model, cell in member.cells.items():
                notices += [f"{model} on {name}: {said}" for said in _partial(cell)]
    return notices


def _gaps(member: Member) -> list[str]:
    """Name the models without a score or an interval, by reason."""
    models: dict[tuple[str, str], list[str]] = {}
    for model, cell in member.cells.items():
        score = cell.score
        if score.value is None or (score.ci is None and score.reason):
            what = "score" if score.value is None else "interval"
            models.setdefault((what, str(score.reason)), []).append(model)
    return [
        f"no {what} for {', '.join(names)}: {reason}"
        for (what, reason), names in models.items()
    ]


def _partial(cell: Cell) -> Iterator[str]:
    """Say which examples a score leaves out or counts as wrong."""
    share, between = show_coverage(cell.score)
    if share:
        rest = f"; with the rest {range_words(cell.score)}: {between}"
        yield f"{share} of the examples scored{rest if between else ''}"
    for run in cell.runs:
        statuses = {"missing", "invalid"}.intersection(run.record.policies.counted)
        counted = sum(run.counts[status] for status in statuses)
        if counted:
            yield (
                "missing or invalid predictions count as wrong: "
                f"{counted} of {run.counts['examples']}"
            )
