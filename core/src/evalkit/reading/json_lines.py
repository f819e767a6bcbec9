"""Lines of JSON objects, and what pyarrow makes of them."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.json
from numpy.typing import NDArray

from evalkit.reading.arrow import series_of
from evalkit.reading.rows import Row, broken_row, parse_json_line
from evalkit.reading.streams import MOST_LINE_BYTES, LineBlock, line_blocks

_MOST_NESTED = 100
"""Brackets in a line beyond which pyarrow, which recurses, is not asked to guess."""

_MOST_KEYS = 64
"""Different keys in a block beyond which pyarrow is not asked to guess either."""

_KEY = re.compile(rb'"([^"\\]*(?:\\.[^"\\]*)*)"\s*:')
_WHITESPACE = b" \t\r"
_CONSTANT = re.compile(rb"NaN|Inf")
_MOST_DIGITS = sys.int_info.str_digits_check_threshold
"""Digits of an integer that Python reads under any setting."""
_LONG_NUMBER = re.compile(rb"[0-9]{%d}" % (_MOST_DIGITS + 1))
_OPEN_BRACE, _CLOSE_BRACE, _OPEN_BRACKET, _RETURN = b"{}[\r"

Offsets = NDArray[np.int64]


def read_json_rows(path: Path) -> Iterator[Row]:
    """Read JSON lines row by row.

    Args:
        path: The file; gzip and Zstandard are decompressed.

    Yields:
        A row for each line that is not blank; broken lines with what is wrong.

    Raises:
        DataError: The file cannot be opened or read.
    """
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
    """The lines of a block that are not blank."""

    data: bytes
    starts: Offsets
    ends: Offsets
    numbers: Offsets

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


def split_lines(block: LineBlock) -> JsonLines:
    """Find the lines of a block, without blanks around them."""
    data = block.data
    codes = np.frombuffer(data, np.uint8)
    ends = np.flatnonzero(codes == 10)
    if not data.endswith(b"\n"):
        ends = np.append(ends, len(data))
    starts = np.concatenate(([0], ends[:-1] + 1)) if len(ends) else ends
    numbers = np.arange(block.first_line, block.first_line + len(ends))
    lines = _without_empty(JsonLines(data, starts, ends, numbers))
    return _without_empty(_strip(lines, codes))


def _without_empty(lines: JsonLines) -> JsonLines:
    is_filled = lines.ends > lines.starts
    return lines if is_filled.all() else lines[is_filled]


def _strip(lines: JsonLines, codes: NDArray[np.uint8]) -> JsonLines:
    starts, ends = lines.starts.copy(), lines.ends.copy()
    ends -= codes[ends - 1] == _RETURN
    unusual = (codes[starts] != _OPEN_BRACE) | (codes[ends - 1] != _CLOSE_BRACE)
    for index in np.flatnonzero(unusual).tolist():
        line = lines.line(index)
        starts[index] += len(line) - len(line.lstrip(_WHITESPACE))
        ends[index] = starts[index] + len(line.strip(_WHITESPACE))
    return JsonLines(lines.data, starts, ends, lines.numbers)


class Shape(NamedTuple):
    """What is expected of a block."""

    schema: pa.Schema
    guesses_others: bool
    """Whether other keys are taken too, with the types that they seem to have."""


def json_type(kind: pa.DataType) -> pa.DataType:
    """Return the type that pyarrow's JSON reader knows, without views."""
    if pa.types.is_string_view(kind) or pa.types.is_large_string(kind):
        return pa.string()
    if pa.types.is_large_list(kind) or pa.types.is_list_view(kind):
        return pa.list_(json_type(kind.value_type))
    if pa.types.is_struct(kind):
        return pa.struct([(field.name, json_type(field.type)) for field in kind])
    return kind


