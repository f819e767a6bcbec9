"""`evalkit leaderboard` puts models and data sets beside each other."""

import csv
import io
import json
import os
import re
import shutil
from collections.abc import Callable
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import Result
from scipy import stats

import evalkit
from evalkit_analysis_compare import compare

Invoke = Callable[..., Result]

LABELS = ("positive", "negative")
MODELS = {"good": 14, "fair": 28, "poor": 44}
"""How many of 60 labels of a model are wrong on the first data set; so many that the
intervals are plain Wilson ones."""

SETS = {"film": 0, "food": 3}
"""By how many more are wrong on each."""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Evaluate three models on two data sets."""
    root = tmp_path_factory.mktemp("board")
    for name, more in SETS.items():
        data = root / f"{name}.jsonl"
        rows = [
            {
                "uid": str(n),
                "statement": name,
                "label": LABELS[n % 2],
                "tags": [f"half:{n % 2}"],
            }
            for n in range(60)
        ]
        data.write_text("".join(json.dumps(row) + "\n" for row in rows))
        for model, wrong in MODELS.items():
            labels = [LABELS[(n + (n < wrong + more)) % 2] for n in range(60)]
            found = [{"id": str(n), "label": label} for n, label in enumerate(labels)]
            evalkit.evaluate(
                str(data),
                found,
                task="sentiment",
                model=model,
                metrics=["accuracy", "f1:label=positive"],
                out=root / "runs",
            )
    return root


@pytest.fixture
def runs(made: Path, tmp_path: Path) -> Path:
    """Copy the runs, so that a test may change them."""
    shutil.copytree(made / "runs", tmp_path / "runs")
    for name in SETS:
        shutil.copy(made / f"{name}.jsonl", tmp_path)
    return tmp_path / "runs"


def board(invoke: Invoke, *arguments: str) -> Any:
    done = invoke("leaderboard", *arguments, "--json")
    assert done.exit_code == 0, done.stderr
    return json.loads(done.stdout)


def by_model(found: Any) -> dict[str, Any]:
    return {model["model"]: model for model in found["models"]}


@pytest.mark.usefixtures("runs")
def test_the_table_names_every_number(invoke: Invoke) -> None:
    done = invoke("leaderboard")
    assert (done.exit_code, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert lines[0].split() == [
        *("model", "mean", "rank", "win", "rate", "film", "rank", "food", "rank")
    ]
    assert [line.split()[0] for line in lines[1:4]] == ["good", "fair", "poor"]
    assert lines[4:] == [
        "",
        "accuracy in %, with 95 % intervals; sorted by mean",
        "mean: over 2 data sets, each counted once; its interval adds up theirs, as of "
        "independent data sets (MOVER)",
        "win rate: share of the other models that it scores higher than (lower where "
        "that is better), a tie as a half, on average over data sets; chance is not "
        "considered",
        "rank: where a model may be by comparisons of all pairs at 95 %, adjusted for "
        "their number on each data set",
    ]
    assert invoke("leaderboard", "-q").stdout.splitlines() == lines[:4]


@pytest.mark.usefixtures("runs")
def test_it_fits_a_narrow_terminal(invoke: Invoke, monkeypatch: Any) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    lines = invoke("leaderboard").stdout.splitlines()
    assert max(map(len, lines)) <= 60
    assert "not shown, as the terminal is narrow: rank" in lines
    assert not [line for line in lines if line.startswith("rank: ")]
    assert [line for line in lines if line.startswith("win rate: ")]


def test_the_folder_may_be_named_as_in_other_commands(
    invoke: Invoke, runs: Path, monkeypatch: Any
) -> None:
    shown = invoke("leaderboard", str(runs), "-q").stdout
    monkeypatch.setenv("EVALKIT_OUT", "nowhere")
    assert invoke("leaderboard", "-o", str(runs), "-q").stdout == shown
    assert invoke("leaderboard", "-q").exit_code == 1


@pytest.mark.usefixtures("runs")
def test_numbers_are_those_of_the_runs_and_of_independent_code(invoke: Invoke) -> None:
    found = board(invoke)
    assert [each["name"] for each in found["datasets"]] == ["film", "food"]
    for model, wrong in MODELS.items():
        row = by_model(found)[model]
        shares, below, above, errors = [], [], [], []
        for score, more in zip(row["scores"], SETS.values(), strict=True):
            hits = 60 - wrong - more
            interval = stats.binomtest(hits, 60).proportion_ci(method="wilson")
            assert score["value"] == pytest.approx(hits / 60)
            assert score["ci_low"] == pytest.approx(interval.low)
            assert score["ci_high"] == pytest.approx(interval.high)
            assert evalkit.read_run(score["path"])["accuracy"].value == score["value"]
            shares.append(hits / 60)
            below.append(hits / 60 - interval.low)
            above.append(interval.high - hits / 60)
            errors.append(score["se"])
        mean = row["mean"]
        assert mean["value"] == pytest.approx(np.mean(shares))
        assert mean["se"] == pytest.approx(np.linalg.norm(errors) / 2)
        low = np.mean(shares) - np.linalg.norm(below) / 2
        assert mean["ci_low"] == pytest.approx(low)
        high = np.mean(shares) + np.linalg.norm(above) / 2
        assert mean["ci_high"] == pytest.approx(high)
        assert (mean["n"], mean["ci_method"]) == (120, "mover")
    rates = {name: model["win_rate"] for name, model in by_model(found).items()}
    assert rates == {"good": 1.0, "fair": 0.5, "poor": 0.0}


@pytest.mark.usefixtures("runs")
def test_ranks_follow_from_the_comparisons(invoke: Invoke) -> None:
    found = board(invoke)
    for place, dataset in enumerate(("film", "food")):
        results = [
            evalkit.read_run(model["scores"][place]["path"])
            for model in found["models"]
        ]
        compared = compare(*results, metrics=["accuracy"], tags=False, all_pairs=True)
        for model in found["models"]:
            name, score = model["model"], model["scores"][place]
            assert score["dataset"] == dataset
            own = [row for row in compared.rows if name in (row.model_a, row.model_b)]
            lost = [
                row
                for row in own
                if row.different and (row.difference < 0) == (row.model_a == name)
            ]
            won = [row for row in own if row.different and row not in lost]
            assert score["rank_best"] == 1 + len(lost)
            assert score["rank_worst"] == 3 - len(won)
            assert {row.family_size for row in own} == {3}
    ranks = {
        name: (model["mean"]["rank_best"], model["mean"]["rank_worst"])
        for name, model in by_model(found).items()
    }
    assert ranks == {"good": (1, 1), "fair": (2, 2), "poor": (3, 3)}
    plain = board(invoke, "--no-ranks")
    assert plain["models"][0]["scores"][0]["rank_best"] is None
    assert plain["notices"] == []


def test_a_model_that_lacks_a_data_set_has_no_mean(invoke: Invoke, runs: Path) -> None:
    [gone] = [
        path
        for path in (runs / "food").iterdir()
        if path.name[0] != "." and evalkit.read_run(path).model == "fair"
    ]
    shutil.rmtree(gone)
    found = board(invoke)
    rows = by_model(found)
    assert rows["fair"]["mean"] is None
    assert rows["good"]["mean"]["value"] == pytest.approx((46 + 43) / 120)
    assert found["notices"] == [
        "no mean of fair: there is no score on every data set",
        "no ranks of means: not every model has a score on every data set",
    ]
    assert found["sorted_by"] == "win-rate"
    shown = invoke("leaderboard").stdout
    assert "0.50 (1 of 2 sets)" in shown
    assert "notice: no mean of fair" in shown


def test_one_data_set_has_no_mean(invoke: Invoke, runs: Path) -> None:
    shutil.rmtree(runs / "food")
    found = board(invoke)
    assert found["notices"] == ["no means over data sets: there is one data set"]
    assert found["sorted_by"] == "film"
    done = invoke("leaderboard", "--sort", "mean")
    assert "not sorted by mean: no model has one" in done.stdout


@pytest.mark.usefixtures("runs")
def test_a_metric_and_a_tag_can_be_chosen(invoke: Invoke) -> None:
    f1 = board(invoke, "--metric", "f1:label=positive")
    assert {each["metric"] for each in f1["datasets"]} == {"f1:label=positive"}
    assert by_model(f1)["good"]["mean"]["rank_best"] == 1
    half = board(invoke, "--tag", "half:1")
    score = by_model(half)["poor"]["scores"][0]
    assert (score["value"], score["n"]) == (8 / 30, 30)
    assert score["rank_worst"] == 3
    sizes = {row["family_size"] for row in half["datasets"][0]["comparisons"]}
    assert sizes == {3}
    assert (
        "on the examples with the tag half:1"
        in invoke("leaderboard", "--tag", "half:1", "--no-ranks").stdout
    )
    mean = board(invoke, "--tag", "macro:half")
    value = by_model(mean)["poor"]["scores"][0]["value"]
    halves = [by_model(board(invoke, "--tag", f"half:{i}"))["poor"] for i in (0, 1)]
    expected = [each["scores"][0]["value"] for each in halves]
    assert value == pytest.approx(sum(expected) / 2)
    done = invoke("leaderboard", "--tag", "half:2")
    assert (done.exit_code, done.stdout) == (1, "")
    assert "no complete run in runs has such a score" in done.stderr
    assert "film: no score accuracy on half:2 in the runs of" in done.stderr


@pytest.mark.usefixtures("runs")
@pytest.mark.parametrize(
    ("by", "order"),
    [
        ("mean", ["good", "fair", "poor"]),
        ("win-rate", ["good", "fair", "poor"]),
        ("food", ["good", "fair", "poor"]),
        ("model", ["fair", "good", "poor"]),
    ],
)
def test_models_are_sorted(invoke: Invoke, by: str, order: list[str]) -> None:
    found = board(invoke, "--sort", by, "--no-ranks")
    assert [model["model"] for model in found["models"]] == order
    assert found["sorted_by"] == by


@pytest.mark.usefixtures("runs")
def test_an_unknown_order_is_wrong_usage(invoke: Invoke) -> None:
    done = invoke("leaderboard", "--sort", "flim")
    assert (done.exit_code, done.stdout) == (2, "")
    assert "none of mean, win-rate, model, film, food" in done.stderr


def test_other_runs_do_not_count_and_are_named(invoke: Invoke, runs: Path) -> None:
    data = runs.parent / "film.jsonl"
    rows = [{"id": str(n), "label": "positive"} for n in range(60)]
    for model, limit in (("good", 5), ("new", 5)):
        evalkit.evaluate(
            str(data), rows, task="sentiment", model=model, limit=limit, out=runs
        )
    (runs / "film" / "leftover").mkdir()
    found = board(invoke, "--no-ranks")
    assert by_model(found)["good"]["scores"][0]["n"] == 60
    assert "new" not in by_model(found)
    assert found["notices"] == [
        "runs/film/leftover: not a run folder (run.json is missing)",
        "new on film (all): only a partial run, which does not count",
    ]


def test_the_newest_run_of_several_folders_counts(invoke: Invoke, runs: Path) -> None:
    rows = [{"id": str(n), "label": LABELS[n % 2]} for n in range(60)]
    again = evalkit.evaluate(
        str(runs.parent / "film.jsonl"),
        rows,
        task="sentiment",
        model="poor",
        metrics=["accuracy"],
        out=runs.parent / "later",
    )
    found = board(invoke, "runs", "later", "--no-ranks")
    score = by_model(found)["poor"]["scores"][0]
    assert (score["run_id"], score["value"]) == (again.run_id, 1.0)
    assert (
        by_model(board(invoke, "--no-ranks"))["poor"]["scores"][0]["value"] == 16 / 60
    )
    assert [model["model"] for model in board(invoke, "later")["models"]] == ["poor"]
    variable = invoke("leaderboard", "--json", EVALKIT_OUT=f"runs{os.pathsep}later")
    assert by_model(json.loads(variable.stdout))["poor"]["scores"][0]["value"] == 1.0
    done = invoke("leaderboard", "--since", "2999-01-01")
    assert done.exit_code == 1
    done = invoke("leaderboard", "nowhere")
    assert (done.exit_code, "there is no folder nowhere" in done.stderr) == (1, True)


def test_other_data_has_no_ranks(invoke: Invoke, runs: Path) -> None:
    data = runs.parent / "film.jsonl"
    data.write_text("".join(data.read_text().splitlines(keepends=True)[:50]))
    rows = [{"id": str(n), "label": "positive"} for n in range(50)]
    evalkit.evaluate(
        str(data), rows, task="sentiment", model="new", metrics=["accuracy"], out=runs
    )
    notices = board(invoke)["notices"]
    assert any(said.startswith("film: no ranks: ") for said in notices)
    assert any(said.startswith("film [2]: not comparable with") for said in notices)
    assert any(said.startswith("no means over data sets: ") for said in notices)


def test_a_score_without_an_interval_leaves_the_mean_without_one(
    invoke: Invoke, runs: Path
) -> None:
    for name in SETS:
        data = runs.parent / f"{name}.jsonl"
        lines = data.read_text().splitlines(keepends=True)
        data.write_text("".join(lines if name == "film" else lines[:1]))
        rows = [{"id": "0", "label": "positive"}]
        evalkit.evaluate(
            str(data),
            rows,
            task="sentiment",
            model="one",
            on_missing="wrong",
            metrics=["accuracy"],
            out=runs.parent / "short",
        )
    found = board(invoke, "short")
    mean = by_model(found)["one"]["mean"]
    assert (mean["ci_low"], mean["ci_method"]) == (None, "none")
    assert "that of a data set is missing (n is 1" in mean["reason"]
    assert any("mean of one: no interval: that" in said for said in found["notices"])


@pytest.mark.usefixtures("runs")
def test_csv_has_every_number_in_full(invoke: Invoke) -> None:
    done = invoke("leaderboard", "--format", "csv")
    assert (done.exit_code, done.stderr) == (0, "")
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    assert [(row["model"], row["kind"]) for row in rows[:4]] == [
        *(("good", "mean"), ("good", "win-rate"), ("good", "score"), ("good", "score"))
    ]
    model = by_model(board(invoke))["good"]
    assert float(rows[0]["ci_low"]) == model["mean"]["ci_low"]
    assert [float(row["value"]) for row in rows[2:4]] == [
        score["value"] for score in model["scores"]
    ]
    assert [row["metric"] for row in rows[2:4]] == ["accuracy"] * 2


@pytest.mark.usefixtures("runs")
@pytest.mark.parametrize(("table_format", "start"), [("md", "| mo"), ("latex", "\\b")])
def test_tables_alone_go_to_stdout(
    invoke: Invoke, table_format: str, start: str
) -> None:
    done = invoke("leaderboard", "--format", table_format, "--no-ranks")
    assert done.exit_code == 0
    assert done.stdout.startswith(start)
    assert "intervals; sorted by" not in done.stdout
    assert "intervals; sorted by" in done.stderr


class Cells(HTMLParser):
    """Collects the cells of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.cells: list[str] = []
        self._open = False

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        if tag in ("td", "th"):
            self._open = True
            self.cells.append("")

    def handle_endtag(self, tag: str) -> None:
        if tag in ("td", "th"):
            self._open = False

    def handle_data(self, data: str) -> None:
        if self._open:
            self.cells[-1] += data


