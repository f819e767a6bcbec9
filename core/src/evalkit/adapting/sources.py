"""Rows of files in any format that has fields."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path

import polars as pl

from evalkit.adapting.pipelines import BLOCK_ROWS, Pipeline
from evalkit.base.violations import Violation
from evalkit.errors import AdapterError, DataError
from evalkit.reading.files import TABLES, read_rows
from evalkit.reading.formats import Format, detect_format
from evalkit.reading.rows import Row, object_row
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


def adapted_rows(
    rows: Iterable[Row], pipeline: Pipeline, first: int = 1
) -> Iterator[Row]:
    """Adapt rows that were read.

    Args:
        rows: The rows; broken ones are passed on.
        pipeline: The adapters.
        first: The number of the first row.

    Yields:
        The rows that come out, each with the line of the one that went in.

    Raises:
        PluginError: An adapter failed.
    """
    waiting = iter(rows)
    while block := list(islice(waiting, BLOCK_ROWS)):
        sound = [dict(row.values) for row in block if row.values is not None]
        numbered = enumerate(block, start=first)
        numbers = [number for number, row in numbered if row.values is not None]
        outcomes = iter(pipeline.outcomes(sound, numbers))
        first += len(block)
        for row in block:
            found = None if row.values is None else next(outcomes)
            if found is None:
                yield row
            elif isinstance(found, AdapterError):
                yield _refused(row, found)
            else:
                yield from (object_row(row.line, values) for values in found)


def _refused(row: Row, error: AdapterError) -> Row:
    place = f"stage {error.stage} ({error.kind})"
    rule = f"the adapters must accept it; {place}: {error.problem}"
    return Row(row.line, None, Violation(error.field or "(row)", rule, row.values))
