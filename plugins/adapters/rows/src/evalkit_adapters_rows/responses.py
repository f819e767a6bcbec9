"""Predictions that adapters change as they are read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import polars as pl

from evalkit.catalog import Row, local_path
from evalkit.errors import DataError
from evalkit.examples.row_stages import ResponseColumns, names_texts
from evalkit.reading.file_parts import first_number
from evalkit.reading.files import TABLES, read_rows
from evalkit.reading.formats import Format, detect_format
from evalkit.reading.rows import Block, object_row
from evalkit.reading.tables import plain_values, read_frames, table_blocks
from evalkit.reading.typed_values import row_of_table
from evalkit_adapters_rows.rows import Adapters, adapted_rows


def adapted_blocks(
    pipeline: Adapters, given: Any, reader: ResponseColumns
) -> Iterator[Block]:
    """Read predictions and adapt them."""
    if isinstance(given, pl.DataFrame):
        yield from _blocks_of_frames(1, [given], pipeline, reader)
    elif not isinstance(given, str | Path):
        rows = (object_row(number, row) for number, row in enumerate(given, start=1))
        yield Block(rows=adapted_rows(rows, pipeline))
    else:
        yield from _blocks_of_file(local_path(given), pipeline, reader)


def _blocks_of_file(
    path: Path, pipeline: Adapters, reader: ResponseColumns
) -> Iterator[Block]:
    read = pipeline.read_file(path)
    if isinstance(read, pl.DataFrame):
        yield from _blocks_of_frames(1, [read], pipeline, reader)
        return
    if read is not None:
        yield Block(rows=adapted_rows(read, pipeline))
        return
    kind = detect_format(path)
    if kind in TABLES:
        first, frames = first_number(path), read_frames(path, kind)
        yield from _blocks_of_frames(first, frames, pipeline, reader)
        return
    if kind is Format.PLAIN:
        raise DataError(f"{path}: adapters need fields, and plain lines have none")
    # the adapters may make the id of any column
    texts = names_texts(reader.text_fields, pipeline.renamed)
    yield Block(rows=adapted_rows(read_rows(path, kind, texts), pipeline))


def _blocks_of_frames(
    first: int,
    frames: Iterable[pl.DataFrame],
    pipeline: Adapters,
    reader: ResponseColumns,
) -> Iterator[Block]:
    for frame in frames:
        numbers = pl.int_range(first, first + frame.height, eager=True)
        found = pipeline.adapt_frame(frame, numbers)
        # rows of one height are the rows that came, in their order
        if found is not None and found.height == frame.height:
            yield from table_blocks(
                found, first, reader.plan, reader.nullable, reader.output
            )
        else:
            yield Block(rows=_rows_of_frame(frame, first, pipeline, reader))
        first += frame.height


def _rows_of_frame(
    frame: pl.DataFrame, first: int, pipeline: Adapters, reader: ResponseColumns
) -> Iterator[Row]:
    named = enumerate(frame.iter_rows(named=True), start=first)
    rows = (Row(number, row) for number, row in named)
    for row in adapted_rows(rows, pipeline, first):
        if row.values is None:
            yield row
        else:
            values = plain_values(row.values, reader.nullable)
            yield row._replace(values=row_of_table(reader.output, values))
