"""The board of a task as JSON and as CSV, with numbers as they are computed."""

from __future__ import annotations

import csv
import io
from typing import Any

from evalkit_cli.commanding import for_csv
from evalkit_services_server.boards import Board, Cell, Column
from evalkit_services_server.ranking import Number, Ranked


def board_json(board: Board) -> dict[str, Any]:
    """Return a page of a board as JSON values."""
    return {
        "task": board.task["code"],
        "metric": board.metric,
        **board.scale._asdict(),
        "sorted_by": board.sort,
        "columns": [
            {
                "name": column.name,
                "dataset": column.dataset["name"],
                "version": column.dataset["version"],
                "round": column.dataset["round"],
                "access": column.dataset["access"],
                "tag": column.tag,
                "weight": column.weight,
            }
            for column in board.columns
        ],
        "models": [
            {
                "model": line.model["name"],
                **_ranked(line.total),
                "dynascore": line.dynascore and _ranked(line.dynascore),
                "scores": [
                    _cell(column, cell)
                    for column, cell in zip(board.columns, line.cells, strict=True)
                ],
            }
            for line in board.lines
        ],
        "page": board.filters.page,
        "pages": board.pages,
        "notices": list(board.notices),
    }


def board_csv(board: Board) -> str:
    """Return a page of a board as CSV, a row for each model and column."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    names = ("value", "ci_low", "ci_high", "n", "is_comparable", "reason", "run_id")
    writer.writerow(("model", "rank", "column", "dataset", "version", "metric", *names))
    for line in board.lines:
        for column, cell in zip(board.columns, line.cells, strict=True):
            found = _cell(column, cell)
            dataset = column.dataset["name"], column.dataset["version"]
            about = line.model["name"], line.total.rank, column.name, *dataset
            row = (*about, board.metric, *(found[name] for name in names))
            writer.writerow(map(for_csv, row))
    return stream.getvalue()


def _number(number: Number | None) -> dict[str, Any]:
    value, low, high = number or (None, None, None)
    return {"value": value, "ci_low": low, "ci_high": high}


def _ranked(ranked: Ranked) -> dict[str, Any]:
    own = {"rank": ranked.rank, "may_equal_best": ranked.is_tied}
    return {**_number(ranked.number), **own, "reason": ranked.reason or None}


def _cell(column: Column, cell: Cell) -> dict[str, Any]:
    return {
        "name": column.name,
        **_number(cell.number),
        "n": cell.n,
        "run_id": cell.run,
        "is_comparable": not cell.is_apart,
        "reason": cell.reason or None,
    }
