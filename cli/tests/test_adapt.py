"""`evalkit adapt`, and `--adapter` of other commands."""

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from click.testing import CliRunner, Result
from pydantic import TypeAdapter

from evalkit.errors import SchemaError
from evalkit_cli.commands.adapt import adapt_command
from evalkit_cli.main import cli


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    lines = '{"a": 1, "l": ["x", "y"]}\n{"a": 2, "l": ["z"]}\n'
    Path("in.jsonl").write_text(lines, encoding="utf-8")
    Path("fix.yaml").write_text(
        "- kind: Rename\n  configuration: {a: b}\n"
        "- kind: ExplodeCollections\n  configuration: {collections: [l]}\n",
        encoding="utf-8",
    )
    return tmp_path


def adapt(*arguments: str) -> Result:
    return CliRunner().invoke(adapt_command, arguments, catch_exceptions=False)


def test_the_first_rows_are_printed() -> None:
    done = adapt("in.jsonl", "-a", "fix.yaml", "--limit", "1")
    assert done.output == '{"b": 1, "l": "x"}\n{"b": 1, "l": "y"}\n'
    assert json.loads(adapt("in.jsonl", "-a", "fix.yaml", "--json").output) == [
        {"b": 1, "l": "x"},
        {"b": 1, "l": "y"},
        {"b": 2, "l": "z"},
    ]


def test_each_stage_is_explained() -> None:
    done = adapt("in.jsonl", "-a", "fix.yaml", "--explain", "2")
    assert done.output.splitlines() == [
        "row 2",
        '  {"a": 2, "l": ["z"]}',
        "after stage 1 (Rename): 1 row",
        '  {"l": ["z"], "b": 2}',
        "after stage 2 (ExplodeCollections): 1 row",
        '  {"b": 2, "l": "z"}',
    ]
    done = adapt("in.jsonl", "-a", "fix.yaml", "--explain", "--json")
    as_json = json.loads(done.output)
    assert [stage["stage"] for stage in as_json["stages"]] == [1, 2]


@pytest.mark.parametrize("source", ["in.jsonl", "in.parquet"])
@pytest.mark.parametrize("target", ["out.jsonl", "out.parquet"])
def test_files_are_written(source: str, target: str) -> None:
    pl.read_ndjson("in.jsonl").write_parquet("in.parquet")
    done = adapt(source, "-a", "fix.yaml", "-o", target)
    assert done.output == f"2 rows read, 3 written to {target}\n"
    read = pl.read_ndjson if target.endswith("jsonl") else pl.read_parquet
    assert read(target).to_dicts() == [
        {"b": 1, "l": "x"},
        {"b": 1, "l": "y"},
        {"b": 2, "l": "z"},
    ]


def test_what_a_killed_call_left_is_named() -> None:
    for left in (".out.jsonl.123.part", ".out.jsonl-0a1b2c3d.part"):
        Path(left).touch()
    Path(".out.jsonl2-0a1b2c3d.part").touch()
    done = adapt("in.jsonl", "-a", "fix.yaml", "-o", "out.jsonl", "--json")
    assert done.output.splitlines()[:3] == [
        ".out.jsonl-0a1b2c3d.part: is of a call that did not end, or still runs",
        ".out.jsonl.123.part: is of a call that did not end, or still runs",
        "{",
    ]
    assert Path("out.jsonl").read_text("utf-8").count("\n") == 3


def test_durations_are_written_so_that_they_are_read_again() -> None:
    durations = [timedelta(seconds=-1), timedelta(days=-3, microseconds=5)]
    pl.DataFrame({"a": durations, "l": [["x"], ["y"]]}).write_parquet("in.parquet")
    adapt("in.parquet", "-a", "fix.yaml", "-o", "out.jsonl")
    lines = Path("out.jsonl").read_text(encoding="utf-8").splitlines()
    read = TypeAdapter(timedelta)
    assert [read.validate_python(json.loads(each)["b"]) for each in lines] == durations


def run(*arguments: str) -> tuple[int, str]:
    """Run a command; return exit code and stderr."""
    done = CliRunner().invoke(cli, arguments)
    return done.exit_code, done.stderr


@pytest.mark.slow
def test_a_row_that_cannot_be_adapted_leaves_what_was_there(folder: Path) -> None:
    Path("bad.jsonl").write_text('{"a": 1, "l": ["x"]}\n{"l": []}\n', encoding="utf-8")
    Path("out.jsonl").write_text("before\n", encoding="utf-8")
    code, error = run("adapt", "bad.jsonl", "-a", "fix.yaml", "-o", "out.jsonl")
    assert code == 1
    assert "bad.jsonl: line 2: stage 1 (Rename): there is no field 'a'" in error
    assert Path("out.jsonl").read_text(encoding="utf-8") == "before\n"
    assert not [*folder.glob(".out*")]


@pytest.mark.slow
def test_eval_takes_adapters() -> None:
    rows: list[dict[str, Any]] = [
        {"uid": "1", "statement": "a", "label": "x"},
        {"uid": "2", "statement": "b", "label": "y"},
    ]
    pl.DataFrame(rows).write_ndjson("data.jsonl")
    pl.DataFrame([{"id": "1", "b": "x"}, {"id": "2", "b": "y"}]).write_ndjson("m.jsonl")
    Path("m.yaml").write_text("kind: Rename\nconfiguration: {b: label}\n")
    task = ("--task", "text-classification")
    arguments = ("--data", "data.jsonl", *task, "-p", "m.jsonl")
    for command in (("eval", "-m", "accuracy"), ("validate",)):
        assert run(*command, *arguments, "--adapter", "predictions=m.yaml")[0] == 0
    from evalkit_cli.main import cli

    shown = CliRunner().invoke(cli, ["show", "latest", "-v"])
    assert "adapters of predictions: rename\n" in shown.stdout
    for wrong in ("m.yaml", "answers=m.yaml"):
        code, error = run("eval", *arguments, "--adapter", wrong)
        assert code == 2
        assert "not of the form predictions=FILE" in error


@pytest.mark.parametrize(
    "values",
    [
        [[1], [2.5]],
        [{"x": 1}, {"y": 2}],
        [[[1]], [["a"]]],
        [1.5, 2**60 + 1],
        [2, True],
        [{}, {}],
    ],
)
def test_a_table_that_would_change_values_is_refused(values: list[Any]) -> None:
    lines = "".join(json.dumps({"a": value, "l": ["x"]}) + "\n" for value in values)
    Path("in.jsonl").write_text(lines, encoding="utf-8")
    with pytest.raises(SchemaError, match=r"write \.jsonl"):
        adapt("in.jsonl", "-a", "fix.yaml", "-o", "out.parquet")
    assert not Path("out.parquet").exists()
    assert adapt("in.jsonl", "-a", "fix.yaml", "-o", "out.jsonl").exit_code == 0
    written = Path("out.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line)["b"] for line in written] == values
