"""Reads one text a line: of predictions in the order of the data."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import polars as pl

from evalkit.errors import DataError
from evalkit.reading.json_lines import too_long
from evalkit.reading.rows import Block, Row, broken_row, not_utf8, row_blocks
from evalkit.reading.schemas import ColumnPlan
from evalkit.reading.streams import line_blocks


def read_plain_blocks(
    path: Path, plan: ColumnPlan | None, ids: pl.Series, answer_field: str
) -> Iterator[Block]:
    """Read one answer a line, in the order of the data's ids, as blocks."""
    return row_blocks(read_plain_rows(path, answer_field, ids), plan)


def read_plain_rows(
    path: Path, field: str, ids: pl.Series | None = None
) -> Iterator[Row]:
    """Read one text a line; its id is one of `ids`, else its number."""
    number = 0
    for block in line_blocks(path):
        for line in block.data.removesuffix(b"\n").split(b"\n"):
            number += 1
            if ids is not None and number > len(ids):
                continue
            if block.is_too_long:
                yield too_long(block)
                continue
            line = line.removesuffix(b"\r")
            try:
                text = line.decode("utf-8")
            except UnicodeDecodeError as error:
                yield broken_row(number, not_utf8(error), line)
            else:
                name = str(number) if ids is None else ids[number - 1]
                yield Row(number, {"id": name, field: text})
    if ids is not None and number != len(ids):
        raise DataError(
            f"{path}: plain lines are matched with the examples by position, but the "
            f"file has {number} lines and the data set has {len(ids)} examples"
        )
