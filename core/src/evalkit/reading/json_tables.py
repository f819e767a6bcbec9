"""Reads a whole file of JSON lines as one table, where all its lines allow it."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from itertools import chain, islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from evalkit.base.columns import frame_of, unnamed
from evalkit.reading.json_lines import JsonLines, Shape, frame_of_table, read_table
from evalkit.reading.rows import Row
from evalkit.reading.schemas import ColumnPlan, with_planned
from evalkit.reading.streams import LineBlock, line_blocks
from evalkit.reading.threads import in_order

MOST_COLUMNS = 5_000
"""Keys of a file beyond which its rows are read one by one."""

_SAMPLED_LINES = 100

_TYPES = {
    frozenset({str}): pa.string(),
    frozenset({bool}): pa.bool_(),
    frozenset({int}): pa.int64(),
    frozenset({float}): pa.float64(),
    frozenset({int, float}): pa.float64(),
    frozenset({list}): pa.list_(pa.string()),
    frozenset(): pa.null(),
}

MOST_VALUES = 50
"""Distinct values that a small column may have."""

LONGEST_VALUE = 64
"""Characters that each of them may have."""


def is_small(column: pl.Series) -> bool:
    """Tell whether a column, not of lists or objects, has few and short values."""
    column = unnamed(column)
    dtype = column.dtype
    if dtype.is_nested() or dtype.is_object() or dtype == pl.Binary:
        return False
    if column.n_unique() - (column.null_count() > 0) > MOST_VALUES:
        return False
    longest = column.str.len_chars().max() if dtype == pl.String else None
    return longest is None or int(str(longest)) <= LONGEST_VALUE


class JsonTable(NamedTuple):
    """The rows of a file, or of a block of it."""

    frame: pl.DataFrame
    """One column for each key that was kept, null where a row lacks it."""
    lines: NDArray[np.int64]
    """The line of each row."""
    names: tuple[str, ...]
    """All keys, in the order in which they were found."""
    passes: pl.Series
    """Which rows keep the rules of the fields that were only checked."""


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

    Columns that are not wanted are dropped block by block, so that memory does not grow
    with what they hold. None where rows have to be read one by one: a line is broken,
    or has a value of another type than the others or of none of these, or there are
    more than `MOST_COLUMNS` keys.
    """
    reader = _TableReader(wanted)
    try:
        blocks = line_blocks(path)
        # the types of the first block are those of most others
        first = map(reader.attempt, islice(blocks, 1))
        attempts = chain(first, in_order(reader.attempt, blocks))
        parts = [reader.settle(*each) for each in attempts if len(each[0])]
    except _NoTableError:
        return None
    if not parts:
        return None
    joined = pl.concat([part.frame for part in parts], how="diagonal_relaxed")
    lines = np.concatenate([part.lines for part in parts])
    if joined.height != len(lines):  # some block had no column to keep
        return None
    # one by one, as a key may look like a pattern of names
    names = [key for key in reader.kinds if key not in reader.large]
    kept = [joined.get_column(key) for key in names if key in joined.columns]
    return JsonTable(
        # a column of nothing but nulls is one of texts, as for rows
        frame_of(kept).cast({pl.Null: pl.String}),
        lines,
        tuple(reader.kinds),
        pl.concat([part.passes for part in parts]),
    )


class _NoTableError(Exception):
    """Rows have to be read one by one."""


class _TableReader:
    """Reads blocks with the types that were found so far.

    `attempt` may be called by several threads; `settle` takes what it returned in the
    order of the file.
    """

    def __init__(self, wanted: Wanted | None) -> None:
        self.kinds: dict[str, set[type]] = {}
        """Types of the values that were found under each key."""
        self.large: set[str] = set()
        """Columns that are dropped, as some block has too many or long values."""
        self._wanted = wanted
        self._schema: pa.Schema | None = None

    def attempt(self, block: LineBlock) -> tuple[JsonLines, pa.Schema, Any]:
        """Read a block with the types that are known by now, if any are."""
        lines = JsonLines.of(block)
        unsafe = lines[lines.unsafe()].rows()
        if block.is_too_long or any(row.values is None for row in unsafe):
            raise _NoTableError
        schema = self._schema
        if schema is None or not len(lines):
            return lines, None, None
        return lines, schema, self._read(lines, schema)

    def settle(
        self, lines: JsonLines, schema: pa.Schema, part: JsonTable | None
    ) -> JsonTable:
        """Return what is kept of a block; where types are others, look at all lines."""
        if self._schema is None:
            self._extend(lines[:_SAMPLED_LINES].rows())
        if part is None and schema is not self._schema:
            part = self._read(lines, self._schema)
        if part is None:
            self._extend(lines.rows())
            part = self._read(lines, self._schema)
        if part is None or not self.kinds:  # rows without any key would be lost
            raise _NoTableError
        return part

    def _read(self, lines: JsonLines, schema: pa.Schema) -> JsonTable | None:
        table = read_table(lines, Shape(schema))
        if table is None:
            return None
        lists = (each for each in table.columns if pa.types.is_list(each.type))
        if any(chunk.values.null_count for each in lists for chunk in each.chunks):
            raise _NoTableError
        frame = frame_of_table(table)
        if self._wanted is None:
            passes = pl.repeat(True, len(lines), eager=True)
            return JsonTable(frame, lines.numbers, (), passes)
        kept, checked, keeps_small = self._wanted
        if keeps_small:
            kept = {*kept, *self._small(frame, {*kept, *checked.columns})}
        seen = [each for each in frame.get_columns() if each.name in checked.columns]
        dropped = {each.name for each in seen if each.dtype in (pl.String, pl.Null)}
        kept = {*kept, *checked.columns} - (dropped - {*kept})
        return JsonTable(
            frame.select(each for each in frame.get_columns() if each.name in kept),
            lines.numbers,
            (),
            checked.passes(with_planned(frame, checked)),
        )

    def _small(self, frame: pl.DataFrame, others: Collection[str]) -> set[str]:
        """Return the further columns that have few short values in all blocks."""
        names = {*frame.columns}.difference(others, self.large)
        self.large |= {name for name in names if not is_small(frame.get_column(name))}
        return names - self.large

    def _extend(self, rows: Iterable[Row]) -> None:
        """Note the types of values, which columns must be able to hold."""
        for row in rows:
            for key, value in (row.values or {}).items():
                kinds = self.kinds.setdefault(key, set())
                if value is None:
                    continue
                kinds.add(type(value))
                if isinstance(value, list) and not all(type(i) is str for i in value):
                    raise _NoTableError
            if len(self.kinds) > MOST_COLUMNS:
                raise _NoTableError
        fields = {key: _TYPES.get(frozenset(each)) for key, each in self.kinds.items()}
        # polars names a column without a name by itself
        if "" in fields or None in fields.values():
            raise _NoTableError
        self._schema = pa.schema(fields)