def test_html_is_a_page_that_escapes_names(invoke: Invoke, runs: Path) -> None:
    hostile = "<script>x</script>&"
    rows = [{"id": str(n), "label": LABELS[n % 2]} for n in range(60)]
    data = str(runs.parent / "film.jsonl")
    options: dict[str, Any] = {"task": "sentiment", "metrics": ["accuracy"]}
    evalkit.evaluate(data, rows, model=hostile, out=runs, **options)
    done = invoke("leaderboard", "--format", "html", "--no-ranks")
    assert (done.exit_code, done.stderr) == (0, "")
    assert done.stdout.startswith("<!doctype html>\n<html lang=")
    assert "<script" not in done.stdout
    assert not re.search("https?:|url[(]", done.stdout)
    assert "default-src 'none'" in unescape(done.stdout)
    assert "script-src 'none'" in unescape(done.stdout)
    parser = Cells()
    parser.feed(done.stdout)
    assert parser.cells[:5] == ["model", "mean", "win rate", "film", "food"]
    assert hostile in parser.cells
    lines = [
        line.split("  ") for line in invoke("leaderboard", "-q").stdout.split("\n")
    ]
    shown = {cell.strip() for line in lines for cell in line}
    with_intervals = {cell for cell in parser.cells if "[" in cell}
    assert len(with_intervals) > 4
    assert with_intervals <= shown
