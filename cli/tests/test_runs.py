"""`evalkit runs` lists what was evaluated."""

from __future__ import annotations

import csv
import io
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from edited_runs import write_record

from evalkit import Score

Invoke = Callable[..., Result]
Write = Callable[..., str]

RIGHT = ("positive", "negative", "neutral", "positive")
THREE = ("positive", "negative", "positive", "positive")


@pytest.fixture(autouse=True)
def _plugins(plugins: Any) -> None:
    """All tests here use the plugins of conftest.py."""


@pytest.fixture
def evaluate(
    invoke: Invoke, predict: Write, write_rows: Write, tmp_path: Path
) -> Callable[..., Path]:
    """Evaluate labels; give the run's folder, which began at a given minute."""
    minutes = iter(range(10, 60))

    def run(
        model: str, labels: tuple[str, ...], *options: str, metric: str = "accuracy"
    ) -> Path:
        file = predict(f"{model}.jsonl", labels)
        arguments = ("eval", "tiny", "-p", file, "-m", metric, "--json", *options)
        record = json.loads(invoke(*arguments).stdout)
        path = tmp_path / "runs" / "tiny" / record["run_id"]
        record["timings"]["started"] = f"2025-03-01T09:{next(minutes)}:30+00:00"
        write_record(path, record)
        return path

    return run


def test_runs_are_listed_newest_first(
    invoke: Invoke, evaluate: Callable[..., Path]
) -> None:
    older = evaluate("three", THREE)
    newer = evaluate("perfect", RIGHT, "-n", "2")
    done = invoke("runs")
    assert done.exit_code == 0
    assert done.stderr == ""
    assert done.stdout == (
        "run               evaluated (UTC)   dataset  model    metric    score"
        "    95 % CI  n  status\n"
        f"{newer.name}  2025-03-01 09:11  tiny     perfect  accuracy  100 %  "
        "[34, 100]  2  partial\n"
        f"{older.name}  2025-03-01 09:10  tiny     three    accuracy   75 %   "
        "[24, 99]  4  complete\n"
    )


def test_json_holds_the_main_score_in_full(
    invoke: Invoke, evaluate: Callable[..., Path]
) -> None:
    path = evaluate("three", THREE)
    [run] = json.loads(invoke("runs", "--json").stdout)
    headline = run.pop("headline")
    assert run == {
        "path": f"runs/tiny/{path.name}",
        "run_id": path.name,
        "started": "2025-03-01T09:10:30+00:00",
        "dataset": "tiny",
        "task": "sentiment",
        "split": "test",
        "model": "three",
        "status": "complete",
        "parent": None,
        "evaluated": "2025-03-01T09:10:30+00:00",
        "repeat_of": None,
        "confidence": 0.95,
    }
    assert tuple(headline) == Score._fields
    assert (headline["value"], headline["n"]) == (0.75, 4)
    assert headline == json.loads((path / "run.json").read_text())["scores"][0]


def test_every_interval_has_its_level(
    invoke: Invoke, evaluate: Callable[..., Path]
) -> None:
    evaluate("wide", THREE)
    evaluate("narrow", THREE, "--confidence", "0.9")
    header, narrow, wide = invoke("runs").stdout.splitlines()
    assert "  CI  " in header
    assert "] (90 %)  4" in narrow
    assert "] (95 %)  4" in wide
    assert "90 % CI" in invoke("runs", "--model", "narrow").stdout
    done = invoke("runs", "--format", "csv")
    rows = csv.DictReader(io.StringIO(done.stdout))
    assert [row["confidence"] for row in rows] == ["0.9", "0.95"]


@pytest.mark.slow
def test_a_rescored_run_is_marked(
    invoke: Invoke, evaluate: Callable[..., Path]
) -> None:
    path = evaluate("three", THREE)
    invoke("rescore", "three", "-m", "macro-f1")
    new, old = invoke("runs").stdout.splitlines()[1:]
    assert new.endswith("  complete, rescored")
    assert old.endswith("  complete")
    [row, _] = csv.DictReader(io.StringIO(invoke("runs", "--format", "csv").stdout))
    assert row["parent"] == path.name


