"""Reads a whole file of JSON lines as one table, where all its lines allow it."""

from __future__ import annotations

from collections.abc import Collection, Generator, Iterable, Mapping, Sequence
from contextlib import closing
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from evalkit.base.columns import frame_of, unnamed
from evalkit.reading.arrow import frame_of_table, series_of
from evalkit.reading.json_lines import (
    JsonLines,
    Shape,
    read_table,
    split_lines,
    unsafe_lines,
)
from evalkit.reading.rows import Row
from evalkit.reading.schemas import ColumnPlan, with_planned
from evalkit.reading.small_columns import is_small
from evalkit.reading.streams import LineBlock, line_blocks
from evalkit.reading.threads import in_order

MOST_COLUMNS = 5_000
"""Keys of a file beyond which its rows are read one by one."""

_SAMPLED_LINES = 100

_LARGEST = 1e308
"""Beyond it lie integers that pyarrow takes for infinite."""

_TEXTS = (pl.String, pl.Null)

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

_LEAST_LENGTH = 20
"""Characters below which texts are words that repeat by themselves."""


def long_text_hashes(texts: pl.Series) -> pl.Series:
    """Return what tells long texts apart, in little memory.

    Args:
        texts: Texts.

    Returns:
        A hash of each that has 20 characters or more, without the others.
    """
    texts = unnamed(texts)
    return texts.filter(texts.str.len_chars() >= _LEAST_LENGTH).hash()


class JsonTable(NamedTuple):
    """The rows of a file."""

    frame: pl.DataFrame
    """One column for each key that was kept, null where a row lacks it."""
    lines: NDArray[np.int64]
    """The line of each row."""
    columns: tuple[str, ...]
    """All keys, in the order in which they were found."""
    passes: pl.Series
    """Which rows keep the rules of the fields that were only checked."""
    text_hashes: Mapping[str, pl.Series] = {}
    """Hashes of the long texts of each field that was only checked."""


class Wanted(NamedTuple):
    """Which columns of a file are kept."""

    kept: Collection[str]
    """Keys that are kept."""
    checked: ColumnPlan
    """Fields that are checked, and kept only where they hold no texts."""
    keeps_small: bool = False
    """Whether columns of few short values are kept, too."""


def read_json_table(path: Path, wanted: Wanted | None = None) -> JsonTable | None:
    """Read JSON lines whose values are texts, numbers, booleans or lists of texts.

    Args:
        path: The file; gzip and Zstandard are decompressed.
        wanted: Which columns are kept; all by default. Others are dropped block by
            block, so that memory does not grow with what they hold.

    Returns:
        The rows. None where a line is broken, or has a value of another type than the
        others or of none of these, or there are more than `MOST_COLUMNS` keys: then
        rows have to be read one by one.

    Raises:
        DataError: The file cannot be opened or read.
    """
    reader = _TableReader(wanted)
    parts: list[_Part] = []
    numbers: list[NDArray[np.int64]] = []
    with closing(_attempts(reader, path)) as attempts:
        for attempt in attempts:
            if not len(attempt.lines) and not attempt.is_broken:
                continue
            part = reader.settle(attempt)
            if part is None:
                return None
            parts.append(part)
            numbers.append(attempt.lines.numbers)
    if not parts:
        return None
    joined = pl.concat([part.frame for part in parts], how="diagonal_relaxed")
    # one by one, as a key may look like a pattern of names
    if joined.height != sum(map(len, numbers)):  # some block had no column to keep
        return None
    names = [key for key in reader.kinds if key not in reader.large]
    kept = [joined.get_column(key) for key in names if key in joined.columns]
    return JsonTable(
        # a column of nothing but nulls is one of texts, as for rows
        frame_of(kept).cast({pl.Null: pl.String}),
        np.concatenate(numbers),
        tuple(reader.kinds),
        pl.concat([part.passes for part in parts]),
        _joined_hashes(parts),
    )


class _Part(NamedTuple):
    """What is kept of a block."""

    frame: pl.DataFrame
    passes: pl.Series
    is_plain: bool
    """Whether it holds only values that a column of its type can show as they are."""
    text_hashes: Mapping[str, pl.Series] = {}


def _joined_hashes(parts: Sequence[_Part]) -> dict[str, pl.Series]:
    names = dict.fromkeys(name for part in parts for name in part.text_hashes)
    return {
        name: pl.concat(
            [part.text_hashes[name] for part in parts if name in part.text_hashes]
        )
        for name in names
    }


