"""An independent reader of predictions in JSON lines: one line at a time, no tables.

It knows the rules of docs/files.md and nothing of evalkit's code.
"""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Iterator
from typing import Any, NamedTuple

LABELS = ("positive", "negative", "neutral")
"""The answers of the task that is attacked."""

_ID_KEYS = ("id", "uid", "_index_")
_BLANK = b" \t\r\n"


class Verdict(NamedTuple):
    """What becomes of a line."""

    line: int
    status: str
    id: str | None = None
    label: str | None = None


class _Refused(ValueError):
    pass


def _no_constant(name: str) -> Any:
    raise _Refused(name)


def _number(text: str) -> float:
    value = float(text)
    if math.isinf(value):
        raise _Refused(text)
    return value


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len({key for key, _ in pairs}) < len(pairs):
        raise _Refused("a key is given twice")
    return dict(pairs)


_STRICT = json.JSONDecoder(
    object_pairs_hook=_object, parse_constant=_no_constant, parse_float=_number
)


def _parse(line: bytes) -> dict[str, Any] | None:
    """Return the object of a line; None where the line is no strict JSON object."""
    try:
        text = line.decode("utf-8").strip(" \t\r\n")
        value = _STRICT.decode(text)
        json.dumps(value, ensure_ascii=False).encode("utf-8")
    except (ValueError, RecursionError):  # bad bytes, lone surrogates and bad JSON
        return None
    return value if isinstance(value, dict) else None


def _id_of(row: dict[str, Any]) -> str | None:
    value = next((row[key] for key in _ID_KEYS if key in row), None)
    second = row.get("uid") if "id" in row else None
    if second is not None and str(second) != str(value):
        return None
    if isinstance(value, str) and value:
        return value
    is_integer = isinstance(value, int) and not isinstance(value, bool)
    return str(value) if is_integer else None


def verdicts(content: bytes, known: Collection[str]) -> Iterator[Verdict]:
    """Say what becomes of each line of a file where two different ids are none.

    Args:
        content: The bytes of the file.
        known: The ids of the data set.

    Yields:
        A verdict for each line that is not blank, in order.
    """
    seen: set[str] = set()
    for number, line in enumerate(_lines(content), 1):
        if not line.strip(_BLANK):
            continue
        row = _parse(line)
        row_id = None if row is None else _id_of(row)
        if row is None or row_id is None:
            yield Verdict(number, "unreadable")
        elif row_id not in known:
            yield Verdict(number, "unknown", row_id)
        elif row_id in seen:
            yield Verdict(number, "duplicate", row_id)
        else:
            seen.add(row_id)
            label = row.get("label")
            is_valid = isinstance(label, str) and label in LABELS
            status = "scored" if is_valid else "invalid"
            yield Verdict(number, status, row_id, label if is_valid else None)


def _lines(content: bytes) -> list[bytes]:
    return content.removeprefix(b"\xef\xbb\xbf").split(b"\n")
