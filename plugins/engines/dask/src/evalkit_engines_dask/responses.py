"""Predictions in parts: read by core as blocks, and written into buckets."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl

from evalkit.base.ids import REPLICATION_KEY, RESPONSE_ID_KEYS, read_id
from evalkit.examples.table import Examples
from evalkit.predictions.kept_responses import keep_responses
from evalkit.predictions.preparation import Predictions, changed_by, read_responses
from evalkit.predictions.responses import ResponseReader
from evalkit.reading.formats import Format, detect_format
from evalkit.reading.rows import Block, Row
from evalkit_engines_dask.buckets import Rows, bucket_of, write_buckets
from evalkit_engines_dask.data import answers_of, refuse_other_buckets
from evalkit_engines_dask.plan import Plan, Task
from evalkit_engines_dask.sources import on_this_machine
from evalkit_engines_dask.store import attempt, load, written


class ResponsePart(NamedTuple):
    """What a part of the predictions holds."""

    rows: int
    last: int
    """Number of its last line."""
    files: Mapping[int, str]
    """Files of pieces, by bucket: lists of `Piece`."""
    undeclared: Counter[str]
    kept: str | None
    """File of the rows as they came; None where a run does not keep them."""


class Piece(NamedTuple):
    """What a block has of a bucket."""

    frame: pl.DataFrame
    lines: Rows
    exact: Mapping[int, Row]
    """Rows of the frame as they came, where columns may have lost something."""
    others: Sequence[Row]
    """Rows that are no columns."""

    def block(self, offset: int) -> Block:
        """Return it as core reads it, its lines moved by an offset."""
        return Block(self.frame, self.lines, self._row_at, self.others).moved(offset)

    def _row_at(self, index: int) -> Row:
        if index in self.exact:
            return self.exact[index]
        values = self.frame.row(index, named=True)
        kept = {name: value for name, value in values.items() if value is not None}
        return Row(int(self.lines[index]), kept)


def reader_of(plan: Plan, examples: Examples) -> ResponseReader:
    """Return what reads responses to some examples."""
    asked = plan.asked
    bound = asked.task, asked.dataset, examples
    return ResponseReader(*bound, plan.fields, asked.answers)


def read_part(task: Task, number: int, predictions: Predictions) -> ResponsePart:
    """Read a part of the predictions, and write its rows into buckets.

    Args:
        task: What the task needs.
        number: Number of the part.
        predictions: The part of a file, or rows.

    Returns:
        What it holds.

    Raises:
        DataError: It cannot be read.
    """
    plan = task.load()
    assert plan.survey is not None
    if isinstance(predictions, Path):
        predictions = on_this_machine(predictions)
    known = plan.survey.examples
    reader = reader_of(plan, known)
    undeclared: Counter[str] = Counter()
    pieces = []
    for block in _read(task, predictions, reader):
        undeclared.update(block.undeclared)
        exact = _exact_rows(block, reader) if block.frame.height else {}
        pieces.append(Piece(block.frame, block.lines, exact, [*block.rows]))
    ids = [
        pl.concat([_ids_of_columns(each), _ids_of_rows(each.others, reader)])
        for each in pieces
    ]
    buckets = [bucket_of(each, task.buckets) for each in ids]
    starts = np.cumsum([0, *map(len, ids)])

    def chosen(rows: Rows) -> list[Piece]:
        places = np.split(rows, np.searchsorted(rows, starts[1:-1]))
        return [
            _some(piece, rows - start)
            for piece, rows, start in zip(pieces, places, starts, strict=False)
            if len(rows)
        ]

    lines = [int(each.lines.max(initial=0)) for each in pieces]
    lines += [row.line for each in pieces for row in each.others]
    bucket = np.concatenate([np.empty(0, np.int64), *buckets])
    return ResponsePart(
        int(starts[-1]),
        max(lines, default=0),
        write_buckets(task.store, f"{task.folder}/responses/{number}", bucket, chosen),
        undeclared,
        keep_part(task, number, predictions),
    )


def _read(
    task: Task, predictions: Predictions, reader: ResponseReader
) -> Iterable[Block]:
    plan = task.load()
    assert plan.survey is not None
    ids = plan.survey.examples.frame["id"]
    if isinstance(predictions, Path) and detect_format(predictions) is Format.PLAIN:
        ids = answers_of(task, plan.survey, is_all=True)["id"]
    return read_responses(changed_by(predictions, plan.asked.stage), reader, ids)


def bucketed_blocks(
    task: Task, bucket: int, file: Path, reader: ResponseReader
) -> Iterator[Block]:
    """Read a file of predictions that holds one bucket."""
    for block in _read(task, file, reader):
        if block.frame.height:
            ids = block.frame["id"]
            refuse_other_buckets(file, ids, bucket_of(ids, task.buckets), bucket)
        rows = [*block.rows]
        ids = _ids_of_rows(rows, reader)
        known = ids.is_not_null()
        buckets = bucket_of(ids.filter(known), task.buckets)
        refuse_other_buckets(file, ids.filter(known), buckets, bucket)
        yield block._replace(rows=rows)


def _exact_rows(block: Block, reader: ResponseReader) -> dict[int, Row]:
    """Return the rows of a block that have to be judged as they came."""
    frame = block.frame
    if reader.answers is None:
        is_safe = reader.accept(frame)
    else:  # what is accepted is known once the answers were taken out
        names = [] if reader.plan is None else [*reader.plan.columns]
        given = [frame[name].is_not_null().alias(name) for name in names]
        is_safe = pl.DataFrame(given).select(pl.all_horizontal(pl.all())).to_series()
    for name in ("id", REPLICATION_KEY):
        if name in frame.columns:
            is_safe &= (frame[name].str.len_bytes() > 0).fill_null(name != "id")
    return {index: block.row_at(index) for index in (~is_safe).arg_true().to_list()}


def _ids_of_columns(piece: Piece) -> pl.Series:
    if not piece.frame.height:
        return pl.Series("id", [], pl.String)
    return piece.frame["id"]


def _ids_of_rows(rows: Sequence[Row], reader: ResponseReader) -> pl.Series:
    """Return the ids of rows as they are matched; null for one without a usable id."""
    ids = []
    for row in rows:
        response = reader.adapters.adapt(row.values or {}).response
        found = read_id(response, RESPONSE_ID_KEYS)
        ids.append(found if isinstance(found, str) else None)
    return pl.Series("id", ids, pl.String)


def _some(piece: Piece, rows: Rows) -> Piece:
    """Return some rows of a piece: first those of the frame, then the others."""
    height = piece.frame.height
    columns, others = rows[rows < height], rows[rows >= height] - height
    exact = {
        place: piece.exact[row]
        for place, row in enumerate(columns.tolist() if piece.exact else ())
        if row in piece.exact
    }
    frame = piece.frame[columns] if height else piece.frame
    listed = [piece.others[row] for row in others.tolist()]
    return Piece(frame, piece.lines[columns], exact, listed)


def keep_part(task: Task, number: int, given: Predictions) -> str | None:
    """Write the rows as they came, where the run keeps them."""
    kept = keep_responses(given) if task.load().keeps_responses else None  # type: ignore[arg-type]
    if kept is None:
        return None
    name = attempt(f"{task.folder}/kept/{number}")
    with written(task.store, name) as path:
        kept.write_parquet(path, compression_level=1, statistics=False)
    return name


def bucket_blocks(
    task: Task, files: Sequence[tuple[int, str | Path]]
) -> Iterator[Block]:
    """Read the responses of a bucket; offsets are added to the lines of each file."""
    for offset, file in files:
        pieces: list[Piece] = load(task.store, str(file))
        yield from (piece.block(offset) for piece in pieces)
