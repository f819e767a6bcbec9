"""`evalkit leaderboard` compares models on datasets."""

import csv
import io
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import Result
from scipy import stats

import evalkit

Invoke = Callable[..., Result]
Scores = dict[str, dict[str, Any]]

LABELS = ("positive", "negative")
MODELS = {"good": 14, "fair": 28, "poor": 44}
"""Number of wrong labels of 60 on the first dataset, in Wilson's plain range."""

SETS = {"film": 0, "food": 3}
"""Number of further wrong labels on each dataset."""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Evaluate three models on two datasets."""
    root = tmp_path_factory.mktemp("board")
    for name, more in SETS.items():
        rows = [
            {"uid": str(n), "statement": name, "label": LABELS[n % 2]}
            | {"tags": [f"half:{n % 2}"]}
            for n in range(60)
        ]
        data = root / f"{name}.jsonl"
        data.write_text("".join(json.dumps(row) + "\n" for row in rows))
        for model, wrong in MODELS.items():
            evaluate(root, name, model, wrong + more)
    return root


def evaluate(root: Path, name: str, model: str, wrong: int, **options: Any) -> Any:
    rows = [
        {"id": str(n), "label": LABELS[(n + (n < wrong)) % 2]}
        for n in range(options.pop("skipped", 0), 60)
    ]
    defaults = {"metrics": ["accuracy", "f1:label=positive"], "out": root / "runs"}
    return evalkit.evaluate(
        str(root / f"{name}.jsonl"),
        rows,
        model=model,
        task="sentiment",
        **{**defaults, **options},
    )


@pytest.fixture
def root(made: Path, tmp_path: Path) -> Path:
    """Copy the runs, so that a test may change them."""
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    return tmp_path


def board(invoke: Invoke, *arguments: str) -> tuple[dict[str, Scores], list[str]]:
    """Return the scores by model and name, and the notices."""
    done = invoke("leaderboard", *arguments, "--json")
    assert done.exit_code == 0, done.stderr
    found = json.loads(done.stdout)
    rows = {
        row["model"]: {score["name"]: score for score in row["scores"]}
        for row in found["models"]
    }
    return rows, found["notices"]


@pytest.mark.usefixtures("root")
def test_the_table_explains_every_number(invoke: Invoke, monkeypatch: Any) -> None:
    done = invoke("leaderboard")
    assert (done.exit_code, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    header = "model mean rank win-rate rank film rank food rank"
    assert lines[0].split() == header.split()
    assert [line.split()[0] for line in lines[1:4]] == ["good", "fair", "poor"]
    assert [line.partition(":")[0] for line in lines[4:]] == [
        *("", "accuracy in %, with 95 % intervals; sorted by mean"),
        *("mean", "intervals of means", "win-rate", "rank"),
    ]
    assert invoke("leaderboard", "-q").stdout.splitlines() == lines[:4]
    monkeypatch.setenv("COLUMNS", "80")
    narrow = invoke("leaderboard").stdout.splitlines()
    assert max(map(len, narrow)) <= 80
    assert any(line.startswith("not shown, as the terminal") for line in narrow)


def test_folders_and_runs_are_named_as_in_other_commands(
    invoke: Invoke, root: Path, monkeypatch: Any
) -> None:
    folder, variable = str(root / "runs"), f"runs{os.pathsep}later"
    shown = invoke("leaderboard", folder, "-q").stdout
    evaluate(root, "film", "poor", 0, out=root / "later")
    assert board(invoke)[0]["poor"]["film"]["value"] == 16 / 60
    for arguments in (("runs", "later"), ("runs", "poor@film"), ("later",)):
        again = board(invoke, *arguments)[0]["poor"]["film"]["value"]
        assert again == (16 / 60 if "poor@film" in arguments else 1.0)
    assert [*board(invoke, "good@film", "poor@film")[0]] == ["good", "poor"]
    monkeypatch.setenv("EVALKIT_OUT", variable)
    assert board(invoke)[0]["poor"]["film"]["value"] == 1.0
    assert invoke("leaderboard", folder, "-q").stdout == shown
    for arguments in (("nowhere",), ("--since", "2999-01-01"), ("--language", "th")):
        assert invoke("leaderboard", *arguments).exit_code == 1
    assert next(iter(board(invoke, "--round", "0")[0])) == "good"


@pytest.mark.usefixtures("root")
def test_numbers_are_those_of_the_runs_and_of_independent_code(invoke: Invoke) -> None:
    rows, notices = board(invoke, "--no-ranks")
    assert notices == []
    for model, wrong in MODELS.items():
        shares, below, above = [], [], []
        for name, more in SETS.items():
            score, hits = rows[model][name], 60 - wrong - more
            interval = stats.binomtest(hits, 60).proportion_ci(method="wilson")
            assert score["value"] == pytest.approx(hits / 60)
            assert score["ci_low"] == pytest.approx(interval.low)
            assert score["ci_high"] == pytest.approx(interval.high)
            [run] = score["runs"]
            assert evalkit.read_run(run["path"])["accuracy"].value == score["value"]
            shares.append(hits / 60)
            below.append(hits / 60 - interval.low)
            above.append(interval.high - hits / 60)
        mean = rows[model]["mean"]
        assert mean["value"] == pytest.approx(np.mean(shares))
        low = np.mean(shares) - np.linalg.norm(below) / 2
        assert mean["ci_low"] == pytest.approx(low)
        high = np.mean(shares) + np.linalg.norm(above) / 2
        assert mean["ci_high"] == pytest.approx(high)
        assert (mean["n"], mean["ci_method"], mean["rank_best"]) == (120, "mover", None)
    rates = {model: scores["win-rate"]["value"] for model, scores in rows.items()}
    assert rates == {"good": 1.0, "fair": 0.5, "poor": 0.0}
    ranks = {
        model: (scores["mean"]["rank_best"], scores["mean"]["rank_worst"])
        for model, scores in board(invoke)[0].items()
    }
    assert ranks == {"good": (1, 1), "fair": (2, 2), "poor": (3, 3)}


def test_missing_scores_are_never_averaged_over_in_silence(
    invoke: Invoke, root: Path
) -> None:
    [gone] = (root / "runs/food").glob("*fair*")
    shutil.rmtree(gone)
    evaluate(root, "food", "new", 3, limit=5)
    evaluate(root, "film", "new", 9, skipped=15, on_missing="skip")
    (root / "runs/film/leftover").mkdir()
    rows, notices = board(invoke, "--no-ranks")
    assert rows["fair"]["mean"]["value"] is None
    assert rows["good"]["mean"]["value"] == pytest.approx((46 + 43) / 120)
    assert rows["new"]["film"]["coverage"] == 0.75
    shown = "\n".join(notices)
    assert "film/leftover: not a run folder" in shown
    assert "new on film: 75.0% of the examples scored" in shown
    assert "mean: no value for fair: no score for food (no run)" in shown
    [why] = [line for line in notices if line.startswith("food: no value for new: ")]
    assert why.endswith("is incomplete: only 5 examples selected")
    Path("skip.yaml").write_text("suite: both\nmissing: skip\nof: [film, food]\n")
    done = invoke("leaderboard", "--suite", "skip.yaml", "--no-ranks")
    assert "53* [41, 65] (1 of 2 datasets)" in done.stdout


@pytest.mark.usefixtures("root")
def test_a_metric_and_a_tag_can_be_chosen(invoke: Invoke) -> None:
    f1 = board(invoke, "--metric", "f1:label=positive", "--no-ranks")[0]
    assert {score["metric"] for score in f1["good"].values()} >= {"f1:label=positive"}
    score = board(invoke, "--tag", "half:1")[0]["poor"]["film"]
    assert (score["value"], score["n"], score["rank_worst"]) == (8 / 30, 30, 3)
    assert "accuracy of half:1 in %" in invoke("leaderboard", "--tag", "half:1").stdout
    mean = board(invoke, "--tag", "macro:half", "--no-ranks")[0]["poor"]["film"]
    assert mean["value"] == pytest.approx(16 / 60)
    done = invoke("leaderboard", "--tag", "half:2")
    assert (done.exit_code, done.stdout) == (1, "")
    assert "has no score accuracy of half:2" in done.stderr


@pytest.mark.usefixtures("root")
def test_a_suite_has_levels_and_a_rating(invoke: Invoke) -> None:
    text = (
        "suite: bench\nrank: {method: mean-rank}\nof: [film, {name: all, of: [food]}]\n"
    )
    Path("bench.yaml").write_text(text)
    tell = ("leaderboard", "--suite", "bench.yaml", "--no-ranks", "-q")
    for depth, header in (("0", ""), ("1", " film all"), ("2", " film all all/food")):
        line = invoke(*tell, "--depth", depth).stdout.splitlines()[0]
        assert " ".join(line.split()) == f"model bench mean-rank{header}"
    for by, first in (("all/food", "good"), ("model", "fair"), ("mean-rank", "good")):
        lines = invoke(*tell, "--sort", by).stdout.splitlines()
        assert lines[1].split()[0] == first
    done = invoke(*tell, "--sort", "flim")
    assert (done.exit_code, done.stdout) == (2, "")
    names = "bench, mean-rank, film, all, all/food, model"
    assert f"unknown column 'flim'. Columns: {names}" in done.stderr


def test_worst_cases_stand_beside_scores(invoke: Invoke, runs: Path) -> None:
    tell = ("leaderboard", str(runs), "--perturbed", "--no-ranks")
    rows = board(invoke, *tell[1:])[0]
    [name] = [name for name in rows["good"] if name.endswith("(robustness)")]
    own = rows["good"][name.removesuffix(" (robustness)")]
    worst = rows["good"][name]
    assert (worst["n"], worst["metric"]) == (own["n"], own["metric"])
    assert worst["value"] < own["value"]
    assert name not in rows["bad"]
    assert name in invoke(*tell).stdout


@pytest.mark.usefixtures("root")
def test_tables_alone_go_to_stdout(invoke: Invoke) -> None:
    for table_format, start in (("md", "| mo"), ("latex", "\\b"), ("csv", "model,")):
        done = invoke("leaderboard", "--format", table_format, "--no-ranks")
        assert (done.exit_code, done.stdout.startswith(start)) == (0, True)
        assert "intervals; sorted by" not in done.stdout
        assert "intervals; sorted by" in done.stderr
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    assert [row["kind"] for row in rows[:4]] == ["mean", "rating", "dataset", "dataset"]
    scores = board(invoke, "--no-ranks")[0]["good"]
    assert float(rows[0]["ci_low"]) == scores["mean"]["ci_low"]
    assert rows[2]["run_id"] == scores["film"]["runs"][0]["run_id"]
    html = invoke("leaderboard", "--format", "html", "--no-ranks")
    assert html.stdout.startswith("<!doctype html>\n<html lang=")


def test_verdicts_are_rated_without_runs(invoke: Invoke, tmp_path: Path) -> None:
    rows = [
        {"model_a": "x", "model_b": "y", "winner": winner, "id": n}
        for n, winner in enumerate(("a", "a", "b", "tie") * 10)
    ]
    path = tmp_path / "verdicts.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    tell = ("--verdicts", str(path))
    found = board(invoke, *tell, "--rating", "win-rate")[0]
    assert {model: each["win-rate"]["value"] for model, each in found.items()} == {
        "x": 0.625,
        "y": 0.375,
    }
    lead = board(invoke, *tell)[0]["x"]["bradley-terry"]["value"]
    assert lead == pytest.approx(np.log(0.625 / 0.375) / 2, rel=1e-3)
    done = invoke("leaderboard", *tell, "--suite", "tweeteval")
    assert (done.exit_code, "--suite is an option of runs" in done.stderr) == (2, True)
    done = invoke("leaderboard", "--rating", "elo")
    assert (done.exit_code, "is an option of --verdicts" in done.stderr) == (2, True)
