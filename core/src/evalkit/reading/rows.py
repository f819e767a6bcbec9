"""Rows of files: what a line or a dict holds, alone or in blocks of columns."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from evalkit.base.columns import frame_of
from evalkit.base.failures import hook_failures, text_of
from evalkit.base.ids import REPLICATION_KEY, RESPONSE_ID_KEYS, RESPONSES_KEY
from evalkit.base.violations import Violation
from evalkit.base.wording import NOT_UTF8
from evalkit.reading.schemas import ColumnPlan
from evalkit.reading.streams import BLOCK_BYTES
from evalkit.reading.typed_values import MisfitError, are_exact, typed_series

BLOCK_ROWS = 10_000

ROW_KEYS = {"error", RESPONSES_KEY}
"""Keys that no plan has and that only a look at the whole row can judge."""

_SHOWN_BYTES = 200
_MOST_DIGITS = 309
_SIZED = (str, list, dict)
_ID_TYPES = (str, int)
_RESERVED_KEYS = {*RESPONSE_ID_KEYS, REPLICATION_KEY}


class Row(NamedTuple):
    """One row of a file."""

    line: int
    """Number of the line that it begins in, or of the row where there are no lines,
    from 1."""
    values: Mapping[str, Any] | None
    """The row, or None where it cannot be read."""
    problem: Violation | None = None
    """Why it cannot be read."""

    def moved(self, by: int) -> Row:
        """Return the row so many lines later."""
        return self._replace(line=self.line + by)


def _no_row(index: int) -> Row:
    raise IndexError(index)


class Block(NamedTuple):
    """Rows of a file, in columns as far as they have the expected types."""

    frame: pl.DataFrame = pl.DataFrame()
    """`id` and, where some row has it, `_replication_`, as texts; and the columns that
    were planned. Null where a row has none."""
    lines: NDArray[np.int64] = np.empty(0, dtype=np.int64)
    """The line of each row of the frame."""
    row_at: Callable[[int], Row] = _no_row
    """Gives a row of the frame as it stands in the file."""
    rows: Iterable[Row] = ()
    """The other rows: broken, or of other types than expected."""
    undeclared: Mapping[str, int] = {}
    """How many rows of the frame have a value under a key that nobody declared."""

    def moved(self, by: int) -> Block:
        """Return the block of rows whose lines come so many lines later."""

        def row_at(index: int) -> Row:
            return self.row_at(index).moved(by)

        rows = (row.moved(by) for row in self.rows)
        return self._replace(lines=self.lines + by, row_at=row_at, rows=rows)


def parse_json_line(number: int, line: bytes) -> Row:
    """Read one line that should hold a JSON object, as strictly as `decode_json`."""
    try:
        values = decode_json(line.decode("utf-8"))
    except UnicodeDecodeError as error:
        return broken_row(number, not_utf8(error), line)
    except json.JSONDecodeError as error:
        rule = f"must be JSON ({error.msg}: column {error.colno})"
        return broken_row(number, rule, line)
    except (ValueError, RecursionError) as error:
        return broken_row(number, f"must be plain JSON ({error})", line)
    if not isinstance(values, dict):
        return broken_row(number, "must be a JSON object", line)
    return Row(number, values)


def decode_json(text: str) -> Any:
    """Read JSON, and refuse equal keys and half characters.

    As in Python, NaN and infinities are numbers: who declares a field says whether it
    takes them.
    """
    values = _DECODER.decode(text)
    if "\\ud" in text or "\\uD" in text:  # a text may hold half a pair of surrogates
        json.dumps(values, ensure_ascii=False).encode("utf-8")
    return values


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) != len(pairs):
        key = Counter(key for key, _ in pairs).most_common(1)[0][0]
        raise ValueError(f"the key {key!r} is given twice")
    return values


def _number(text: str) -> float:
    """Return a whole number as columns hold it: none that no float holds."""
    return int(text) if len(text) < _MOST_DIGITS else float(text)


# json.loads would make a decoder for every line
_DECODER = json.JSONDecoder(object_pairs_hook=_unique_keys, parse_int=_number)


def not_utf8(error: UnicodeDecodeError) -> str:
    """Return the rule that bytes break which are not UTF-8."""
    return f"{NOT_UTF8} (byte {error.start + 1}: {error.reason})"


def broken_row(number: int, rule: str, line: bytes) -> Row:
    """Make the row of a line that cannot be read; the rule says what must hold."""
    shown = line[:_SHOWN_BYTES].decode("utf-8", errors="backslashreplace")
    return Row(number, None, Violation("(line)", rule, shown))


def object_row(number: int, values: Any) -> Row:
    """Make the row of a Python value, which should be a dict.

    What cannot be written as JSON is refused as in a file, but for numbers that are
    not finite: the task says whether it takes them.
    """
    problem = unwritable(values)
    return Row(number, None if problem else values, problem)


def unwritable(values: Any) -> Violation | None:
    """Say why a row cannot be written as JSON; None where it can.

    Values of other types than JSON's are taken as their texts; numbers need not be
    finite.
    """
    if not isinstance(values, Mapping):
        return Violation("(row)", "must be a dict", values)
    try:
        other = next((key for key in values if not isinstance(key, str)), None)
        if other is not None:
            return Violation("(row)", "must have texts as keys", other)
        text = json.dumps(dict(values), ensure_ascii=False, sort_keys=True, default=str)
        text.encode("utf-8")
    except hook_failures() as error:  # also of the values' own methods
        return Violation("(row)", f"must be plain JSON ({text_of(error)})", values)
    return None


def row_blocks(rows: Iterable[Row], plan: ColumnPlan | None) -> Iterator[Block]:
    """Return rows as blocks of columns, where those hold just the same values."""
    if plan is None:
        yield Block(rows=rows)
        return
    batch: list[Row] = []
    size = 0
    for row in rows:
        batch.append(row)
        values = (row.values or {}).values()
        size += sum(len(each) for each in values if isinstance(each, _SIZED))
        if len(batch) == BLOCK_ROWS or size > BLOCK_BYTES:
            yield _block(batch, plan)
            batch, size = [], 0
    if batch:
        yield _block(batch, plan)


def _block(batch: Sequence[Row], plan: ColumnPlan) -> Block:
    kept = [row for row in batch if _has_plain_keys(row.values, plan)]
    exact = pl.repeat(True, len(kept), eager=True)
    for name, column in plan.columns.items():
        values = [(row.values or {}).get(name) for row in kept]
        exact &= are_exact(values, column.dtype)
    kept = [row for row, is_exact in zip(kept, exact, strict=True) if is_exact]
    found = [row.values or {} for row in kept]
    try:
        columns = _columns(found, plan)
    except MisfitError:
        return Block(rows=batch)
    lines = np.array([row.line for row in kept], dtype=np.int64)
    others = {*map(id, kept)}
    apart = [row for row in batch if id(row) not in others]
    declared = plan.columns.keys() | _RESERVED_KEYS | {"error"}
    undeclared = Counter(
        name
        for row in found
        if not row.keys() <= declared
        for name in row.keys() - declared
        if row[name] is not None
    )
    return Block(frame_of(columns), lines, kept.__getitem__, apart, undeclared)


def _has_plain_keys(values: Mapping[str, Any] | None, plan: ColumnPlan) -> bool:
    """Tell whether a row has one id, and no key that only the whole row can judge."""
    if values is None:
        return False
    keys = [key for key in RESPONSE_ID_KEYS if key in values]
    if len(keys) != 1 or type(values[keys[0]]) not in _ID_TYPES:
        return False
    if type(values.get(REPLICATION_KEY)) not in (*_ID_TYPES, type(None)):
        return False
    if plan.forbids_undeclared and not values.keys() <= (
        plan.columns.keys() | _RESERVED_KEYS
    ):
        return False
    return all(values.get(key) is None for key in ROW_KEYS)


def _columns(rows: Sequence[Mapping[str, Any]], plan: ColumnPlan) -> list[pl.Series]:
    ids = [next(row[key] for key in RESPONSE_ID_KEYS if key in row) for row in rows]
    columns = [pl.Series("id", [*map(str, ids)], dtype=pl.String)]
    if any(REPLICATION_KEY in row for row in rows):
        given = [row.get(REPLICATION_KEY) for row in rows]
        texts = [None if each is None else str(each) for each in given]
        columns.append(pl.Series(REPLICATION_KEY, texts, dtype=pl.String))
    for name, column in plan.columns.items():
        values = [row.get(name) for row in rows]
        if column.dtype in (pl.String, pl.Boolean):
            columns.append(pl.Series(name, values, dtype=column.dtype))
        else:
            columns.append(typed_series(name, values, column.dtype))
    return columns
