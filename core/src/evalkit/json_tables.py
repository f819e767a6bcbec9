"""Reads a whole file of JSON lines as one table, where all its lines allow it."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from evalkit.byte_streams import line_blocks
from evalkit.json_lines import (
    JsonLines,
    Shape,
    read_table,
    split_lines,
    unsafe_lines,
)
from evalkit.rows import Row

_SAMPLED_LINES = 100

_LARGEST = 1e308
"""Beyond it lie integers that pyarrow takes for infinite."""

_TYPES = {
    frozenset({str}): pa.string(),
    frozenset({bool}): pa.bool_(),
    frozenset({int}): pa.int64(),
    frozenset({float}): pa.float64(),
    frozenset({int, float}): pa.float64(),
    frozenset(): pa.null(),
}

Kinds = dict[str, set[type]]
"""Types of the values that were found under each key; `list` for lists of texts."""


def read_json_table(path: Path) -> tuple[pl.DataFrame, NDArray[np.int64]] | None:
    """Read JSON lines whose values are texts, numbers, booleans or lists of texts.

    Args:
        path: The file; gzip and Zstandard are decompressed.

    Returns:
        One column for each key, null where a row lacks it, and the line of each row.
        None where a line is broken, or has a value of another type than the others or
        of none of these: then rows have to be read one by one.

    Raises:
        DataError: The file cannot be opened or read.
    """
    kinds: Kinds = {}
    frames: list[pl.DataFrame] = []
    numbers: list[NDArray[np.int64]] = []
    for block in line_blocks(path):
        if block.is_too_long:
            return None
        lines = split_lines(block)
        if not len(lines):
            continue
        if _has_broken_line(lines):
            return None
        table = _read(lines, kinds)
        if table is None or not kinds:  # rows without any key would be lost
            return None
        frame = pl.from_arrow(table)
        assert isinstance(frame, pl.DataFrame)
        if not _holds_plain_values(frame):
            return None
        frames.append(frame)
        numbers.append(lines.numbers)
    if not frames:
        return None
    joined = pl.concat(frames, how="diagonal_relaxed")
    # one by one, as a key may look like a pattern of names
    whole = pl.DataFrame([joined.get_column(key) for key in kinds])
    # a column of nothing but nulls is one of texts, as for rows
    return whole.cast({pl.Null: pl.String}), np.concatenate(numbers)


def _has_broken_line(lines: JsonLines) -> bool:
    """Tell whether Python refuses one of the lines that pyarrow might not refuse."""
    return any(
        lines.row(int(index)).values is None
        for index in np.flatnonzero(unsafe_lines(lines))
    )


def _holds_plain_values(frame: pl.DataFrame) -> bool:
    """Tell whether no list holds null and no number is too large for a float."""
    return not any(
        column.list.contains(None).any()
        if isinstance(column.dtype, pl.List)
        else column.dtype == pl.Float64 and (column.abs() > _LARGEST).any()
        for column in frame.get_columns()
    )


def _read(lines: JsonLines, kinds: Kinds) -> pa.Table | None:
    """Read a block; look at all its lines where its types are others than before."""
    if not kinds and not _extend(kinds, lines[:_SAMPLED_LINES].rows()):
        return None
    table = read_table(lines, Shape(_schema(kinds), False))
    if table is None and _extend(kinds, lines.rows()):
        table = read_table(lines, Shape(_schema(kinds), False))
    return table


def _extend(kinds: Kinds, rows: Iterable[Row]) -> bool:
    """Note the types of values; tell whether columns can hold all of them."""
    for row in rows:
        for key, value in (row.values or {}).items():
            found = kinds.setdefault(key, set())
            if value is None:
                continue
            found.add(type(value))
            if isinstance(value, list) and not all(type(i) is str for i in value):
                return False
    # polars names a column without a name by itself
    return "" not in kinds and all(map(_arrow_type, kinds.values()))


def _arrow_type(kinds: set[type]) -> Any:
    if kinds == {list}:
        return pa.list_(pa.string())
    return _TYPES.get(frozenset(kinds))


def _schema(kinds: Kinds) -> pa.Schema:
    return pa.schema([(key, _arrow_type(found)) for key, found in kinds.items()])
