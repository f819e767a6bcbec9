"""Rows of files in any format that has fields."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import polars as pl

from evalkit.errors import DataError
from evalkit.reading.files import TABLES, read_rows
from evalkit.reading.formats import Format, detect_format
from evalkit.reading.rows import Row
from evalkit.reading.tables import read_frames


def file_rows(path: str | Path) -> Iterator[Row]:
    """Read the rows of a file.

    Args:
        path: JSON lines, CSV, TSV, Parquet or Arrow; cells of CSV are texts.

    Yields:
        The rows with their lines; broken ones with what is wrong.

    Raises:
        DataError: The file cannot be read, or has no fields.
    """
    path = Path(path)
    frames = file_frames(path)
    if frames is None:
        yield from read_rows(path, detect_format(path), (), ())
        return
    number = 0
    for frame in frames:
        for values in frame.iter_rows(named=True):
            number += 1
            yield Row(number, values)


def file_frames(path: str | Path) -> Iterator[pl.DataFrame] | None:
    """Read a file of a table in batches.

    Args:
        path: The file.

    Returns:
        Data frames; None for a file of rows.

    Raises:
        DataError: The file cannot be read, or has no fields.
    """
    path = Path(path)
    kind = detect_format(path)
    if kind is Format.PLAIN:
        raise DataError(f"{path}: adapters need fields, and plain lines have none")
    return read_frames(path, kind) if kind in TABLES else None
