from __future__ import annotations

from typing import Any

import pytest
from pydantic import BaseModel

from evalkit.reading import rows as blocks_of_rows
from evalkit.reading.rows import object_row, row_blocks
from evalkit.reading.schemas import plan_of


class Output(BaseModel):
    id: str
    label: str
    words: list[str] | None = None


PLAN = plan_of(Output)


def test_rows_of_the_planned_types_become_columns_and_others_stay_rows() -> None:
    given: list[Any] = [
        {"id": "a", "label": "x", "note": 1},
        {"id": 2, "label": "y", "words": ["v", ""], "_replication_": "r"},
        {"id": "b", "label": 3},
        {"id": "c", "uid": "c", "label": "x"},
        {"id": "d", "label": "x", "words": ("v",)},
        {"id": "e", "label": "x", "error": "no answer"},
        {"label": "x"},
        "no row",
    ]
    rows = [object_row(number, each) for number, each in enumerate(given, start=1)]
    (block,) = row_blocks(rows, PLAN)
    assert block.frame.to_dicts() == [
        {"id": "a", "_replication_": None, "label": "x", "words": None},
        {"id": "2", "_replication_": "r", "label": "y", "words": ["v", ""]},
    ]
    assert block.lines.tolist() == [1, 2]
    assert block.row_at(1) is rows[1]
    assert [row.line for row in block.rows] == [3, 4, 5, 6, 7, 8]
    assert block.undeclared == {"note": 1}


def test_long_rows_are_held_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks_of_rows, "BLOCK_BYTES", 10)
    read = 0

    def rows() -> Any:
        nonlocal read
        for number in range(3):
            read += 1
            yield object_row(number + 1, {"id": str(number), "label": "x" * 20})

    blocks = row_blocks(rows(), PLAN)
    assert next(blocks).frame.height == read == 1
    assert [block.lines.tolist() for block in blocks] == [[2], [3]]
