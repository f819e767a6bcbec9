"""Rows of a data set that adapters change as they are loaded."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import polars as pl

from evalkit.catalog import BoundDataset, BoundTask, Row
from evalkit.examples.cells import read_cells
from evalkit.reading.file_parts import first_number
from evalkit.reading.files import TABLES
from evalkit.reading.formats import detect_format
from evalkit.reading.tables import read_frames
from evalkit_adapters_rows.rows import Adapters, adapted_rows


def adapt_examples(
    pipeline: Adapters,
    dataset: BoundDataset,
    task: BoundTask,
    path: Path | None,
    given: Any,
) -> pl.DataFrame | Iterator[Row]:
    """Adapt what a data set loaded."""
    if path is not None and (read := pipeline.read_file(path)) is not None:
        if not isinstance(read, pl.DataFrame):
            return adapted_rows(read, pipeline)
        path, given = None, read
    if path is None and not isinstance(given, pl.DataFrame):
        rows = (Row(number, dict(row)) for number, row in enumerate(given, start=1))
        return adapted_rows(rows, pipeline)
    kind = None if path is None else detect_format(path)
    if path is not None and kind is not None and kind not in TABLES:
        return adapted_rows(read_cells(dataset, task, path, kind), pipeline)
    frames = [given] if path is None or kind is None else [*read_frames(path, kind)]
    frame = pl.concat(frames) if frames else pl.DataFrame()
    first = first_number(path)
    numbers = pl.int_range(first, first + frame.height, eager=True)
    found = pipeline.adapt_frame(frame, numbers)
    if isinstance(found, pl.DataFrame):
        return found
    named = map(Row, count(first), frame.iter_rows(named=True))
    return adapted_rows(named, pipeline, first)
