from pathlib import Path
from typing import Any

import polars as pl
import pytest
from pydantic import BaseModel

from evalkit.errors import DataError
from evalkit.reading import streams as byte_streams
from evalkit.reading.plain import read_plain_blocks
from evalkit.reading.schemas import ColumnPlan, plan_of

SEPARATORS = "\u2028\u2029\x85\x0b\x0c\x1c\x1d\x1e"
"""Characters that `str.splitlines` takes for the end of a line."""


class Output(BaseModel):
    id: str
    label: str
    conf: float | None = None


class NumberOutput(BaseModel):
    id: str
    label: float


PLANS = {"columns": plan_of(Output), "rows": None, "number": plan_of(NumberOutput)}


@pytest.fixture(params=PLANS)
def plan(request: pytest.FixtureRequest) -> ColumnPlan | None:
    return PLANS[request.param]


def _read(
    path: Path, content: bytes, ids: list[str], plan: ColumnPlan | None
) -> list[tuple[int, Any]]:
    """Give line and values, or the violation, of every row."""
    path.write_bytes(content)
    found = []
    for block in read_plain_blocks(path, plan, pl.Series(ids), "label"):
        rows = [*block.rows, *map(block.row_at, range(block.frame.height))]
        found += [(row.line, row.values or row.problem) for row in rows]
        assert block.lines.tolist() == [
            block.row_at(i).line for i in range(len(block.lines))
        ]
        if block.frame.height:
            assert block.frame["id"].to_list() == [
                row.values["id"] for row in rows if row.values
            ]
            assert block.frame["label"].to_list() == [
                row.values["label"] for row in rows if row.values
            ]
            assert block.frame["conf"].null_count() == block.frame.height
    return sorted(found, key=lambda pair: pair[0])


@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
@pytest.mark.parametrize("last", [True, False])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("block_bytes", [3, 5, 1000])
def test_lines_are_matched_by_position_and_may_be_empty(
    tmp_path: Path,
    plan: ColumnPlan | None,
    end: bytes,
    last: bool,
    mark: bytes,
    block_bytes: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(byte_streams, "BLOCK_BYTES", block_bytes)
    content = mark + end.join([b"x", b"", b"yy", b" z "]) + end * last
    assert _read(tmp_path / "p.txt", content, ["b", "a", "c", "d"], plan) == [
        (1, {"id": "b", "label": "x"}),
        (2, {"id": "a", "label": ""}),
        (3, {"id": "c", "label": "yy"}),
        (4, {"id": "d", "label": " z "}),
    ]


def test_only_newlines_end_a_line(tmp_path: Path, plan: ColumnPlan | None) -> None:
    text = f"a{SEPARATORS}\rb"
    (row,) = _read(tmp_path / "p.txt", f"{text}\r\n".encode(), ["1"], plan)
    assert row == (1, {"id": "1", "label": text})


@pytest.mark.parametrize(
    ("content", "lines"),
    [(b"", 0), (b"a\nb\nc", 3), (b"a\nb\n\n", 3), (b"a", 1), (b"\n", 1)],
)
def test_another_number_of_lines_is_refused_with_both_numbers(
    tmp_path: Path, content: bytes, lines: int, plan: ColumnPlan | None
) -> None:
    path = tmp_path / "p.txt"
    with pytest.raises(DataError) as caught:
        _read(path, content, ["1", "2"], plan)
    assert str(caught.value) == (
        f"{path}: plain lines are matched with the examples by position, but the file "
        f"has {lines} lines and the data set has 2 examples"
    )


def test_a_line_of_broken_bytes_is_unreadable_and_no_other(
    tmp_path: Path, plan: ColumnPlan | None
) -> None:
    rule = "must be UTF-8 (byte 2: invalid start byte)"
    assert _read(tmp_path / "p.txt", b"ok\na\xff\nok", ["1", "2", "3"], plan) == [
        (1, {"id": "1", "label": "ok"}),
        (2, ("(line)", rule, "a\\xff")),
        (3, {"id": "3", "label": "ok"}),
    ]


@pytest.mark.parametrize("place", [0, 1, 2])
def test_a_line_that_is_too_long_is_one_unreadable_line(
    tmp_path: Path, plan: ColumnPlan | None, place: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(byte_streams, "BLOCK_BYTES", 10)
    monkeypatch.setattr(byte_streams, "MOST_LINE_BYTES", 50)
    lines = [b"a", b"b", b"c"]
    lines[place] = b"x" * 200
    found = _read(tmp_path / "p.txt", b"\n".join(lines), ["1", "2", "3"], plan)
    assert [line for line, _ in found] == [1, 2, 3]
    assert found[place][1].field == "(line)"
    assert found[place][1].rule.startswith("must be shorter than")
    assert [v["label"] for _, v in found if isinstance(v, dict)] == [
        line.decode() for line in lines if len(line) == 1
    ]


@pytest.mark.parametrize("change", ["cut", "longer", "one more"])
@pytest.mark.slow
def test_a_file_that_changes_while_it_is_read_is_refused(
    tmp_path: Path,
    change: str,
    plan: ColumnPlan | None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(byte_streams, "BLOCK_BYTES", 10)
    path = tmp_path / "p.txt"
    # more than Python's own buffer holds
    ids = [str(number) for number in range(20_000)]
    path.write_bytes(b"a\n" * len(ids))
    blocks = read_plain_blocks(path, plan, pl.Series(ids), "label")
    first = next(blocks)
    more = {"cut": 4, "longer": 3 * len(ids), "one more": len(ids) + 1}
    with path.open("r+b") as stream:
        if change == "cut":
            stream.truncate(8)
        else:
            stream.seek(0, 2)
            stream.write(b"a\n" * (more[change] - len(ids)))
    with pytest.raises(DataError, match="matched with the examples") as caught:
        sum(len([*block.rows]) for block in (first, *blocks))
    assert str(path) in str(caught.value)
