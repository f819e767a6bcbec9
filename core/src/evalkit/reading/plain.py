r"""Reads one answer a line, in the order of the data."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars as pl

from evalkit.errors import DataError
from evalkit.reading.json_lines import too_long
from evalkit.reading.rows import Block, Row, broken_row, not_utf8
from evalkit.reading.schemas import ColumnPlan
from evalkit.reading.streams import LineBlock, line_blocks


def read_plain_blocks(
    path: Path, plan: ColumnPlan | None, ids: pl.Series, answer_field: str
) -> Iterator[Block]:
    """Read one answer a line, in the order of the data.

    Args:
        path: The file; gzip and Zstandard are decompressed.
        plan: The columns that are wanted; None for rows only.
        ids: The data's ids; there must be as many lines.
        answer_field: The field of a response that a line holds.

    Yields:
        Blocks of responses.

    Raises:
        DataError: The number of lines is not the number of examples, or the file
            cannot be read.
    """
    lines = _count_lines(path)
    if lines != len(ids):
        raise DataError(
            f"{path}: plain lines are matched with the examples by position, but the "
            f"file has {lines} lines and the data set has {len(ids)} examples"
        )
    last = 0
    for block in line_blocks(path):
        last += _lines_in(block)
        if last > lines:
            break
        if block.is_too_long:
            yield Block(rows=[too_long(block)])
        else:
            yield _block(block, plan, ids, answer_field)
    if last != lines:
        raise DataError(f"{path}: was changed while it was read")


def _count_lines(path: Path) -> int:
    return sum(map(_lines_in, line_blocks(path)))


def _lines_in(block: LineBlock) -> int:
    if block.is_too_long:
        return 1
    return block.data.count(b"\n") + (not block.data.endswith(b"\n"))


def _block(
    block: LineBlock, plan: ColumnPlan | None, ids: pl.Series, answer_field: str
) -> Block:
    lines = [
        line.removesuffix(b"\r") for line in block.data.removesuffix(b"\n").split(b"\n")
    ]
    first = block.first_line

    def row_at(index: int) -> Row:
        line = lines[index]
        try:
            answer = line.decode("utf-8")
        except UnicodeDecodeError as error:
            return broken_row(first + index, not_utf8(error), line)
        return Row(first + index, {"id": ids[first + index - 1], answer_field: answer})

    texts = _texts(lines)
    if plan is None or texts is None or not _is_text(plan, answer_field):
        return Block(rows=map(row_at, range(len(lines))))
    frame = pl.DataFrame(
        {"id": ids[first - 1 : first - 1 + len(lines)]}
        | {
            name: texts
            if name == answer_field
            else pl.Series(dtype=column.dtype).extend_constant(None, len(lines))
            for name, column in plan.columns.items()
        }
    )
    return Block(frame, np.arange(first, first + len(lines)), row_at)


def _is_text(plan: ColumnPlan, field: str) -> bool:
    return field in plan.columns and plan.columns[field].dtype == pl.String


def _texts(lines: list[bytes]) -> pl.Series | None:
    try:
        return pl.Series([line.decode("utf-8") for line in lines], dtype=pl.String)
    except UnicodeDecodeError:
        return None
