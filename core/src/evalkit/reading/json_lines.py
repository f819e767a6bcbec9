"""Reads JSON lines: as columns by pyarrow, in Python where pyarrow refuses them.

With an explicit schema pyarrow refuses a number where a text belongs, a key given twice
and a lone surrogate. What it lets pass is checked here: bytes that are not UTF-8, NaN
and infinities, two objects in a line, one object over several. A block that is refused
is halved again and again; the lines of a small one are parsed in Python.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.json
from numpy.typing import NDArray

from evalkit.base.columns import unnamed
from evalkit.base.ids import REPLICATION_KEY, RESPONSE_ID_KEYS
from evalkit.reading.rows import ROW_KEYS, Block, Row, broken_row, parse_json_line
from evalkit.reading.schemas import ColumnPlan
from evalkit.reading.streams import MOST_LINE_BYTES, LineBlock, line_blocks
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
_WHITESPACE = b" \t\r"
_OPEN_BRACE, _CLOSE_BRACE, _RETURN = b"{}\r"

_ID_TYPES = (pa.string(), pa.int64())
_TYPES = {
    pl.String: pa.string(),
    pl.Boolean: pa.bool_(),
    pl.Int64: pa.int64(),
    pl.Float64: pa.float64(),
}

Offsets = NDArray[np.int64]


def read_json_rows(path: Path) -> Iterator[Row]:
    """Read a file, compressed or not, line by line; pass over blank lines."""
    for block in line_blocks(path):
        if block.is_too_long:
            yield too_long(block)
            continue
        lines = block.data.split(b"\n")
        for number, line in enumerate(lines, start=block.first_line):
            if stripped := line.strip(_WHITESPACE):
                yield parse_json_line(number, stripped)


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
        if not _is_utf8(self.data):
            unsafe |= [not _is_utf8(self.line(index)) for index in range(len(self))]
        return unsafe

    def joined(self) -> pa.Buffer:
        """Return the bytes of the lines: as they are where they follow each other."""
        if self.numbers[-1] - self.numbers[0] + 1 == len(self):
            first, last = int(self.starts[0]), int(self.ends[-1])
            return pa.py_buffer(self.data).slice(first, last - first)
        return pa.py_buffer(b"\n".join(map(self.line, range(len(self)))))


def _is_utf8(data: bytes) -> bool:
    if data.isascii():
        return True
    buffers = [None, pa.py_buffer(np.array([0, len(data)])), pa.py_buffer(data)]
    try:
        # unlike bytes.decode, this lets other threads run
        pa.Array.from_buffers(pa.large_string(), 1, buffers).validate(full=True)
    except pa.ArrowInvalid:
        return False
    return True


def read_table(
    lines: JsonLines, schema: pa.Schema, *, guesses_others: bool = False
) -> pa.Table | None:
    """Parse lines into a table with one row for each.

    Args:
        lines: The lines, of which none is unsafe; at least one.
        schema: The keys and their types.
        guesses_others: Whether other keys are taken too, with the types that they seem
            to have.

    Returns:
        The table; None where pyarrow refuses a line, or reads NaN or an infinity.
    """
    data = lines.joined()
    if guesses_others and not _may_guess(bytes(data)):
        return None
    try:
        table = pyarrow.json.read_json(
            pa.BufferReader(data),
            read_options=pyarrow.json.ReadOptions(
                use_threads=False, block_size=data.size + 1
            ),
            parse_options=pyarrow.json.ParseOptions(
                explicit_schema=schema,
                unexpected_field_behavior="infer" if guesses_others else "error",
            ),
        )
    except pa.ArrowException:
        return None
    is_sound = table.num_rows == len(lines) and all(map(_is_finite, table.columns))
    return table if is_sound else None


def _may_guess(data: bytes) -> bool:
    keys = set()
    for match in _KEY.finditer(data):
        keys.add(match[1])
        if len(keys) > _MOST_KEYS:
            return False
    return all(
        line.count(b"{") + line.count(b"[") <= _MOST_NESTED
        for line in data.split(b"\n")
    )


def _is_finite(column: pa.Array | pa.ChunkedArray) -> bool:
    """Tell whether a column holds neither NaN nor an infinity, however nested."""
    kind = column.type
    if column.null_count == len(column):
        return True
    if pa.types.is_floating(kind):
        return bool(series_of(column, "").is_finite().all())
    chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
    # not `flatten`, which imports much; what a null hides may be looked at too
    if pa.types.is_list(kind):
        return all(_is_finite(chunk.values) for chunk in chunks)
    if pa.types.is_struct(kind):
        places = range(kind.num_fields)
        return all(
            _is_finite(chunk.field(place)) for chunk in chunks for place in places
        )
    return True


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
    return pl.DataFrame(_Exported(table))


def series_of(column: pa.Array | pa.ChunkedArray, name: str) -> pl.Series:
    """Return a column that pyarrow read as a series of this name."""
    if isinstance(column, pa.Array):
        column = pa.chunked_array([column])
    return pl.Series(name, _Exported(column)).alias(name)


def read_json_blocks(path: Path, plan: ColumnPlan | None) -> Iterator[Block]:
    """Read a file, compressed or not, as blocks of columns.

    Args:
        path: The file.
        plan: The columns; None for rows only.

    Yields:
        The blocks.

    Raises:
        DataError: The file cannot be opened or read.
    """
    if plan is None:
        yield Block(rows=read_json_rows(path))
        return
    for blocks in in_order(_Parser(plan).read, line_blocks(path)):
        yield from blocks


class _Parser:
    """Parses blocks; several threads may use one.

    Whether keys had to be guessed is remembered, as others of the file need it too.
    """

    def __init__(self, plan: ColumnPlan) -> None:
        self._plan = plan
        self._fields = [
            pa.field(name, _arrow_type(column.dtype))
            for name, column in plan.columns.items()
        ]
        self._guesses = False

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
        table = self._table(lines)
        if table is not None:
            yield self._block(table, lines)
        elif len(lines) <= FEW_LINES:
            yield Block(rows=lines.rows())
        else:
            middle = len(lines) // 2
            yield from self._parse(lines[:middle])
            yield from self._parse(lines[middle:])

    def _table(self, lines: JsonLines) -> pa.Table | None:
        schema = pa.schema([*_key_fields(lines), *self._fields])
        for guesses in (False, True):
            if guesses or not self._guesses:
                table = read_table(lines, schema, guesses_others=guesses)
                if table is not None:
                    self._guesses |= guesses
                    return table
        return None

    def _block(self, table: pa.Table, lines: JsonLines) -> Block:
        columns = dict(zip(table.column_names, table.columns, strict=True))
        id_key = next(key for key in RESPONSE_ID_KEYS if key in columns)
        keys = {id_key: "id", REPLICATION_KEY: REPLICATION_KEY}
        keys = {key: name for key, name in keys.items() if key in columns}
        # a guess may be a time or a number with a fraction
        if any(columns[key].type not in _ID_TYPES for key in keys):
            return Block(rows=lines.rows())
        doubtful = np.zeros(len(lines), dtype=bool)
        found = [
            series_of(columns[key], name).cast(pl.String) for key, name in keys.items()
        ]
        for name, column in self._plan.columns.items():
            values = series_of(columns[name], name)
            if values.dtype != column.dtype:  # it has keys beyond the labels
                doubtful |= unnamed(values).is_not_null().to_numpy()
                empty = pl.Series(name, dtype=column.dtype)
                values = empty.extend_constant(None, len(lines))
            found.append(values)
        frame = pl.DataFrame(found)
        others = columns.keys() - self._plan.columns.keys() - {*RESPONSE_ID_KEYS}
        others -= {REPLICATION_KEY}
        both_ids = {"id", "uid"} <= columns.keys()
        for key in (ROW_KEYS & others) | ({"uid"} if both_ids else set()):
            doubtful |= ~columns[key].is_null().to_numpy()
        if self._plan.forbids_undeclared and others:
            doubtful[:] = True
        undeclared = {
            key: filled
            for key in others
            if (filled := _count_filled(columns[key], ~doubtful))
        }
        rows = lines[doubtful].rows()
        if doubtful.any():
            lines, frame = lines[~doubtful], frame.filter(~doubtful)
        return Block(frame, lines.numbers, lines.row, rows, undeclared)


def _count_filled(column: pa.ChunkedArray, among: NDArray[np.bool_]) -> int:
    if among.all() or not column.null_count:
        return int(among.sum()) - int(column.null_count)
    return int((column.is_valid().to_numpy() & among).sum())


def _arrow_type(dtype: Any) -> pa.DataType:
    if isinstance(dtype, pl.List):
        return pa.list_(_arrow_type(dtype.inner))
    if isinstance(dtype, pl.Struct):
        return pa.struct(
            [(each.name, _arrow_type(each.dtype)) for each in dtype.fields]
        )
    return _TYPES[dtype.base_type()]


def _key_fields(lines: JsonLines) -> list[pa.Field]:
    """Return the fields of the id and of replications, as the first lines have them."""
    rows = [row.values or {} for row in lines[:_SAMPLED_LINES].rows()]
    found = [
        key
        for key in (*RESPONSE_ID_KEYS, REPLICATION_KEY)
        if any(key in row for row in rows)
    ]
    if not {*found} & {*RESPONSE_ID_KEYS}:
        found.insert(0, RESPONSE_ID_KEYS[0])
    kinds = {key: {type(row.get(key)) for row in rows} - {type(None)} for key in found}
    return [
        pa.field(key, pa.int64() if kinds[key] == {int} else pa.string())
        for key in found
    ]
