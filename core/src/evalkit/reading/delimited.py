r"""Reads CSV and TSV: a header line, quotes where a cell holds the delimiter.

A header that the expected delimiter does not divide, and another one does, is read with
that. Every cell is text; what is not a text to the task is read as JSON. A cell without
anything in it is no value, a quoted empty one is the empty text.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Container, Iterator
from itertools import chain
from pathlib import Path
from typing import Any

from evalkit.base.wording import HOW_TO_CONVERT, NOT_UTF8, UTF16
from evalkit.errors import DataError
from evalkit.reading.rows import Row, broken_row, decode_json
from evalkit.reading.streams import MOST_LINE_BYTES, line_blocks

_ESCAPED = re.compile("[\udc80-\udcff]")
_STATED = re.compile(r'"?sep=(.)"?\s*')
"""A first line of Excel."""


def read_delimited_rows(
    path: Path, text_fields: Container[str], delimiter: str
) -> Iterator[Row]:
    """Read CSV or TSV, compressed or not, row by row.

    Cells of `text_fields` are taken as they are; others are read as JSON where they can
    be, and are texts where not. The line of a row is the one that it begins in.
    """
    lines = _Lines(path)
    # all readers of the process share the limit
    csv.field_size_limit(max(csv.field_size_limit(), MOST_LINE_BYTES))
    delimiter = lines.begin(delimiter)
    records = csv.reader(lines, delimiter=delimiter, strict=True)
    header = _read_header(path, records)
    while True:
        lines.begin_record()
        try:
            cells = next(records)
        except StopIteration:
            return
        except csv.Error as error:
            yield _broken(lines, _explain(error))
            continue
        if cells:
            yield _row(lines, header, cells, text_fields, delimiter)


class _Lines:
    """The lines of a file as texts, and those of the record that is being read."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._iterator = self._read()
        self._next = 1
        self.first = 1
        self.record: list[str] = []

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        line = next(self._iterator)
        self._next += 1
        self.record.append(line)
        return line

    def begin(self, delimiter: str) -> str:
        """Pass over blank lines and `sep=;`; return what separates the cells."""
        for first in self._iterator:
            if stated := _STATED.fullmatch(first):
                delimiter = stated[1]
            elif first.strip("\r\n"):
                self._iterator = chain([first], self._iterator)
                return delimiter if stated else _delimiter_of(first, delimiter)
            self._next += 1
        return delimiter

    def begin_record(self) -> None:
        self.first, self.record = self._next, []

    def _read(self) -> Iterator[str]:
        for block in line_blocks(self._path):
            if block.is_too_long:
                raise DataError(
                    f"{self._path}, line {block.first_line}: must be shorter than "
                    f"{MOST_LINE_BYTES >> 20} MiB"
                )
            lines = block.data.decode("utf-8", "surrogateescape").split("\n")
            last = lines.pop()
            yield from (f"{line}\n" for line in lines)
            if last:
                yield last


def _delimiter_of(header: str, delimiter: str) -> str:
    """Return another delimiter where a header has one column by the expected one."""
    for other in () if delimiter in header else ";\t|,":
        cells = header.split(other)
        if len(cells) > 1 and all(map(str.strip, cells)):
            return other
    return delimiter


def _read_header(path: Path, records: Iterator[list[str]]) -> list[str]:
    try:
        header = next(records, [])
    except csv.Error as error:
        raise DataError(f"{path}: its header {_explain(error)}") from error
    while header[-2:] == ["", ""]:  # a spreadsheet writes empty columns, too
        header.pop()
    if not any(header):
        raise DataError(f"{path}: file is empty, expected a header row")
    if any(_ESCAPED.search(name) or "\0" in name for name in header):
        cause = UTF16 if any("\0" in name for name in header) else HOW_TO_CONVERT
        raise DataError(f"{path}: its header must be text in UTF-8; {cause}")
    twice = next((name for name in header if header.count(name) > 1), None)
    if twice is not None:
        raise DataError(f"{path}: its header names the column {twice!r} twice")
    return header


def _row(
    lines: _Lines,
    header: list[str],
    cells: list[str],
    text_fields: Container[str],
    delimiter: str,
) -> Row:
    if not any(cells[len(header) :]):
        del cells[len(header) :]
    if len(cells) != len(header):
        rule = f"must have {len(header)} cells, as the header has; has {len(cells)}"
        return _broken(lines, rule)
    raw = "".join(lines.record)
    if _ESCAPED.search(raw):
        return _broken(lines, NOT_UTF8)
    quoted = _quoted_cells(raw, delimiter) if "" in cells and '""' in raw else ()
    values = {
        name: cell if name in text_fields else _json_value(cell)
        for place, (name, cell) in enumerate(zip(header, cells, strict=True))
        if cell or place in quoted
    }
    return Row(lines.first, values)


def _quoted_cells(record: str, delimiter: str) -> set[int]:
    """Return the places of the cells that stand in quotes."""
    end = re.escape(delimiter)
    cell = re.compile(rf'("(?:[^"]|"")*"|[^{end}]*)(?:{end}|$)', re.DOTALL)
    found = cell.findall(record.rstrip("\r\n"))
    return {place for place, text in enumerate(found) if text.startswith('"')}


def _json_value(cell: str) -> Any:
    try:
        return decode_json(cell)
    except (ValueError, RecursionError):
        return cell


def _broken(lines: _Lines, rule: str) -> Row:
    raw = "".join(lines.record[:5]).encode("utf-8", "surrogateescape")
    return broken_row(lines.first, rule, raw.rstrip(b"\r\n"))


def _explain(error: csv.Error) -> str:
    text = str(error)
    if "unexpected end of data" in text:
        return "must close every quote"
    if "field larger" in text:
        return f"must have cells shorter than {MOST_LINE_BYTES >> 20} MiB"
    return f"must be well-formed ({text})"