def test_csv_holds_values_as_stored(
    invoke: Invoke, evaluate: Callable[..., Path]
) -> None:
    path = evaluate("three", THREE)
    [row] = csv.DictReader(io.StringIO(invoke("runs", "--format", "csv").stdout))
    assert (row["run_id"], row["value"], row["n"]) == (path.name, "0.75", "4")
    assert row["path"] == f"runs/tiny/{path.name}"


@pytest.mark.parametrize(
    ("table_format", "start"),
    [
        (
            "md",
            "| run | evaluated (UTC) | dataset | model | metric | score | 95 % CI |",
        ),
        ("latex", r"\begin{tabular}{lllllrrrl}"),
    ],
)
def test_other_formats(
    invoke: Invoke, evaluate: Callable[..., Path], table_format: str, start: str
) -> None:
    evaluate("three", THREE)
    done = invoke("runs", EVALKIT_FORMAT=table_format)
    assert done.stdout.startswith(start)


def test_a_data_set_or_a_model_chooses(
    invoke: Invoke, evaluate: Callable[..., Path]
) -> None:
    three = evaluate("three", THREE)
    evaluate("perfect", RIGHT)
    [run] = json.loads(invoke("runs", "--model", "three", "--json").stdout)
    assert run["run_id"] == three.name
    assert len(json.loads(invoke("runs", "--dataset", "tiny", "--json").stdout)) == 2
    none = invoke("runs", "--dataset", "tiny", "--model", "four", "--json")
    assert (none.exit_code, json.loads(none.stdout)) == (0, [])
    assert none.stderr == (
        "evalkit: none of the 2 runs in runs is of this data set, model and time\n"
    )


def test_refused_and_undefined_runs_have_no_score(
    invoke: Invoke, evaluate: Callable[..., Path]
) -> None:
    refused = evaluate("refused", THREE[:2])
    failed = evaluate("failed", THREE, metric="failing")
    lines = invoke("runs").stdout.splitlines()
    assert lines[1].split()[0] == failed.name
    assert lines[1].split()[-1] == "partial"
    assert lines[2].split() == [
        *(refused.name, "2025-03-01", "09:10", "tiny", "refused"),
        *("–", "–", "–", "–", "refused"),
    ]
    rows = list(csv.reader(io.StringIO(invoke("runs", "--format", "csv").stdout)))
    assert rows[2][6:12] == ["refused", "", "", "", "", ""]
    assert json.loads(invoke("runs", "--json").stdout)[1]["headline"] is None


def test_a_run_without_a_start_has_a_dash(
    invoke: Invoke, evaluate: Callable[..., Path]
) -> None:
    path = evaluate("three", THREE)
    record = json.loads((path / "run.json").read_text())
    del record["timings"]
    write_record(path, record)
    assert invoke("runs").stdout.splitlines()[1].split()[1:3] == ["–", "tiny"]


def test_broken_folders_are_named_and_harm_no_other(
    invoke: Invoke, evaluate: Callable[..., Path], tmp_path: Path
) -> None:
    path = evaluate("three", THREE)
    for number in range(7):
        shutil.copytree(path, path.with_name(f"broken{number}"))
        (path.with_name(f"broken{number}") / "run.json").write_text("{", "utf-8")
    done = invoke("runs")
    assert done.exit_code == 1
    assert len(done.stdout.splitlines()) == 2
    warnings = done.stderr.splitlines()
    assert len(warnings) == 6
    assert all(
        line.startswith("evalkit: warning: runs/tiny/broken") for line in warnings[:5]
    )
    assert "run.json: is not JSON: " in warnings[0]
    assert warnings[5] == "evalkit: warning: and 2 more like these"


@pytest.mark.parametrize("form", [["--json"], ["--format", "csv"]])
def test_programs_are_told_of_each_broken_folder(
    invoke: Invoke, evaluate: Callable[..., Path], form: list[str]
) -> None:
    path = evaluate("three", THREE)
    for number in range(7):
        path.with_name(f"empty{number}").mkdir()
    done = invoke("runs", *form)
    assert done.exit_code == 1
    if form == ["--json"]:
        assert [run["run_id"] for run in json.loads(done.stdout)] == [path.name]
    for number in range(7):
        assert f"empty{number}: is no run: it holds no run.json" in done.stderr


