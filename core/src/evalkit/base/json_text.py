"""JSON as it was before any plugin was imported.

A plugin may replace `json.dumps`, for all. Ids and run folders are made with this one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from json import dumps as dumps
from typing import Any


def json_text(value: Any) -> str:
    """Write a value as JSON, with halves of surrogate pairs as JSON escapes them.

    Args:
        value: JSON values, pydantic models, dates and the like.
    """
    from pydantic_core import to_jsonable_python

    text = dumps(value, ensure_ascii=False, default=to_jsonable_python)
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def json_lines(rows: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """Write rows as JSON lines.

    Args:
        rows: The rows.

    Yields:
        A line for each, with its end.
    """
    for row in rows:
        yield f"{json_text(row)}\n"
