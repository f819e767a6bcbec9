r"""Reads files row by row, keeping line numbers and refusing what is ambiguous.

Lines end at "\n" (or "\r\n") only: other line separators occur inside real texts.
A byte-order mark, blank lines between JSON objects and a missing final newline are
no errors.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from evalkit.errors import DataError
from evalkit.violations import Violation, shorten

JSON_LINES_SUFFIXES = (".jsonl", ".ndjson", ".json")
_UNREADABLE_SUFFIXES = {
    ".gz",
    ".zst",
    ".parquet",
    ".arrow",
    ".feather",
    ".csv",
    ".tsv",
    ".zip",
    ".xlsx",
}


class Row(NamedTuple):
    """One row of a file."""

    line: int
    """Its number, from 1."""
    values: Mapping[str, Any] | None
    """The row, or None where it cannot be read."""
    problem: Violation | None = None
    """Why it cannot be read."""


def read_json_lines(path: Path) -> Iterator[Row]:
    """Read JSON lines, one object a line.

    Args:
        path: The file.

    Yields:
        A row for each line that is not blank; broken lines with what is wrong.

    Raises:
        DataError: The file cannot be opened or read.
    """
    for number, line in _lines(path):
        if line.strip():
            yield parse_json_line(number, line)


def parse_json_line(number: int, line: bytes) -> Row:
    """Read one line that should hold a JSON object.

    Refused are bytes that are not UTF-8, a key given twice, NaN, infinities and
    numbers that would become one, surrogates without a partner, and values that are
    not an object.

    Args:
        number: The line's number.
        line: Its bytes.

    Returns:
        The row, or what is wrong with it.
    """
    try:
        text = line.decode("utf-8")
        values = _decode(text)
    except UnicodeDecodeError as error:
        rule = f"must be UTF-8 (byte {error.start + 1}: {error.reason})"
        return _broken(number, rule, line)
    except json.JSONDecodeError as error:
        return _broken(
            number, f"must be JSON ({error.msg}: column {error.colno})", line
        )
    except (ValueError, RecursionError) as error:
        return _broken(number, f"must be plain JSON ({error})", line)
    if not isinstance(values, dict):
        return _broken(number, "must be a JSON object", line)
    return Row(number, values)


def _decode(text: str) -> Any:
    values = _DECODER.decode(text)
    if "\\ud" in text or "\\uD" in text:
        json.dumps(values, ensure_ascii=False).encode("utf-8")
    return values


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) != len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise ValueError(f"the key {twice!r} is given twice")
    return values


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not a JSON value")


def _finite(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise ValueError(f"{shorten(text)} is too large for a number")
    return number


# json.loads would make a decoder for every line
_DECODER = json.JSONDecoder(
    object_pairs_hook=_unique_keys, parse_constant=_refuse_constant, parse_float=_finite
)


def _broken(number: int, rule: str, line: bytes) -> Row:
    shown = line[:200].decode("utf-8", errors="backslashreplace")
    return Row(number, None, Violation("(line)", rule, shown))


def read_objects(given: Iterable[Any]) -> Iterator[Row]:
    """Read predictions that are given as Python dicts.

    What cannot be written as JSON is refused as in a file, but for numbers that are
    not finite: the task says whether it takes them.

    Args:
        given: The predictions.

    Yields:
        A row for each; its line is its number, from 1.
    """
    for number, values in enumerate(given, start=1):
        problem = unwritable(values)
        yield Row(number, None if problem else values, problem)


def unwritable(values: Any) -> Violation | None:
    """Say why a row cannot be written as JSON.

    Args:
        values: What should be a dict with texts as keys. Values of other types than
            JSON's are taken as their texts; numbers need not be finite.

    Returns:
        What is wrong with it; None for a row that can be written.
    """
    if not isinstance(values, Mapping):
        return Violation("(row)", "must be a dict", values)
    other = next((key for key in values if not isinstance(key, str)), None)
    if other is not None:
        return Violation("(row)", "must have texts as keys", other)
    try:
        text = json.dumps(dict(values), ensure_ascii=False, sort_keys=True, default=str)
        text.encode("utf-8")
    except (TypeError, ValueError, RecursionError) as error:
        return Violation("(row)", f"must be plain JSON ({error})", values)
    return None


def read_plain_lines(
    path: Path, ids: Sequence[str], to_response: Callable[[str, str], dict[str, Any]]
) -> Iterator[Row]:
    """Read one answer a line, in the order of the data.

    Args:
        path: The file.
        ids: The data's ids; there must be as many lines.
        to_response: Makes a response of an id and a line.

    Yields:
        A row for each line.

    Raises:
        DataError: The number of lines is not the number of examples, or the file
            cannot be read.
    """
    lines = list(_lines(path))
    if len(lines) != len(ids):
        raise DataError(
            f"{path}: plain lines are matched with the examples by position, but the "
            f"file has {len(lines)} lines and the data set has {len(ids)} examples"
        )
    for (number, line), uid in zip(lines, ids, strict=True):
        try:
            yield Row(number, to_response(uid, line.decode("utf-8")))
        except UnicodeDecodeError as error:
            yield _broken(number, f"must be UTF-8 (byte {error.start + 1})", line)


def model_name(path: Path) -> str:
    """Give the name of the model that a file of predictions is called after.

    Args:
        path: The file.

    Returns:
        Its name without the suffix of its format: `llama-3.1` for `llama-3.1.jsonl`.
    """
    known = (*JSON_LINES_SUFFIXES, ".txt", ".out")
    name = path.name
    while Path(name).suffix.lower() in known:
        name = Path(name).stem
    return name or path.name


def holds_json_lines(path: Path) -> bool:
    """Tell whether a file of predictions holds JSON lines rather than plain lines.

    Args:
        path: The file.

    Returns:
        True for the suffixes of JSON lines and for files that begin with `{`.

    Raises:
        DataError: The file cannot be read, or is of a format that is not supported.
    """
    if path.suffix.lower() in _UNREADABLE_SUFFIXES:
        raise DataError(
            f"{path}: files of the format {path.suffix} cannot be read yet; give JSON "
            "lines (.jsonl) or plain lines (.txt)"
        )
    if path.suffix.lower() in JSON_LINES_SUFFIXES:
        return True
    first = next((line for _, line in _lines(path) if line.strip()), b"")
    return first.lstrip().startswith(b"{")


def _lines(path: Path) -> Iterator[tuple[int, bytes]]:
    try:
        with path.open("rb") as stream:
            for number, line in enumerate(stream, start=1):
                if number == 1:
                    line = line.removeprefix(b"\xef\xbb\xbf")
                yield number, line.removesuffix(b"\n").removesuffix(b"\r")
    except FileNotFoundError as error:
        raise DataError(f"{path}: there is no such file") from error
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror or error}") from error
