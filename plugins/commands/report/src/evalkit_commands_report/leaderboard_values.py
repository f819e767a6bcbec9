"""A leaderboard as programs read it: JSON and rows of CSV, in full precision."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evalkit_commands_report.leaderboard_columns import (
    all_columns,
    column_name,
    notices_of,
)

if TYPE_CHECKING:
    from evalkit_analysis_suites.records import Board, Member

CSV_HEADER = (
    *("model", "kind", "name", "split", "metric", "tag", "value", "se", "ci_low"),
    *("ci_high", "ci_method", "n", "coverage", "rank_best", "rank_worst"),
    *("scored", "datasets", "reason", "run_id", "path"),
)


def as_json(board: Board) -> dict[str, Any]:
    """Return all levels of a leaderboard as JSON values."""
    columns = [(each, column_name(board, each)) for each in all_columns(board)]
    return {
        "suite": board.name or None,
        "confidence": board.confidence,
        "sorted_by": board.sorted_by,
        "columns": [
            {
                "kind": _kind(column),
                "name": name,
                "path": list(column.path),
                "datasets": column.datasets,
                "no_ranks": column.no_ranks,
            }
            for column, name in columns
        ],
        "models": [
            {
                "model": model,
                "scores": [
                    {"kind": _kind(column), "name": name, **_score(column, model)}
                    for column, name in columns
                    if model in column.cells
                ],
            }
            for model in board.models
        ],
        "notices": notices_of(board),
    }


def _kind(column: Member) -> str:
    if column.children:
        return "mean"
    return "dataset" if column.datasets else "rating"


def _score(column: Member, model: str) -> dict[str, Any]:
    cell, ranks = column.cells[model], column.ranks.get(model)
    return {
        **cell.score._asdict(),
        "rank_best": ranks and ranks.best,
        "rank_worst": ranks and ranks.worst,
        "scored": cell.scored,
        "datasets": column.datasets,
        "runs": [{"run_id": r.run_id, "path": str(r.path)} for r in cell.runs],
    }


def csv_rows(board: Board) -> list[list[object]]:
    """Return a header, and a row for each score of all levels."""
    rows: list[list[object]] = [list(CSV_HEADER)]
    for row in as_json(board)["models"]:
        for score in row["scores"]:
            run = score["runs"][0] if len(score["runs"]) == 1 else {}
            values = {"model": row["model"], **score, **run}
            rows.append([values.get(name) for name in CSV_HEADER])
    return rows