class _Attempt(NamedTuple):
    """What came of reading a block with the types that were known."""

    lines: JsonLines
    part: _Part | None = None
    """None where the types do not fit."""
    schema: pa.Schema | None = None
    is_broken: bool = False
    """Whether some line cannot be read at all."""


def _attempts(reader: _TableReader, path: Path) -> Generator[_Attempt, None, None]:
    blocks = line_blocks(path)
    # the types of the first block are those of most others
    for block in islice(blocks, 1):
        yield reader.attempt(block)
    yield from in_order(reader.attempt, blocks)


class _TableReader:
    """Reads blocks with the types that were found so far.

    `attempt` may be called by several threads; `settle` takes what it gave in the order
    of the file.
    """

    def __init__(self, wanted: Wanted | None) -> None:
        self.kinds: Kinds = {}
        self.large: set[str] = set()
        """Columns that are dropped, as some block has too many or long values."""
        self._wanted = wanted
        self._schema: pa.Schema | None = None

    def attempt(self, block: LineBlock) -> _Attempt:
        """Read a block with the types that are known by now."""
        lines = split_lines(block)
        if block.is_too_long or _has_broken_line(lines):
            return _Attempt(lines, is_broken=True)
        schema = self._schema
        if schema is None or not len(lines):
            return _Attempt(lines)
        return _Attempt(lines, self._read(lines, schema), schema)

    def settle(self, attempt: _Attempt) -> _Part | None:
        """Return what is kept of a block; look at all its lines where types are others.

        Returns:
            None where rows have to be read one by one.
        """
        lines, part, schema, is_broken = attempt
        if is_broken:
            return None
        if self._schema is None and not self._extend(lines[:_SAMPLED_LINES].rows()):
            return None
        if part is None and schema is not self._schema:
            part = self._read(lines, self._schema)
        if part is None and self._extend(lines.rows()):
            part = self._read(lines, self._schema)
        if part is None or not self.kinds:  # rows without any key would be lost
            return None
        return part if part.is_plain else None

    def _read(self, lines: JsonLines, schema: pa.Schema | None) -> _Part | None:
        table = read_table(lines, Shape(schema, False))
        if table is None:
            return None
        is_plain = all(map(_holds_plain_values, table.columns))
        frame = frame_of_table(table)
        if self._wanted is None:
            passes = pl.repeat(True, len(lines), eager=True)
            return _Part(frame, passes, is_plain)
        kept, checked, keeps_small = self._wanted
        if keeps_small:
            kept = {*kept, *self._small(frame, {*kept, *checked.columns})}
        return _Part(
            frame.select(
                column
                for column in frame.get_columns()
                if column.name in kept
                or (column.name in checked.columns and column.dtype not in _TEXTS)
            ),
            checked.passes(with_planned(frame, checked)),
            is_plain,
            {
                column.name: long_text_hashes(column)
                for column in frame.get_columns()
                if column.name in checked.columns and column.dtype == pl.String
            },
        )

    def _small(self, frame: pl.DataFrame, others: Collection[str]) -> set[str]:
        """Return the further columns that have few short values in all blocks."""
        names = {*frame.columns}.difference(others, self.large)
        self.large |= {name for name in names if not is_small(frame.get_column(name))}
        return names - self.large

    def _extend(self, rows: Iterable[Row]) -> bool:
        """Note the types of values; tell whether columns can hold all of them."""
        for row in rows:
            for key, value in (row.values or {}).items():
                found = self.kinds.setdefault(key, set())
                if value is None:
                    continue
                found.add(type(value))
                if isinstance(value, list) and not all(type(i) is str for i in value):
                    return False
            if len(self.kinds) > MOST_COLUMNS:
                return False
        # polars names a column without a name by itself
        if "" in self.kinds or not all(map(_arrow_type, self.kinds.values())):
            return False
        fields = [(key, _arrow_type(found)) for key, found in self.kinds.items()]
        self._schema = pa.schema(fields)
        return True


def _has_broken_line(lines: JsonLines) -> bool:
    """Tell whether Python refuses one of the lines that pyarrow might not refuse."""
    return any(
        lines.row(int(index)).values is None
        for index in np.flatnonzero(unsafe_lines(lines))
    )


def _holds_plain_values(column: pa.ChunkedArray) -> bool:
    """Tell whether no list holds null and no number is too large for a float."""
    if pa.types.is_list(column.type):
        return not any(chunk.values.null_count for chunk in column.chunks)
    if pa.types.is_floating(column.type):
        return not (series_of(column, "").abs() > _LARGEST).any()
    return True


def _arrow_type(kinds: set[type]) -> Any:
    if kinds == {list}:
        return pa.list_(pa.string())
    return _TYPES.get(frozenset(kinds))
