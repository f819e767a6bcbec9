"""`evalkit runs` lists what was evaluated."""

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

import evalkit
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
        [path] = (tmp_path / "runs" / "tiny").glob(f"*-{record['fingerprint'][:8]}")
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
        "run       evaluated (UTC)   dataset  model    metric    score"
        "    95 % CI  n  status\n"
        f"{newer.name[-8:]}  2025-03-01 09:11  tiny     perfect  accuracy  100 %  "
        "[34, 100]  2  partial\n"
        f"{older.name[-8:]}  2025-03-01 09:10  tiny     three    accuracy   75 %   "
        "[30, 95]  4  complete\n"
    )


def test_json_holds_the_main_score_in_full(
    invoke: Invoke, evaluate: Callable[..., Path]
) -> None:
    path = evaluate("three", THREE)
    [run] = json.loads(invoke("runs", "--json").stdout)
    headline = run.pop("headline")
    assert run == {
        "path": f"runs/tiny/{path.name}",
        "run_id": path.name[-8:],
        "fingerprint": json.loads((path / "run.json").read_text())["fingerprint"],
        "started": "2025-03-01T09:10:30+00:00",
        "dataset": "tiny",
        "task": "sentiment",
        "split": "test",
        "model": "three",
        "status": "complete",
        "parent": None,
        "confidence": 0.95,
        "perturbation": None,
        "original": None,
    }
    assert tuple(headline) == Score._fields
    assert (headline["value"], headline["n"]) == (0.75, 4)
    assert headline == evalkit.read_run(path).scores[0]._asdict()


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
    assert row["parent"].startswith(path.name[-8:])


def test_csv_holds_values_as_stored(
    invoke: Invoke, evaluate: Callable[..., Path]
) -> None:
    path = evaluate("three", THREE)
    [row] = csv.DictReader(io.StringIO(invoke("runs", "--format", "csv").stdout))
    assert (row["run_id"], row["value"], row["n"]) == (path.name[-8:], "0.75", "4")
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
    assert run["run_id"] == three.name[-8:]
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
    assert lines[1].split()[0] == failed.name[-8:]
    assert lines[1].split()[-1] == "partial"
    assert lines[2].split() == [
        *(refused.name[-8:], "2025-03-01", "09:10", "tiny", "refused"),
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
        assert [run["run_id"] for run in json.loads(done.stdout)] == [path.name[-8:]]
    for number in range(7):
        assert f"empty{number}: not a run folder (run.json is missing)" in done.stderr


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


def test_a_run_that_is_evaluated_again_is_listed_once(
    invoke: Invoke, evaluate: Callable[..., Path]
) -> None:
    first, second = evaluate("three", THREE), evaluate("perfect", RIGHT)
    done = invoke("eval", "tiny", "-p", "three.jsonl", "-m", "accuracy")
    assert done.exit_code == 0
    newest, older = json.loads(invoke("runs", "--json").stdout)
    assert (newest["run_id"], older["run_id"]) == (first.name[-8:], second.name[-8:])
    assert newest["path"] != f"runs/tiny/{first.name}"
    assert f"run folder: {newest['path']}" in done.stdout.splitlines()
    latest = json.loads(invoke("show", first.name[-8:], "--json").stdout)
    assert latest["timings"]["started"] == newest["started"]