def test_no_runs_is_no_error_and_says_how_to_make_one(
    invoke: Invoke, tmp_path: Path
) -> None:
    done = invoke("runs")
    assert (done.exit_code, done.stdout) == (0, "")
    assert done.stderr.startswith("evalkit: there is no folder runs; `evalkit eval`")
    (tmp_path / "old").mkdir()
    done = invoke("runs", "--json", EVALKIT_OUT="old")
    assert (done.exit_code, done.stdout) == (0, "[]\n")
    assert done.stderr.startswith("evalkit: there are no runs in old; `evalkit eval`")


def test_names_cannot_speak_to_the_terminal(
    invoke: Invoke, evaluate: Callable[..., Path]
) -> None:
    path = evaluate("three", THREE)
    record = json.loads((path / "run.json").read_text())
    record["model"] = "a\x1b[31m\nb"
    write_record(path, record)
    assert "a\\x1b[31m\\nb" in invoke("runs").stdout


@pytest.mark.slow
def test_a_run_that_is_evaluated_again_is_the_latest_and_says_so(
    invoke: Invoke, evaluate: Callable[..., Path]
) -> None:
    first, second = evaluate("three", THREE), evaluate("perfect", RIGHT)
    assert invoke("show", "latest", "--json").stdout.count(second.name)
    again = ("eval", "tiny", "-p", "three.jsonl", "-m", "accuracy")
    done = invoke(*again)
    assert done.exit_code == 0
    line = f"run folder: runs/tiny/{first.name} (an identical run was there already)"
    assert line in done.stdout.splitlines()
    assert json.loads(invoke("show", "latest", "--json").stdout)["run_id"] == first.name
    newest, older = json.loads(invoke("runs", "--json").stdout)
    assert (newest["run_id"], older["run_id"]) == (first.name, second.name)
    assert newest["started"] == "2025-03-01T09:10:30+00:00"
    assert newest["evaluated"] > older["evaluated"]
    shown = invoke("runs").stdout.splitlines()[1:]
    assert shown[0].split()[:2] == [first.name, newest["evaluated"][:10]]


@pytest.mark.slow
def test_what_was_made_of_runs_again_is_not_called_new(
    invoke: Invoke, evaluate: Callable[..., Path]
) -> None:
    path = evaluate("three", THREE)
    assert "\nnew run " in invoke("rescore", path.name, "-m", "macro-f1").stdout
    again = invoke("rescore", path.name, "-m", "macro-f1").stdout
    assert "\nthe run was there already: " in again
    assert "new run" not in again


def test_a_repeat_with_other_numbers_is_listed_as_one(
    invoke: Invoke, evaluate: Callable[..., Path]
) -> None:
    path = evaluate("three", THREE)
    record = json.loads((path / "run.json").read_text("utf-8"))
    for score in record["scores"]:
        score["value"] = 0.5
    write_record(path, record)
    done = invoke("eval", "tiny", "-p", "three.jsonl", "-m", "accuracy")
    assert done.exit_code == 0
    assert "75 %" in done.stdout
    assert f"notice: accuracy: not as in the run {path.name}, although" in done.stdout
    newest, older = invoke("runs").stdout.splitlines()[1:]
    assert newest.endswith("  complete, other repeat")
    assert older.startswith(path.name)
    [row, _] = csv.DictReader(io.StringIO(invoke("runs", "--format", "csv").stdout))
    assert row["repeat_of"] == path.name


@pytest.mark.slow
def test_a_repeat_that_leaves_no_time_is_told_even_where_all_else_is_quiet(
    invoke: Invoke, predict: Write, tmp_path: Path
) -> None:
    labels = ("positive", "negative", "neutral", "positive")
    arguments = ("eval", "tiny", "-p", predict("quiet.jsonl", labels), "-q")
    first = invoke(*arguments, "-o", "repeats")
    assert (first.exit_code, first.stderr) == (0, "")
    notes = tmp_path / "repeats" / "tiny" / ".evaluated"
    notes.write_text("in the way", "utf-8")
    told = "evalkit: warning: the run was there already, and it cannot be noted that"
    assert invoke(*arguments, "-o", "repeats").stderr.startswith(told)
    notes.unlink()
    assert invoke(*arguments, "-o", "repeats").stderr == ""
    [note] = notes.iterdir()
    note.write_text("yesterday", "utf-8")
    done = invoke("runs", "-o", "repeats")
    assert len(done.stdout.splitlines()) == 2
    assert "holds no time, so that it is not known when the run was" in done.stderr
