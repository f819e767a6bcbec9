"""Reads JSON lines: as columns by pyarrow, in Python where pyarrow refuses them.

With an explicit schema pyarrow refuses a number where a text belongs, a key given twice
and a lone surrogate. What it lets pass is checked here: bytes that are not UTF-8, the
number `Inf`, two objects in a line, one object over several. A block that is refused is
halved again and again; the lines of a small one are parsed in Python.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.json
from numpy.typing import NDArray

from evalkit.base.ids import REPLICATION_KEY, RESPONSE_ID_KEYS
from evalkit.reading.rows import Block, Row, broken_row, parse_json_line
from evalkit.reading.schemas import ColumnPlan
from evalkit.reading.streams import MOST_LINE_BYTES, LineBlock, line_blocks
from evalkit.reading.tables import planned_block
from evalkit.reading.threads import in_order

FEW_LINES = 256
"""Lines that pyarrow refused and that are parsed in Python, not halved."""

_MOST_NESTED = 100
"""Brackets in a line beyond which pyarrow, which recurses, is not asked to guess."""

_MOST_KEYS = 64
"""Different keys in a block beyond which pyarrow is not asked to guess either: there
would be a column for each of them."""

_SAMPLED_LINES = 20

_KEY = re.compile(rb'"([^"\\]*(?:\\.[^"\\]*)*)"\s*:')
_CONSTANT = re.compile(rb"[:,\[]\s*(?:-?Inf(?!inity)|-NaN)")
"""Numbers of pyarrow that Python does not know."""

_WHITESPACE = b" \t\r"
_OPEN_BRACE, _CLOSE_BRACE, _RETURN = b"{}\r"

_TYPES = {
    pl.String: pa.string(),
    pl.Boolean: pa.bool_(),
    pl.Int64: pa.int64(),
    pl.Float64: pa.float64(),
}

_EXTRA_TYPES = {
    str: pa.string(),
    bool: pa.bool_(),
    int: pa.float64(),
    float: pa.float64(),
}

Offsets = NDArray[np.int64]


def read_json_rows(path: Path) -> Iterator[Row]:
    """Read a file, compressed or not, line by line; pass over blank lines."""
    for block in line_blocks(path):
        one = block.is_too_long
        yield from [too_long(block)] if one else JsonLines.of(block).rows()


def too_long(block: LineBlock) -> Row:
    """Make the row of a line that was skipped because of its length."""
    rule = f"must be shorter than {MOST_LINE_BYTES >> 20} MiB"
    return broken_row(block.first_line, rule, block.data)


@dataclass(frozen=True)
class JsonLines:
    """The lines of a block that are not blank, without blanks around them."""

    data: bytes
    starts: Offsets
    ends: Offsets
    numbers: Offsets

    @classmethod
    def of(cls, block: LineBlock) -> JsonLines:
        """Find the lines of a block."""
        data = block.data
        codes = np.frombuffer(data, np.uint8)
        ends = np.flatnonzero(codes == 10)
        if not data.endswith(b"\n"):
            ends = np.append(ends, len(data))
        starts = np.concatenate(([0], ends[:-1] + 1)) if len(ends) else ends
        numbers = np.arange(block.first_line, block.first_line + len(ends))
        lines = cls(data, starts, ends, numbers)[ends > starts]
        starts, ends = lines.starts, lines.ends - (codes[lines.ends - 1] == _RETURN)
        unusual = (codes[starts] != _OPEN_BRACE) | (codes[ends - 1] != _CLOSE_BRACE)
        for index in np.flatnonzero(unusual).tolist():
            line = lines.line(index)
            starts[index] += len(line) - len(line.lstrip(_WHITESPACE))
            ends[index] = starts[index] + len(line.strip(_WHITESPACE))
        return cls(data, starts, ends, lines.numbers)[ends > starts]

    def __len__(self) -> int:
        return len(self.starts)

    def __getitem__(self, index: slice | NDArray[np.bool_]) -> JsonLines:
        return JsonLines(
            self.data, self.starts[index], self.ends[index], self.numbers[index]
        )

    def line(self, index: int) -> bytes:
        """Return the bytes of a line."""
        return self.data[self.starts[index] : self.ends[index]]

    def _lines(self) -> Iterator[bytes]:
        return map(self.line, range(len(self)))

    def row(self, index: int) -> Row:
        """Parse a line in Python."""
        return parse_json_line(int(self.numbers[index]), self.line(index))

    def rows(self) -> Iterator[Row]:
        """Parse all lines in Python."""
        return map(self.row, range(len(self)))

    def unsafe(self) -> NDArray[np.bool_]:
        """Tell which lines pyarrow must not see, as it could take them for others."""
        codes = np.frombuffer(self.data, np.uint8)
        unsafe: NDArray[np.bool_] = codes[self.starts] != _OPEN_BRACE
        unsafe |= codes[self.ends - 1] != _CLOSE_BRACE
        if not is_utf8(self.data):
            unsafe |= [not is_utf8(line) for line in self._lines()]
        if b"Inf" in self.data or b"-NaN" in self.data:
            unsafe |= [_CONSTANT.search(line) is not None for line in self._lines()]
        return unsafe

    def may_be_guessed(self) -> bool:
        """Tell whether pyarrow may guess types: neither keys nor nesting are many."""
        keys = set()
        for match in _KEY.finditer(self.data):
            keys.add(match[1])
            if len(keys) > _MOST_KEYS:
                return False
        return all(
            line.count(b"{") + line.count(b"[") <= _MOST_NESTED
            for line in self._lines()
        )

    def joined(self) -> pa.Buffer:
        """Return the bytes of the lines: as they are where they follow each other."""
        if self.numbers[-1] - self.numbers[0] + 1 == len(self):
            first, last = int(self.starts[0]), int(self.ends[-1])
            return pa.py_buffer(self.data).slice(first, last - first)
        return pa.py_buffer(b"\n".join(self._lines()))


def is_utf8(data: bytes) -> bool:
    """Tell whether bytes are UTF-8."""
    if data.isascii():
        return True
    buffers = [None, pa.py_buffer(np.array([0, len(data)])), pa.py_buffer(data)]
    try:
        # unlike bytes.decode, this lets other threads run
        pa.Array.from_buffers(pa.large_string(), 1, buffers).validate(full=True)
    except pa.ArrowInvalid:
        return False
    return True


class Shape(NamedTuple):
    """What is expected of lines."""

    schema: pa.Schema
    guesses_others: bool = False
    """Whether other keys are taken too, with the types that they seem to have."""


def read_table(lines: JsonLines, shape: Shape) -> pa.Table | None:
    """Parse lines, none of them unsafe, into a table with one row for each.

    None where pyarrow refuses a line.
    """
    data = lines.joined()
    try:
        table = pyarrow.json.read_json(
            pa.BufferReader(data),
            read_options=pyarrow.json.ReadOptions(
                use_threads=False, block_size=data.size + 1
            ),
            parse_options=pyarrow.json.ParseOptions(
                explicit_schema=shape.schema,
                unexpected_field_behavior="infer" if shape.guesses_others else "error",
            ),
            # it gives the memory of a block back at once
            memory_pool=pa.system_memory_pool(),
        )
    except pa.ArrowException:
        return None
    return table if table.num_rows == len(lines) else None


class _Exported:
    """Shows polars only the interface for exchange of an Arrow object.

    For pyarrow's own classes polars imports `pyarrow.compute`, which takes as long as
    scoring a small set.
    """

    def __init__(self, exported: Any) -> None:
        self._exported = exported

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._exported.__arrow_c_stream__(requested_schema)


def frame_of_table(table: pa.Table) -> pl.DataFrame:
    """Return a table that pyarrow read as a data frame that shares its memory."""
    frame = pl.DataFrame(_Exported(table))
    # polars makes up a name for a column without one
    frame.columns = table.column_names
    return frame


def series_of(column: pa.Array) -> pl.Series:
    """Return an array of pyarrow's as a series without a name."""
    return pl.Series(_Exported(pa.chunked_array([column]))).alias("")


