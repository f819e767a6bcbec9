"""Reads one answer a line, in the order of the data."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import polars as pl

from evalkit.errors import DataError
from evalkit.reading.json_lines import too_long
from evalkit.reading.rows import Row, broken_row, not_utf8
from evalkit.reading.streams import line_blocks


def read_plain_rows(path: Path, ids: pl.Series, answer_field: str) -> Iterator[Row]:
    """Read one answer a line, in the order of the data's ids.

    Raises:
        DataError: The number of lines is not the number of examples, which shows at
            the end, or the file cannot be read.
    """
    number = 0
    for block in line_blocks(path):
        for line in block.data.removesuffix(b"\n").split(b"\n"):
            number += 1
            if number > len(ids):
                continue
            if block.is_too_long:
                yield too_long(block)
                continue
            line = line.removesuffix(b"\r")
            try:
                answer = line.decode("utf-8")
            except UnicodeDecodeError as error:
                yield broken_row(number, not_utf8(error), line)
            else:
                yield Row(number, {"id": ids[number - 1], answer_field: answer})
    if number != len(ids):
        raise DataError(
            f"{path}: plain lines are matched with the examples by position, but the "
            f"file has {number} lines and the data set has {len(ids)} examples"
        )
