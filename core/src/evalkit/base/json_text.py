"""JSON as it was before any plugin was imported.

A plugin may replace `json.dumps`, for all. Ids and run folders are made with this one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from json import dumps as dumps
from typing import Any


def json_text(value: Any) -> str:
    """Write JSON values, pydantic models or dates; escape halves of surrogate pairs."""
    from pydantic_core import to_jsonable_python

    text = dumps(value, ensure_ascii=False, default=to_jsonable_python)
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def json_lines(rows: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """Write rows as JSON lines."""
    for row in rows:
        yield f"{json_text(row)}\n"
