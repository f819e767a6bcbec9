"""Reads a JSON array of objects, element by element."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

from evalkit.base.wording import HOW_TO_CONVERT, NOT_UTF8
from evalkit.errors import DataError
from evalkit.reading.rows import Row, broken_row, decode_next
from evalkit.reading.streams import open_bytes, read_up_to

MOST_BYTES = 256 << 20
"""A larger array must be JSON lines, which need no memory for the whole file."""

_SHOWN_CHARACTERS = 200
_BLANKS = re.compile(r"[ \t\r\n]*")


def read_json_array(path: Path) -> Iterator[Row]:
    """Read the elements of a file, compressed or not, that is one JSON array.

    The number of an element takes the place of a line.
    """
    text = _text(path)
    number, end = 0, _after_blanks(text, 0)
    if not text.startswith("[", end):
        raise _error(path, text, number, end, "must be a JSON array")
    end = _after_blanks(text, end + 1)
    is_last = text.startswith("]", end)
    while not is_last:
        number, start = number + 1, end
        try:
            value, end, problem = decode_next(text, start)
        except (json.JSONDecodeError, RecursionError) as error:
            rule = "must be plain JSON (nested too deeply)"
            if isinstance(error, json.JSONDecodeError):
                rule = f"must be JSON ({error.msg}: line {error.lineno})"
            raise _error(path, text, number, start, rule) from error
        if not (problem or isinstance(value, dict)):
            problem = "must be a JSON object"
        elif problem:
            problem = f"must be plain JSON ({problem})"
        shown = text[start : min(end, start + _SHOWN_CHARACTERS)]
        yield (
            broken_row(number, problem, shown.encode("utf-8", "surrogatepass"))
            if problem
            else Row(number, value)
        )
        end = _after_blanks(text, end)
        is_last = text.startswith("]", end)
        if not is_last and not text.startswith(",", end):
            raise _error(path, text, number, end, "must be followed by ',' or ']'")
        end = end if is_last else _after_blanks(text, end + 1)
    end = _after_blanks(text, end + 1)
    if end < len(text):
        raise _error(path, text, number, end, "something follows the array")


def _text(path: Path) -> str:
    with open_bytes(path) as stream:
        content = read_up_to(stream, MOST_BYTES + 1)
    if len(content) > MOST_BYTES:
        raise DataError(
            f"{path}: a JSON array must have at most {MOST_BYTES >> 20} MiB. Write a "
            "larger one as JSON lines"
        )
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        byte = f"found the byte {error.object[error.start]:#x}"
        raise DataError(f"{path}: {NOT_UTF8} ({byte}); {HOW_TO_CONVERT}") from error


def _after_blanks(text: str, position: int) -> int:
    match = _BLANKS.match(text, position)
    return match.end() if match else position


def _error(path: Path, text: str, number: int, position: int, rule: str) -> DataError:
    """Return an error that says where the text is broken."""
    line = f"line {text.count(chr(10), 0, position) + 1}"
    where = f"element {number} ({line})" if number else line
    return DataError(f"{path}: {where}: {rule}")
