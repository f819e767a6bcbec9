"""Reads JSON lines as columns, and line by line only where that is refused.

pyarrow's reader is strict with an explicit schema: it refuses a number where a text
belongs, a key given twice, a lone surrogate. What it lets pass is checked here: bytes
that are not UTF-8, NaN and infinities, two objects in a line, one object over several.
A block that it refuses is read with a wider schema, then in parts; only parts that
still fail are parsed in Python, line by line.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from evalkit.base.columns import unnamed
from evalkit.base.ids import REPLICATION_KEY, RESPONSE_ID_KEYS
from evalkit.reading.arrow import series_of
from evalkit.reading.blocks import ROW_KEYS, Block
from evalkit.reading.json_lines import (
    JsonLines,
    Shape,
    json_type,
    lines_with_constants,
    read_json_rows,
    read_table,
    split_lines,
    too_long,
    unsafe_lines,
)
from evalkit.reading.schemas import ColumnPlan
from evalkit.reading.streams import LineBlock, line_blocks
from evalkit.reading.threads import in_order

_SAMPLED_LINES = 20
_PARTS = 16
"""A block that pyarrow refuses is given to it again in so many parts."""
_FEW_LINES = 1024
"""Smaller parts are not worth it."""

_RESERVED_KEYS = {*RESPONSE_ID_KEYS, REPLICATION_KEY}
_ID_TYPES = (pa.string(), pa.int64())
_EXTRA_TYPES = {str: pa.string(), int: pa.float64(), float: pa.float64()}


def read_json_blocks(path: Path, plan: ColumnPlan | None) -> Iterator[Block]:
    """Read JSON lines as blocks of columns.

    Args:
        path: The file; gzip and Zstandard are decompressed.
        plan: The columns; None for rows only.

    Yields:
        The blocks.

    Raises:
        DataError: The file cannot be opened or read.
    """
    if plan is None:
        yield Block(rows=read_json_rows(path))
        return
    parser = _Parser(plan)
    parts = line_blocks(path)
    # the first part settles the shape, so that the others need not find it
    for block in islice(parts, 1):
        yield from parser.read(block)
    for blocks in in_order(parser.read, parts):
        yield from blocks


class _Parser:
    """Parses blocks and remembers which shape fitted.

    Which shape that is makes a difference only to the time that a block takes, so
    that several threads may use one parser.
    """

    def __init__(self, plan: ColumnPlan) -> None:
        self._plan = plan
        self._planned = pl.DataFrame(
            schema={name: column.dtype for name, column in plan.columns.items()}
        )
        self._schema = [
            pa.field(field.name, json_type(field.type))
            for field in self._planned.to_arrow().schema
        ]
        self._shape: Shape | None = None

    def read(self, block: LineBlock) -> list[Block]:
        """Read one block of lines."""
        if block.is_too_long:
            return [Block(rows=[too_long(block)])]
        return list(self._parse(split_lines(block)))

    def _parse(self, lines: JsonLines) -> Iterator[Block]:
        """Parse lines as a whole, else in parts, else in Python."""
        apart = unsafe_lines(lines)
        if apart.any():
            yield Block(rows=lines[apart].rows())
            lines = lines[~apart]
        if not len(lines):
            return
        expected = self._expected(lines)
        table = read_table(lines, expected)
        if table is None and (apart := lines_with_constants(lines)).any():
            yield Block(rows=lines[apart].rows())
            lines = lines[~apart]
            table = read_table(lines, expected) if len(lines) else None
        if table is None and len(lines):
            table = self._try_other_shapes(lines, expected)
        if table is None:
            yield from self._parse_parts(lines)
        else:
            yield self._block(table, lines)

    def _parse_parts(self, lines: JsonLines) -> Iterator[Block]:
        size = max(-(-len(lines) // _PARTS), _FEW_LINES)
        for start in range(0, len(lines), size):
            part = lines[start : start + size]
            # what was refused as a whole is refused as its only part
            alone = size >= len(lines)
            table = None if alone else read_table(part, self._expected(part))
            if table is None:
                yield Block(rows=part.rows())
            else:
                yield self._block(table, part)

    def _expected(self, lines: JsonLines) -> Shape:
        """Return the shape that fitted last."""
        if self._shape is None:
            self._shape = self._sample(lines)
        return self._shape

    def _try_other_shapes(self, lines: JsonLines, refused: Shape) -> pa.Table | None:
        sampled = self._sample(lines)
        for shape in (sampled, sampled._replace(guesses_others=True)):
            if shape == refused:
                continue
            if (table := read_table(lines, shape)) is not None:
                self._shape = shape
                return table
        return None

    def _sample(self, lines: JsonLines) -> Shape:
        """Look at the first lines for the type of the ids and for other keys."""
        rows = [row.values or {} for row in lines[:_SAMPLED_LINES].rows()]
        keys = [key for key in RESPONSE_ID_KEYS if any(key in row for row in rows)]
        id_key = keys[0] if keys else RESPONSE_ID_KEYS[0]
        fields = [pa.field(id_key, _id_type(rows, id_key))]
        if any(REPLICATION_KEY in row for row in rows):
            fields.append(pa.field(REPLICATION_KEY, _id_type(rows, REPLICATION_KEY)))
        others: dict[str, set[type]] = {}
        for row in rows:
            for key, value in row.items():
                if key not in (id_key, REPLICATION_KEY) and (
                    key not in self._plan.columns
                ):
                    others.setdefault(key, set()).add(type(value))
        guesses = False
        for key, found in others.items():
            kinds = {_EXTRA_TYPES.get(kind) for kind in found - {type(None)}}
            if len(kinds) == 1 and None not in kinds:
                fields.append(pa.field(key, *kinds))
            else:
                guesses = True
        return Shape(pa.schema([*fields, *self._schema]), guesses)

    def _block(self, table: pa.Table, lines: JsonLines) -> Block:
        columns = dict(zip(table.column_names, table.columns, strict=True))
        others = columns.keys() - self._plan.columns.keys() - _RESERVED_KEYS
        id_key = next(key for key in RESPONSE_ID_KEYS if key in columns)
        named = {id_key: "id", REPLICATION_KEY: REPLICATION_KEY}
        keys = {key: name for key, name in named.items() if key in columns}
        # a guess may be a time or a number with a fraction
        if any(columns[key].type not in _ID_TYPES for key in keys):
            return Block(rows=lines.rows())
        frame = pl.DataFrame(
            [
                *(
                    series_of(columns[key], name).cast(pl.String)
                    for key, name in keys.items()
                ),
                *(series_of(columns[name], name) for name in self._planned.columns),
            ]
        )
        doubtful = np.zeros(len(lines), dtype=bool)
        for key in ROW_KEYS & others:
            doubtful |= ~columns[key].is_null().to_numpy()
        if self._plan.forbids_undeclared and others:
            doubtful[:] = True
        for name in self._planned.columns:
            if frame.schema[name] != self._planned.schema[name]:
                # whether what it has beyond the plan is null or not there is unknown
                doubtful |= unnamed(frame[name]).is_not_null().to_numpy()
        undeclared = {
            key: filled
            for key in others
            if (filled := _count_filled(columns[key], ~doubtful))
        }
        rows = lines[doubtful].rows()
        if doubtful.any():
            lines, frame = lines[~doubtful], frame.filter(~doubtful)
        return Block(frame, lines.numbers, lines.row, rows, undeclared)


def _id_type(rows: Sequence[Mapping[str, Any]], key: str) -> pa.DataType:
    """Return the type that a key seems to have: integers, or else texts."""
    types = {type(row.get(key)) for row in rows} - {type(None)}
    return pa.int64() if types == {int} else pa.string()


def _count_filled(column: pa.ChunkedArray, among: NDArray[np.bool_]) -> int:
    if among.all() or not column.null_count:
        return int(among.sum()) - int(column.null_count)
    return int((column.is_valid().to_numpy() & among).sum())