def unsafe_lines(lines: JsonLines) -> NDArray[np.bool_]:
    """Tell which lines pyarrow must not see: it would accept them, or stop at them."""
    codes = np.frombuffer(lines.data, np.uint8)
    apart: NDArray[np.bool_] = codes[lines.starts] != _OPEN_BRACE
    apart |= codes[lines.ends - 1] != _CLOSE_BRACE
    for index in np.flatnonzero(lines.ends - lines.starts > _MOST_DIGITS).tolist():
        apart[index] |= _LONG_NUMBER.search(lines.line(index)) is not None
    if not _is_utf8(lines.data):
        apart |= [not _is_utf8(lines.line(i)) for i in range(len(lines))]
    return apart


def lines_with_constants(lines: JsonLines) -> NDArray[np.bool_]:
    """Tell which lines hold NaN or Inf, in a text or as what pyarrow calls a number."""
    found = [match.start() for match in _CONSTANT.finditer(lines.data)]
    inside = np.zeros(len(lines), dtype=bool)
    inside[np.searchsorted(lines.starts, found, side="right") - 1] = True
    return inside


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


def read_table(lines: JsonLines, shape: Shape) -> pa.Table | None:
    """Parse lines into a table with one row for each.

    Args:
        lines: The lines; there is one at least.
        shape: What is expected of them.

    Returns:
        The table; None where pyarrow refuses a line, or takes it for one with NaN or an
        infinity.
    """
    data = _joined(lines)
    if shape.guesses_others and not _may_guess(bytes(data)):
        return None
    behaviour = "infer" if shape.guesses_others else "error"
    try:
        table = pyarrow.json.read_json(
            pa.BufferReader(data),
            read_options=pyarrow.json.ReadOptions(
                use_threads=False, block_size=data.size + 1
            ),
            parse_options=pyarrow.json.ParseOptions(
                explicit_schema=shape.schema, unexpected_field_behavior=behaviour
            ),
        )
    except pa.ArrowException:
        return None
    is_sound = table.num_rows == len(lines) and all(map(_is_finite, table.columns))
    return table if is_sound else None


def _is_finite(column: pa.Array | pa.ChunkedArray) -> bool:
    """Tell whether a column holds neither NaN nor an infinity, however nested."""
    if column.null_count == len(column):
        return True
    # not `flatten`, which imports much; what a null hides may be looked at too
    if pa.types.is_floating(column.type):
        return bool(series_of(column, "").is_finite().all())
    if pa.types.is_list(column.type):
        return pa.types.is_string(column.type.value_type) or all(
            _is_finite(chunk.values) for chunk in _chunks(column)
        )
    if pa.types.is_struct(column.type):
        return all(
            _is_finite(chunk.field(place))
            for chunk in _chunks(column)
            for place in range(column.type.num_fields)
        )
    return True


def _chunks(column: pa.Array | pa.ChunkedArray) -> list[pa.Array]:
    return column.chunks if isinstance(column, pa.ChunkedArray) else [column]


def _joined(lines: JsonLines) -> pa.Buffer:
    """Return the bytes of lines that follow each other, or of those that are left."""
    first, last = int(lines.starts[0]), int(lines.ends[-1])
    if lines.numbers[-1] - lines.numbers[0] + 1 == len(lines.numbers):
        return pa.py_buffer(lines.data).slice(first, last - first)
    return pa.py_buffer(b"\n".join(map(lines.line, range(len(lines)))))


def _may_guess(data: bytes) -> bool:
    """Tell whether types may be guessed: there is a column for every key, however rare.

    The limits keep time and memory near those of parsing the lines in Python.
    """
    if _most_brackets(data) > _MOST_NESTED:
        return False
    keys = set()
    for match in _KEY.finditer(data):
        keys.add(match[1])
        if len(keys) > _MOST_KEYS:
            return False
    return True


def _most_brackets(data: bytes) -> int:
    """Count the opening brackets of the line that has most of them."""
    codes = np.frombuffer(data, np.uint8)
    openings = np.flatnonzero((codes == _OPEN_BRACE) | (codes == _OPEN_BRACKET))
    newlines = np.flatnonzero(codes == 10)
    counts = np.bincount(np.searchsorted(newlines, openings))
    return int(counts.max()) if len(counts) else 0
