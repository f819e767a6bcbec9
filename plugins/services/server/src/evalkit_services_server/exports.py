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
    of_dataset = "version", "round", "access"
    return {
        "task": board.task["code"],
        "metric": board.metric,
        **board.scale._asdict(),
        "sorted_by": board.sort,
        "columns": [
            {"name": x.name, "dataset": x.dataset["name"], "tag": x.tag}
            | {"weight": x.weight, **{name: x.dataset[name] for name in of_dataset}}
            for x in board.columns
        ],
        "models": [
            {
                "model": line.model["name"],
                **_ranked(line.total),
                "dynascore": line.dynascore and _ranked(line.dynascore),
                "scores": [*map(_cell, board.columns, line.cells)],
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
            dataset, found = column.dataset, _cell(column, cell)
            about = line.model["name"], line.total.rank, column.name, dataset["name"]
            row = (*about, dataset["version"], board.metric, *map(found.get, names))
            writer.writerow(map(for_csv, row))
    return stream.getvalue()


def _ranked(ranked: Ranked) -> dict[str, Any]:
    own = {"rank": ranked.rank, "may_equal_best": ranked.is_tied}
    return {**_number(ranked.number), **own, "reason": ranked.reason or None}


def _cell(column: Column, cell: Cell) -> dict[str, Any]:
    about = {"n": cell.n, "run_id": cell.run, "is_comparable": not cell.is_apart}
    reason = {"reason": cell.reason or None}
    return {"name": column.name, **_number(cell.number), **about, **reason}


def _number(number: Number | None) -> dict[str, Any]:
    value, low, high = number or (None, None, None)
    return {"value": value, "ci_low": low, "ci_high": high}
