"""What no honest program writes, in files of data and under a nested `Output`."""

import json
import resource
import time
from pathlib import Path

import pytest
from pydantic import BaseModel

from evalkit import evaluate
from evalkit.errors import DataError, SchemaError
from evalkit.reading.json_lines import read_json_blocks, read_json_rows
from evalkit.reading.schemas import plan_of

DEEP = 10_000
GOOD = {"uid": "1", "context": "c", "hypothesis": "h", "label": "neutral"}
LINES = {
    "10 000 lists": b'{"uid": "2", "note": ' + b"[" * DEEP + b"]" * DEEP + b"}",
    "10 000 objects": b'{"uid": "2", "note": ' + b'{"a":' * DEEP + b"1" + b"}" * DEEP,
    "10 000 lists in a field": b'{"uid": "2", "context": ' + b"[" * DEEP + b"]" * DEEP,
    "a key twice": b'{"uid": "2", "context": "c", "context": "d"}',
    "a nested key twice": b'{"uid": "2", "note": {"a": 1, "a": 2}}',
    "NaN in a field": b'{"uid": "2", "context": NaN}',
    "a lone surrogate": b'{"uid": "2", "context": "\\ud800"}',
    "a surrogate in UTF-8": b'{"uid": "2", "context": "\xed\xa0\x80"}',
}


@pytest.mark.parametrize("line", LINES.values(), ids=LINES.keys())
def test_a_data_set_with_a_hostile_line_is_refused_by_file_and_line(
    line: bytes, tmp_path: Path
) -> None:
    path = tmp_path / "data.jsonl"
    path.write_bytes(json.dumps(GOOD).encode() + b"\n\n" + line + b"\n")
    with pytest.raises((DataError, SchemaError), match=r"data\.jsonl.*line 3"):
        evaluate(path, [{"id": "1", "label": "neutral"}], task="nli", model="m")


def test_line_separators_of_other_alphabets_end_no_line_of_a_data_set(
    tmp_path: Path,
) -> None:
    path = tmp_path / "data.jsonl"
    row = {**GOOD, "context": "a\u2028b\u2029c\x85d"}
    path.write_text(json.dumps(row, ensure_ascii=False) + "\n", encoding="utf-8")
    found = evaluate(path, [{"id": "1", "label": "neutral"}], task="nli", model="m")
    assert found["accuracy"].value == 1


class Output(BaseModel):
    id: str
    prob: dict[str, float] | None = None
    words: list[str] | None = None


@pytest.mark.parametrize("depth", [200, DEEP])
@pytest.mark.parametrize(
    ("opening", "closing"),
    [
        (b'"prob": ' + b"{0}", b"{1}"),
        (b'"prob": {"x": ' + b"{0}", b"{1}}"),
        (b'"words": [' + b"{0}", b"{1}]"),
    ],
)
@pytest.mark.parametrize("brackets", [(b"[", b"]"), (b'{"values":', b"}")])
def test_deep_values_of_planned_fields_are_left_to_python(
    depth: int,
    opening: bytes,
    closing: bytes,
    brackets: tuple[bytes, bytes],
    tmp_path: Path,
) -> None:
    plan = plan_of(Output, ("x", "y"))
    assert plan is not None
    deep = [brackets[0] * depth, brackets[1] * depth]
    body = opening.replace(b"{0}", deep[0]) + b"1" + closing.replace(b"{1}", deep[1])
    path = tmp_path / "p.jsonl"
    path.write_bytes(b'{"id": "1"}\n{"id": "2", ' + body + b'}\n{"id": "3"}\n')
    apart, passed = [], []
    for block in read_json_blocks(path, plan):
        apart += [row.line for row in block.rows]
        if block.frame.height:
            passed += block.lines[plan.passes(block.frame).to_numpy()].tolist()
    assert 2 not in passed
    assert {1, 3} <= {*apart, *passed}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["data.jsonl", "data.csv"])
def test_a_line_of_100_megabytes_of_a_data_set_is_refused_in_bounded_memory(
    name: str, tmp_path: Path
) -> None:
    path = tmp_path / name
    is_json = name.endswith("jsonl")
    first = (
        json.dumps(GOOD) if is_json else "uid,context,hypothesis,label\n1,c,h,neutral"
    )
    opening = '{"uid": "2", "context": "' if is_json else '2,"'
    path.write_text(first + "\n" + opening + "x" * 100_000_000 + '"\n')
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    started = time.monotonic()
    with pytest.raises((DataError, SchemaError), match="must be shorter than 64 MiB"):
        evaluate(path, [{"id": "1", "label": "neutral"}], task="nli", model="m")
    assert time.monotonic() - started < 20
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 600 << 10
    assert sum(row.values is None for row in read_json_rows(path)) >= is_json
