"""Single rows: what a line or a dict holds, or what is wrong with it."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any, NamedTuple

from evalkit.base.encodings import NOT_UTF8
from evalkit.base.failures import hook_failures, text_of
from evalkit.base.violations import Violation, shorten

_SHOWN_BYTES = 200


class Row(NamedTuple):
    """One row of a file."""

    line: int
    """Number of the line that it begins in, or of the row where there are no lines,
    from 1."""
    values: Mapping[str, Any] | None
    """The row, or None where it cannot be read."""
    problem: Violation | None = None
    """Why it cannot be read."""


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
        values = decode_json(text)
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
    """Read JSON more strictly than Python does.

    Args:
        text: The text.

    Returns:
        The value.

    Raises:
        ValueError: It is no JSON, or holds a key twice, NaN, an infinity, a number
            that would become one, or a surrogate without a partner.
        RecursionError: It is nested too deeply.
    """
    values = _DECODER.decode(text)
    _refuse_halves(text, values)
    return values


def _refuse_halves(text: str, values: Any) -> None:
    """Refuse surrogates without a partner, where a text may hold any."""
    if "\\ud" in text or "\\uD" in text:
        json.dumps(values, ensure_ascii=False).encode("utf-8")


def decode_next(text: str, start: int) -> tuple[Any, int, str]:
    """Read the value of JSON that begins at a place of a text.

    Args:
        text: The text.
        start: Where the value begins.

    Returns:
        The value, where it ends, and what plain JSON has not in it, as `decode_json`
        refuses it; "" for nothing.

    Raises:
        JSONDecodeError: It is no JSON, or goes on after the text.
        RecursionError: It is nested too deeply.
    """
    try:
        value, end = _DECODER.raw_decode(text, start)
        _refuse_halves(text[start:end], value)
    except json.JSONDecodeError:
        raise
    except ValueError as error:
        _, end = _LENIENT.raw_decode(text, start)
        return None, end, str(error)
    return value, end, ""


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

_LENIENT = json.JSONDecoder()


def not_utf8(error: UnicodeDecodeError) -> str:
    """Return the rule that bytes break which are not UTF-8."""
    return f"{NOT_UTF8} (byte {error.start + 1}: {error.reason})"


def broken_row(number: int, rule: str, line: bytes) -> Row:
    """Make the row of a line that cannot be read.

    Args:
        number: The line's number.
        rule: What must hold.
        line: Its bytes, of which the first are shown.

    Returns:
        A row without values.
    """
    shown = line[:_SHOWN_BYTES].decode("utf-8", errors="backslashreplace")
    return Row(number, None, Violation("(line)", rule, shown))


def object_row(number: int, values: Any) -> Row:
    """Make the row of a Python value.

    What cannot be written as JSON is refused as in a file, but for numbers that are
    not finite: the task says whether it takes them.

    Args:
        number: The row's number.
        values: What should be a dict.

    Returns:
        The row, or what is wrong with it.
    """
    problem = unwritable(values)
    return Row(number, None if problem else values, problem)


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
    try:
        other = next((key for key in values if not isinstance(key, str)), None)
        if other is not None:
            return Violation("(row)", "must have texts as keys", other)
        text = json.dumps(dict(values), ensure_ascii=False, sort_keys=True, default=str)
        text.encode("utf-8")
    except hook_failures() as error:  # also of the values' own methods
        return Violation("(row)", f"must be plain JSON ({text_of(error)})", values)
    return None
