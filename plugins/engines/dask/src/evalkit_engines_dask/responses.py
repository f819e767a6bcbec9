"""Predictions in parts: read by core as blocks, and written into buckets."""

from __future__ import annotations

import pickle
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from evalkit.base.columns import frame_of
from evalkit.base.ids import REPLICATION_KEY, RESPONSE_ID_KEYS, read_id
from evalkit.examples.table import Examples
from evalkit.predictions.kept_responses import keep_responses
from evalkit.predictions.preparation import Predictions, changed_by, read_responses
from evalkit.predictions.responses import ResponseReader
from evalkit.reading.rows import Block, Row
from evalkit_engines_dask.buckets import bucket_of, files_of, read_bucket, write_buckets
from evalkit_engines_dask.data import PART
from evalkit_engines_dask.plan import Plan, Task
from evalkit_engines_dask.store import attempt, written

_LINE, _ROW = "(line)", "(row)"


class ResponsePart(NamedTuple):
    """What a part of the predictions holds."""

    rows: int
    last: int
    """Number of its last line."""
    blocks: Mapping[int, str]
    """Files of the rows that are columns, by bucket."""
    odd: Mapping[int, str]
    """Files of the others."""
    undeclared: Counter[str]
    kept: str | None
    """File of the rows as they came; None where a run does not keep them."""


def reader_of(plan: Plan, examples: Examples) -> ResponseReader:
    """Return what reads responses to some examples."""
    asked = plan.asked
    return ResponseReader(
        asked.task, asked.dataset, examples, plan.fields, asked.answers
    )


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
    reader = reader_of(plan, plan.survey.examples)
    changed = changed_by(predictions, plan.asked.stage)
    frames: list[pl.DataFrame] = []
    odd: list[Row] = []
    undeclared: Counter[str] = Counter()
    for block in read_responses(changed, reader, plan.survey.examples.frame["id"]):
        undeclared.update(block.undeclared)
        if block.frame.height:
            frames.append(_columns(block, reader))
        odd += block.rows
    frame = pl.concat(frames, how="diagonal") if frames else pl.DataFrame()
    blocks = {}
    if frame.height:
        buckets = bucket_of(frame["id"], task.buckets)
        blocks = write_buckets(task.store, f"responses/{number}", frame, buckets)
    pickled = pl.DataFrame(
        {_LINE: [row.line for row in odd], _ROW: [*map(pickle.dumps, odd)]},
        {_LINE: pl.Int64, _ROW: pl.Binary},
    )
    ids = pl.Series([_id_of(row, reader) for row in odd], dtype=pl.String)
    lines = [frame[_LINE].max() if frame.height else 0, pickled[_LINE].max() or 0]
    return ResponsePart(
        frame.height + len(odd),
        max(map(int, lines)),  # type: ignore[arg-type]
        blocks,
        write_buckets(
            *(task.store, f"odd/{number}", pickled, bucket_of(ids, task.buckets))
        )
        if odd
        else {},
        undeclared,
        _keep(task, number, predictions, plan),
    )


def _columns(block: Block, reader: ResponseReader) -> pl.DataFrame:
    """Return the rows of a block with those rows as they came that columns may lose."""
    frame = block.frame
    if reader.answers is None:
        is_exact = reader.accept(frame)
    else:  # what is accepted is known once the answers were taken out
        planned = [pl.col(name).is_not_null() for name in reader.plan.columns]  # type: ignore[union-attr]
        is_exact = frame.select(pl.all_horizontal(planned)).to_series()
    for name in ("id", REPLICATION_KEY):
        if name in frame.columns:
            is_exact &= (frame[name].str.len_bytes() > 0).fill_null(name != "id")
    rows: list[bytes | None] = [None] * frame.height
    for index in (~is_exact).arg_true().to_list():
        rows[index] = pickle.dumps(block.row_at(index))
    given = pl.Series(_ROW, rows, dtype=pl.Binary)
    return frame_of([*frame.get_columns(), pl.Series(_LINE, block.lines), given])


def _id_of(row: Row, reader: ResponseReader) -> str | None:
    """Return the id of a row as it is matched; None for one without a usable id."""
    if row.values is None:
        return None
    found = read_id(reader.adapters.adapt(row.values).response, RESPONSE_ID_KEYS)
    return found if isinstance(found, str) else None


def _keep(task: Task, number: int, given: Predictions, plan: Plan) -> str | None:
    if not plan.keeps_responses:
        return None
    kept = keep_responses(given)  # type: ignore[arg-type]
    if kept is None:
        return None
    name = attempt(f"kept/{number}") + ".parquet"
    with written(task.store, name) as path:
        kept.write_parquet(path)
    return name


def bucket_blocks(
    task: Task, parts: Sequence[ResponsePart], offsets: Sequence[int], bucket: int
) -> Iterator[Block]:
    """Read the responses of a bucket, with the numbers of their lines in the whole."""
    starts = np.array(offsets, np.int64)
    for frame in read_bucket(
        task.store, files_of([part.blocks for part in parts], bucket), PART
    ):
        lines = frame[_LINE].to_numpy() + starts[frame[PART].to_numpy()]
        columns = frame.drop(_LINE, _ROW, PART)
        yield Block(columns, lines, partial(_row_at, columns, lines, frame[_ROW]))
    for frame in read_bucket(
        task.store, files_of([part.odd for part in parts], bucket), PART
    ):
        rows = zip(frame[PART], frame[_ROW], strict=True)
        loaded = [(offsets[n], pickle.loads(row)) for n, row in rows]
        yield Block(rows=[r._replace(line=r.line + first) for first, r in loaded])


def _row_at(
    frame: pl.DataFrame,
    lines: np.ndarray[Any, np.dtype[np.int64]],
    pickled: pl.Series,
    index: int,
) -> Row:
    """Return a row of a block as it came."""
    line, given = int(lines[index]), pickled[index]
    if given is not None:
        row: Row = pickle.loads(given)
        return row._replace(line=line)
    values = frame.row(index, named=True)
    return Row(line, {name: v for name, v in values.items() if v is not None})
