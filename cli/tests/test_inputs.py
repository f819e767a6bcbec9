import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from click.testing import Result

Invoke = Callable[..., Result]

ROWS = [
    {"uid": "1", "statement": "Good \x1b[31m", "label": "positive", "tags": ["a:b"]},
    {"uid": "2", "statement": "Bad", "label": "negative", "tags": []},
]


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "data.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    return path


def test_json_lines_go_to_stdout(
    data: Path, invoke: Invoke, capfd: pytest.CaptureFixture[str]
) -> None:
    found = invoke("inputs", "data.jsonl", "--task", "sentiment")
    assert found.exit_code == 0, found.output
    lines = capfd.readouterr().out.splitlines()
    assert [json.loads(line) for line in lines] == [
        {"uid": row["uid"], "statement": row["statement"]} for row in ROWS
    ]
    assert "\x1b" not in "".join(lines)


def test_a_file_is_written_and_not_replaced(data: Path, invoke: Invoke) -> None:
    command = ("inputs", "--data", "data.jsonl", "--task", "sentiment", "-o")
    found = invoke(*command, "in.parquet", "--filter", "a=b")
    assert found.exit_code == 0, found.output
    message = "1 example of 2 written to in.parquet: uid, statement"
    assert found.stderr.strip() == message
    assert pl.read_parquet("in.parquet")["uid"].to_list() == ["1"]
    again = invoke(*command, "in.parquet")
    assert again.exit_code == 1
    assert "in.parquet is there already" in again.stderr
    replaced = invoke(*command, "in.parquet", "--overwrite", "-q")
    assert (replaced.exit_code, replaced.stderr) == (0, "")
    assert pl.read_parquet("in.parquet").height == 2


def test_the_first_examples_are_written(data: Path, invoke: Invoke) -> None:
    found = invoke("inputs", "sample-nli", "-n", "2", "-o", "in.csv")
    assert found.exit_code == 0, found.output
    frame = pl.read_csv("in.csv")
    assert frame.columns == ["uid", "context", "hypothesis"]
    assert frame.height == 2


def test_adapters_sit_at_data_only(data: Path, invoke: Invoke) -> None:
    path = data.with_name("raw.jsonl")
    path.write_text('{"key": 7, "text": "Hi"}\n')
    command: list[Any] = ["inputs", "raw.jsonl", "--task", "sentiment", "-o", "in.csv"]
    found = invoke(*command, "--adapter", "data=rename:text=statement,key=uid")
    assert found.exit_code == 0, found.output
    assert Path("in.csv").read_text() == "uid,statement\n7,Hi\n"
    wrong = invoke(*command, "--adapter", "predictions=rename:text=statement")
    assert wrong.exit_code == 2
    assert "not of the form data=FILE or data=NAME" in wrong.output
    unknown = invoke(*command, "--adapter", "data=renam", "--overwrite")
    assert unknown.exit_code == 1
    assert "adapters/renam" in unknown.output or "'renam'" in unknown.output
