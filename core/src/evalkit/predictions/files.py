"""Reads files of predictions in any of the formats, as blocks of rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import polars as pl

from evalkit.base.ids import RESPONSE_ID_KEYS
from evalkit.errors import DataError
from evalkit.predictions.responses import ResponseReader
from evalkit.reading.blocks import Block
from evalkit.reading.files import TABLES, read_rows
from evalkit.reading.formats import Format, detect_format
from evalkit.reading.json_blocks import read_json_blocks
from evalkit.reading.plain import read_plain_blocks
from evalkit.reading.rows import object_row
from evalkit.reading.tables import read_table_blocks, table_blocks


def read_prediction_file(
    path: Path, reader: ResponseReader, ids: pl.Series
) -> Iterator[Block]:
    """Read a file of predictions.

    Args:
        path: The file.
        reader: Says which columns are wanted, and what a plain line holds.
        ids: The data's ids, which plain lines are matched with by position.

    Returns:
        Blocks of its rows.

    Raises:
        DataError: The file cannot be read.
    """
    found = detect_format(path)
    if found is Format.JSON_LINES:
        return read_json_blocks(path, reader.plan)
    if found in TABLES:
        return read_table_blocks(path, found, reader.plan)
    if found is not Format.PLAIN:
        rows = read_rows(path, found, reader.text_fields, RESPONSE_ID_KEYS)
        return iter([Block(rows=rows)])
    if reader.answer_field is None:
        raise DataError(
            f"{path}: plain lines need a task that names its `answer_field`; "
            f"{reader.origin} does not. Give JSON lines"
        )
    return read_plain_blocks(path, reader.plan, ids, reader.answer_field)


def read_given(predictions: Any, reader: ResponseReader) -> Iterator[Block]:
    """Read predictions that are no file.

    Args:
        predictions: A polars data frame, or dicts.
        reader: Says which columns are wanted.

    Returns:
        Blocks of its rows, which are numbered from 1.
    """
    if isinstance(predictions, pl.DataFrame):
        return table_blocks(predictions, 1, reader.plan)
    return iter([Block(rows=_object_rows(predictions))])


def _object_rows(given: Iterable[Any]) -> Iterator[Any]:
    return (object_row(number, values) for number, values in enumerate(given, start=1))
