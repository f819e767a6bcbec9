"""Reads a JSON array of objects, element by element, in bounded memory."""

from __future__ import annotations

import codecs
import json
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from evalkit.base.wording import HOW_TO_CONVERT, NOT_UTF8
from evalkit.errors import DataError
from evalkit.reading.rows import Row, broken_row, decode_next
from evalkit.reading.streams import MOST_LINE_BYTES, open_bytes

_CHUNK_BYTES = 1 << 20
_SHOWN_CHARACTERS = 200
_BLANKS = " \t\r\n"


def read_json_array(path: Path) -> Iterator[Row]:
    """Read the elements of a file, compressed or not, that is one JSON array.

    The number of an element takes the place of a line.
    """
    with open_bytes(path) as stream:
        text = _Text(path, stream)
        if text.next_character() != "[":
            raise text.error("must be a JSON array")
        text.skip(1)
        if text.next_character() == "]":
            text.skip(1)
            text.finish()
            return
        while True:
            text.element += 1
            text.next_character()
            yield _row(text)
            mark = text.next_character()
            text.skip(1)
            if mark == "]":
                text.finish()
                return
            if mark != ",":
                raise text.error("must be followed by ',' or ']'")


class _Text:
    """The text of a file from a position on, as much of it as is needed."""

    def __init__(self, path: Path, stream: IO[bytes]) -> None:
        self._path, self._stream = path, stream
        self._decoder = codecs.getincrementaldecoder("utf-8-sig")()
        self._dropped_lines = 0
        self.buffer = ""
        self.position = 0
        self.element = 0
        self.is_whole = False

    def error(self, problem: str) -> DataError:
        """Return an error that says where the text is broken."""
        where = f"element {self.element} (line {self.line})"
        if not self.element:
            where = f"line {self.line}"
        return DataError(f"{self._path}: {where}: {problem}")

    @property
    def line(self) -> int:
        """The line of the position, from 1."""
        return self._dropped_lines + self.buffer.count("\n", 0, self.position) + 1

    def skip(self, count: int) -> None:
        """Pass over characters, and forget them from time to time."""
        self.position += count
        if self.position > _CHUNK_BYTES:
            self._dropped_lines += self.buffer.count("\n", 0, self.position)
            self.buffer, self.position = self.buffer[self.position :], 0

    def read_on(self) -> bool:
        """Read more, twice what is waiting; tell whether there was any."""
        waiting = len(self.buffer) - self.position
        if waiting > MOST_LINE_BYTES:
            raise self.error(f"must be shorter than {MOST_LINE_BYTES >> 20} MiB")
        read = self._stream.read(max(_CHUNK_BYTES, waiting))
        try:
            self.buffer += self._decoder.decode(read, final=not read)
        except UnicodeDecodeError as error:
            problem = f"{NOT_UTF8} (found the byte {error.object[error.start]:#x})"
            raise self.error(f"{problem}; {HOW_TO_CONVERT}") from error
        self.is_whole = not read
        return bool(read)

    def next_character(self) -> str:
        """Pass over blanks; return the character that follows, "" at the end."""
        while True:
            end = len(self.buffer)
            while self.position < end and self.buffer[self.position] in _BLANKS:
                self.position += 1
            if self.position < end:
                return self.buffer[self.position]
            if self.is_whole or not self.read_on():
                return ""

    def finish(self) -> None:
        """Refuse what follows the array."""
        if self.next_character():
            raise self.error("must be the last, but something follows the array")


def _row(text: _Text) -> Row:
    """Read the element at the position of the text."""
    while True:
        start = text.position
        try:
            value, end, problem = decode_next(text.buffer, start)
        except json.JSONDecodeError as error:
            if not text.is_whole and text.read_on():
                continue
            at = f"{error.msg}: line {_line_at(text, error.pos)}"
            raise text.error(f"must be JSON ({at})") from error
        except RecursionError as error:
            raise text.error("must be plain JSON (nested too deeply)") from error
        if end == len(text.buffer) and not text.is_whole and text.read_on():
            continue  # a number may go on
        shown = text.buffer[start : min(end, start + _SHOWN_CHARACTERS)]
        text.skip(end - start)
        return _checked(text.element, value, problem, shown)


def _line_at(text: _Text, position: int) -> int:
    return text.line + text.buffer.count("\n", text.position, position)


def _checked(number: int, value: Any, problem: str, shown: str) -> Row:
    if not problem and isinstance(value, dict):
        return Row(number, value)
    rule = f"must be plain JSON ({problem})" if problem else "must be a JSON object"
    return broken_row(number, rule, shown.encode("utf-8", "surrogatepass"))
