"""Reads a JSON array of objects."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from evalkit.base.wording import HOW_TO_CONVERT, NOT_UTF8
from evalkit.errors import DataError
from evalkit.reading.rows import Row, broken_row, decode_json
from evalkit.reading.streams import open_bytes, read_up_to

MOST_BYTES = 256 << 20
"""A larger array must be JSON lines, which need no memory for the whole file."""


def read_json_array(path: Path) -> Iterator[Row]:
    """Read the elements of a file, compressed or not, that is one JSON array.

    The number of an element takes the place of a line.
    """
    with open_bytes(path) as stream:
        content = read_up_to(stream, MOST_BYTES + 1)
    if len(content) > MOST_BYTES:
        raise DataError(
            f"{path}: a JSON array must have at most {MOST_BYTES >> 20} MiB. Write a "
            "larger one as JSON lines"
        )
    try:
        values = decode_json(content.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        byte = f"found the byte {error.object[error.start]:#x}"
        raise DataError(f"{path}: {NOT_UTF8} ({byte}); {HOW_TO_CONVERT}") from error
    except (ValueError, RecursionError) as error:
        raise DataError(f"{path}: invalid JSON: {error}") from error
    if not isinstance(values, list):
        raise DataError(f"{path}: expected a JSON array of objects")
    for number, value in enumerate(values, 1):
        if isinstance(value, dict):
            yield Row(number, value)
        else:
            shown = json.dumps(value).encode()
            yield broken_row(number, "must be a JSON object", shown)
