"""Predictions in parts: read by core as blocks, and written into buckets."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl

from evalkit.base.ids import REPLICATION_KEY, RESPONSE_ID_KEYS, read_id
from evalkit.errors import DataError
from evalkit.places import join
from evalkit.predictions.kept_responses import keep_responses
from evalkit.predictions.preparation import Predictions, changed_by, read_responses
from evalkit.predictions.responses import ResponseReader
from evalkit.reading.formats import Format, detect_format
from evalkit.reading.rows import Block, Row
from evalkit.runs.folders import RESPONSES_FILE
from evalkit_engines_dask.buckets import Rows, bucket_of, rows_by_bucket
from evalkit_engines_dask.data import answers_of
from evalkit_engines_dask.plan import Task
from evalkit_engines_dask.store import attempt, load, save, written


class ResponsePart(NamedTuple):
    """What a part of the predictions holds."""

    rows: int
    last: int
    """Number of its last line."""
    files: Mapping[int, str]
    """Files of lists of `Piece`, by bucket."""
    undeclared: Counter[str]
    kept: dict[str, str]
    """File of the rows as they came, by its name in the run; empty for none."""


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

    def at(self, rows: Rows) -> Piece:
        """Return some rows; the numbers of the others follow those of the frame."""
        height = self.frame.height
        columns, others = rows[rows < height], rows[rows >= height] - height
        places = enumerate(columns.tolist() if self.exact else ())
        return Piece(
            self.frame[columns] if height else self.frame,
            self.lines[columns],
            {place: self.exact[row] for place, row in places if row in self.exact},
            [self.others[row] for row in others.tolist()],
        )


def read_part(task: Task, number: int, predictions: Predictions) -> ResponsePart:
    """Read a part of the predictions, and write its rows into buckets."""
    plan = task.load()
    reader = plan.reader(plan.survey.examples)
    undeclared: Counter[str] = Counter()
    pieces, count, last = defaultdict[int, list[Piece]](list), 0, 0
    for block in _read(task, predictions, reader):
        undeclared.update(block.undeclared)
        exact = _exact_rows(block, reader) if block.frame.height else {}
        piece = Piece(block.frame, block.lines, exact, [*block.rows])
        ids = _ids_of(piece.frame, piece.others, reader)
        for bucket, rows in rows_by_bucket(ids, task.buckets).items():
            pieces[bucket].append(piece.at(rows))
        lines = (row.line for row in piece.others)
        last = max(last, int(piece.lines.max(initial=0)), *lines)
        count += len(ids)
    folder = attempt(f"{task.folder}/responses/{number}")
    files = {n: save(task.store, f"{folder}/{n}", own) for n, own in pieces.items()}
    kept = keep_part(task, number, predictions)
    return ResponsePart(count, last, files, undeclared, kept)


def _read(
    task: Task, predictions: Predictions, reader: ResponseReader
) -> Iterable[Block]:
    plan = task.load()
    ids = plan.survey.examples.frame["id"]
    if isinstance(predictions, Path) and detect_format(predictions) is Format.PLAIN:
        ids = answers_of(task, plan.survey)["id"]
    return read_responses(changed_by(predictions, plan.asked.stage), reader, ids)


def bucket_blocks(
    task: Task,
    bucket: int,
    files: Sequence[tuple[int, str | Path]],
    reader: ResponseReader,
) -> Iterator[Block]:
    """Read the responses of a bucket; numbers are added to the lines of each file."""
    for start, file in files:
        if isinstance(file, str):
            yield from (piece.block(start) for piece in load(task.store, file))
            continue
        for block in _read(task, file, reader):
            rows = [*block.rows]
            ids = _ids_of(block.frame, rows, reader).drop_nulls()
            buckets = bucket_of(ids, task.buckets)
            for n in np.flatnonzero(buckets != bucket).tolist():
                raise DataError(
                    f"{file}: the id {ids[n]!r} is of bucket {buckets[n]}, expected "
                    f"{bucket}, as of bucketed files. Leave out bucketed, or write "
                    "them anew"
                )
            yield block._replace(rows=rows).moved(start)


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


def _ids_of(
    frame: pl.DataFrame, rows: Sequence[Row], reader: ResponseReader
) -> pl.Series:
    """Return the ids of rows as they are matched; null for one without a usable id."""
    responses = (reader.adapters.adapt(row.values or {}).response for row in rows)
    found = (read_id(response, RESPONSE_ID_KEYS) for response in responses)
    texts = [uid if isinstance(uid, str) else None for uid in found]
    others = pl.Series("id", texts, pl.String)
    return pl.concat([frame["id"], others]) if frame.height else others


def keep_part(task: Task, number: int, given: Predictions) -> dict[str, str]:
    """Write the rows as they came, where the run holds them."""
    plan, kept = task.load(), None
    if plan.writes and plan.asked.options.include_examples:
        kept = keep_responses(given)  # type: ignore[arg-type]
    return {} if kept is None else write_table(task, number, RESPONSES_FILE, kept)


def write_table(
    task: Task, number: int, name: str, table: pl.DataFrame
) -> dict[str, str]:
    """Write a table of a part; return its place in the store by that in the run."""
    file = attempt(f"{task.folder}/tables/{number}/{name}")
    with written(task.store, file) as path:
        table.write_parquet(path, compression_level=1, statistics=False)
    return {f"parts/{number:05}/{name}": join(task.store, file)}