def read_json_blocks(path: Path, plan: ColumnPlan | None) -> Iterator[Block]:
    """Read a file, compressed or not, as blocks of columns; without a plan as rows."""
    if plan is None:
        yield Block(rows=read_json_rows(path))
        return
    for blocks in in_order(_Parser(plan).read, line_blocks(path)):
        yield from blocks


class _Parser:
    """Parses blocks, and remembers the shape that fitted.

    Several threads may use one, as the shape changes only the time that it takes.
    """

    def __init__(self, plan: ColumnPlan) -> None:
        self._plan = plan
        self._fields = [
            pa.field(name, _arrow_type(column.dtype))
            for name, column in plan.columns.items()
        ]
        self._shape: Shape | None = None

    def read(self, block: LineBlock) -> list[Block]:
        """Read one block of lines."""
        if block.is_too_long:
            return [Block(rows=[too_long(block)])]
        lines = JsonLines.of(block)
        unsafe = lines.unsafe()
        if not unsafe.any():
            return list(self._parse(lines))
        return [Block(rows=lines[unsafe].rows()), *self._parse(lines[~unsafe])]

    def _parse(self, lines: JsonLines) -> Iterator[Block]:
        if not len(lines):
            return
        shape = self._shape or self._sample(lines)
        table = _guarded_table(lines, shape)
        if table is None:
            sampled = self._sample(lines)
            for other in (sampled, sampled._replace(guesses_others=True)):
                if table is None and other != shape:
                    table, shape = _guarded_table(lines, other), other
        if table is not None:
            self._shape = shape
            yield self._block(table, lines)
        elif sampled.guesses_others and not lines.may_be_guessed():
            yield Block(rows=lines.rows())
        else:
            yield from self._parse_halves(lines, sampled)

    def _parse_halves(self, lines: JsonLines, shape: Shape) -> Iterator[Block]:
        """Parse lines of which some are refused."""
        if len(lines) <= FEW_LINES:
            yield Block(rows=lines.rows())
            return
        middle = len(lines) // 2
        for half in (lines[:middle], lines[middle:]):
            table = read_table(half, shape)
            if table is None:
                yield from self._parse_halves(half, shape)
            else:
                yield self._block(table, half)

    def _block(self, table: pa.Table, lines: JsonLines) -> Block:
        frame = frame_of_table(table)
        block = planned_block(frame, self._plan, lines.numbers, lines.row)
        return block or Block(rows=lines.rows())

    def _sample(self, lines: JsonLines) -> Shape:
        """Look at the first lines for the type of the ids and for other keys."""
        rows = [row.values or {} for row in lines[:_SAMPLED_LINES].rows()]
        kinds: dict[str, set[type]] = {}
        for row in rows:
            for key, value in row.items():
                kinds.setdefault(key, set()).add(type(value))
        if not kinds.keys() & {*RESPONSE_ID_KEYS}:
            kinds[RESPONSE_ID_KEYS[0]] = {str}
        fields, guesses = [], False
        for key, found in kinds.items():
            found.discard(type(None))
            if key in (*RESPONSE_ID_KEYS, REPLICATION_KEY):
                fields.append((key, pa.int64() if found == {int} else pa.string()))
            elif key not in self._plan.columns:
                types = {_EXTRA_TYPES.get(kind) for kind in found}
                if len(types) == 1 and None not in types:
                    fields.append((key, next(iter(types))))
                else:
                    guesses = True
        return Shape(pa.schema([*fields, *self._fields]), guesses)


def _guarded_table(lines: JsonLines, shape: Shape) -> pa.Table | None:
    if shape.guesses_others and not lines.may_be_guessed():
        return None
    return read_table(lines, shape)


def _arrow_type(dtype: Any) -> pa.DataType:
    if isinstance(dtype, pl.List):
        return pa.list_(_arrow_type(dtype.inner))
    if isinstance(dtype, pl.Struct):
        return pa.struct(
            [(each.name, _arrow_type(each.dtype)) for each in dtype.fields]
        )
    return _TYPES[dtype.base_type()]
