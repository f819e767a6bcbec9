"""Runs that are not comparable: no command compares, ranks or merges them silently."""

import hashlib
import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from click.testing import Result

import evalkit
from evalkit.runs import find_differences, list_runs
from evalkit_analysis_compare import compare

Invoke = Callable[..., Result]
Evaluate = Callable[..., str]

LABELS = ("positive", "negative", "neutral")
IDS = range(24)

VERSIONED = """
import evalkit

class Reviews(evalkit.Dataset):
    '''Short reviews.'''

    task = "sentiment"
    version = "{version}"
    splits = ("dev", "test")

    def load(self, split):
        labels = ("positive", "negative", "neutral")
        return [
            {{"uid": str(n), "statement": "x", "label": labels[n % 3]}}
            for n in range(24)
        ]
"""


@pytest.fixture(autouse=True)
def _files(tmp_path: Path) -> None:
    write_data("film.jsonl")
    write_predictions("good.jsonl", wrong=3)
    write_predictions("poor.jsonl", wrong=12)


def write(name: str, rows: Sequence[dict[str, Any]]) -> None:
    Path(name).write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")


def read(name: str) -> list[Any]:
    return [*map(json.loads, Path(name).read_text("utf-8").splitlines())]


def write_data(name: str, text: str = "fine", **more: Any) -> None:
    rows = [{"uid": str(n), "statement": text, "label": LABELS[n % 3]} for n in IDS]
    write(name, [{**row, **more} for row in rows])


def write_predictions(name: str, wrong: int, key: str = "label") -> None:
    said = {n: LABELS[(n + (n < wrong)) % 3] for n in IDS}
    write(name, [{"id": str(n), key: label} for n, label in said.items()])


@pytest.fixture
def evaluate(invoke: Invoke) -> Evaluate:
    def run(predictions: str, *options: str, data: str = "film.jsonl") -> str:
        given = ("--data", data, "--task", "sentiment") if "." in data else (data,)
        done = invoke("eval", *given, "-p", predictions, *options, "--json")
        assert done.exit_code == 0, done.stderr
        return str(json.loads(done.stdout)["fingerprint"][:8])

    return run


def refusal(invoke: Invoke, *arguments: str) -> str:
    done = invoke(*arguments)
    assert (done.exit_code, done.stdout) == (1, "")
    return " ".join(done.stderr.split())


def board(invoke: Invoke) -> Any:
    done = invoke("leaderboard", "--json")
    assert done.exit_code == 0, done.stderr
    return json.loads(done.stdout)


def models_by_column(found: Any) -> dict[str, list[str]]:
    columns: dict[str, list[str]] = {}
    for row in found["models"]:
        for score in row["scores"]:
            if score["kind"] == "dataset" and score["value"] is not None:
                columns.setdefault(score["name"], []).append(row["model"])
    return columns


def numbers(found: Any, name: str) -> dict[str, Any]:
    return {
        row["model"]: score["value"]
        for row in found["models"]
        for score in row["scores"]
        if score["name"] == name
    }


def test_runs_read_by_different_extractors(invoke: Invoke, evaluate: Evaluate) -> None:
    ids = evaluate("good.jsonl"), evaluate("poor.jsonl", "--extract", "labels")
    text = refusal(invoke, "compare", *ids)
    assert "are not comparable. They differ in extraction: none and labels " in text
    assert "--allow extraction" in text
    merged = refusal(invoke, "merge", *ids, "--model", "m")
    assert "differ in extraction: none and labels " in merged
    allowed = invoke("compare", *ids, "--allow", "extraction", "--json")
    assert "extraction: none and labels" in json.loads(allowed.stdout)["notices"][0]
    found = board(invoke)
    assert models_by_column(found) == {"film": ["poor"], "film [2]": ["good"]}
    assert "not comparable: extraction: labels " in json.dumps(found)
    assert {*numbers(found, "win-rate").values()} == {None}


def test_a_report_shows_them_apart(invoke: Invoke, evaluate: Evaluate) -> None:
    ids = evaluate("good.jsonl"), evaluate("poor.jsonl", "--extract", "labels")
    for more in ((), ("--no-compare",)):
        assert invoke("report", *ids, *more, "-o", "report.html").exit_code == 0
        page = Path("report.html").read_text("utf-8")
        assert page.count("<article") == 2
        assert "are not comparable: extraction: none and labels" in page
    plot = ("report", *ids, "--format", "svg", "--plot", "comparison")
    assert "comparable: extraction: none and labels" in refusal(invoke, *plot)


def test_win_rates_are_among_comparable_runs(
    invoke: Invoke, evaluate: Evaluate
) -> None:
    evaluate("good.jsonl")
    evaluate("poor.jsonl")
    evaluate("poor.jsonl", "--extract", "labels", "--model", "other")
    rates = numbers(board(invoke), "win-rate")
    assert rates == {"good": 1.0, "poor": 0.0, "other": None}


def test_predictions_mapped_from_another_field(
    invoke: Invoke, evaluate: Evaluate
) -> None:
    write_predictions("said.jsonl", wrong=3, key="out")
    ids = (
        evaluate("said.jsonl", "--map-predictions", "label=out"),
        evaluate("poor.jsonl"),
    )
    for command in (("compare",), ("merge", "--model", "m")):
        text = refusal(invoke, *command, *ids)
        assert 'adapters: map-fields 1 {"label": "out"} and none' in text


def test_files_of_one_name_with_other_content(
    invoke: Invoke, evaluate: Evaluate
) -> None:
    Path("new").mkdir()
    write_data("new/Film.jsonl", text="another")
    ids = evaluate("good.jsonl"), evaluate("poor.jsonl", data="new/Film.jsonl")
    text = refusal(invoke, "compare", *ids)
    assert re.search(r"data: film.jsonl, SHA-256 \w+ and Film.jsonl, SHA-256 \w+", text)
    assert "use --common" in text
    assert invoke("compare", *ids, "--common").exit_code == 0
    found = board(invoke)
    assert models_by_column(found) == {"film": ["poor"], "film [2]": ["good"]}
    evaluate("poor.jsonl")
    newest, notices = list_runs()[0].run_id, board(invoke)["notices"]
    older = f"run {newest} counts, the older run {ids[1]} differs in data: film"
    assert any(older in notice for notice in notices)
    assert len([*Path("runs/film").glob("*Z-*")]) == 3


def test_other_versions_of_a_declared_dataset(
    invoke: Invoke, evaluate: Evaluate
) -> None:
    ids = []
    for version, name in (("1", "good"), ("2", "poor")):
        Path(name).mkdir()
        path = Path(name, "reviews.py")
        path.write_text(VERSIONED.format(version=version), "utf-8")
        plugin = ("--plugin", str(path), "--split", "test")
        ids.append(evaluate(f"{name}.jsonl", *plugin, data="reviews"))
    assert "They differ in version: 1 and 2" in refusal(invoke, "compare", *ids)
    merged = refusal(invoke, "merge", *ids, "--model", "m")
    assert "differ in version: 1 and 2" in merged
    assert models_by_column(board(invoke)) == {
        "reviews": ["poor"],
        "reviews [2]": ["good"],
    }


@pytest.mark.slow
def test_the_same_examples_under_two_split_names(
    invoke: Invoke, evaluate: Evaluate
) -> None:
    Path("reviews.py").write_text(VERSIONED.format(version="1"), "utf-8")
    ids = [
        evaluate(
            f"{model}.jsonl", "--plugin", "reviews.py", "--split", split, data="reviews"
        )
        for model, split in (
            *(("good", "dev"), ("good", "test"), ("poor", "dev"), ("poor", "test")),
        )
    ]
    assert "differ in split: dev and test" in refusal(invoke, "compare", ids[0], ids[3])
    found = board(invoke)
    assert numbers(found, "mean") in [
        numbers(found, f"reviews ({split})") for split in ("dev", "test")
    ]
    assert [*numbers(found, "win-rate").values()] == [1.0, 0.0]


def test_policies_that_applied_to_both(invoke: Invoke, evaluate: Evaluate) -> None:
    for name in ("good", "poor"):
        path = Path(f"{name}.jsonl")
        path.write_text("".join(path.read_text("utf-8").splitlines(keepends=True)[:20]))
    ids = (
        evaluate("good.jsonl", "--on-missing", "skip"),
        evaluate("poor.jsonl", "--on-missing", "wrong"),
    )
    text = refusal(invoke, "compare", *ids)
    assert "policies on_missing: skip and wrong" in text
    write_predictions("good.jsonl", wrong=3)
    whole = evaluate("good.jsonl")
    assert invoke("compare", whole, ids[1]).exit_code == 0


def test_perturbed_examples_evaluated_alone_are_named(
    invoke: Invoke, evaluate: Evaluate
) -> None:
    rows = read("film.jsonl")
    more = {"perturbation": "shout", "label_effect": "invariant", "families": []}
    write(
        "loud.jsonl",
        [
            {**row, "statement": "FINE", "input_id": f"x{row['uid']}", **more}
            for row in rows
        ],
    )
    evaluate("good.jsonl")
    evaluate("good.jsonl", data="loud.jsonl")
    found = board(invoke)
    assert numbers(found, "mean")["good"] is not None
    assert "good on loud: the run has perturbed examples" in found["notices"]


def test_predictions_of_a_run_of_other_data(invoke: Invoke, evaluate: Evaluate) -> None:
    write_data("food.jsonl", text="tasty")
    evaluate("good.jsonl")
    done = invoke("eval", "--data", "food.jsonl", "--task", "sentiment", "-p", "good")
    assert done.exit_code == 0
    assert "come from a run that differs in dataset: film and food; data: " in " ".join(
        (done.stdout + done.stderr).split()
    )
    same = invoke(
        "eval", "--data", "film.jsonl", "--task", "sentiment", "-p", "good@film"
    )
    assert "other data" not in same.stdout + same.stderr


def test_a_run_that_cannot_be_used_says_why(invoke: Invoke, evaluate: Evaluate) -> None:
    evaluate("good.jsonl", "-n", "5", "--model", "gpt-4.1")
    asked = ("eval", "--data", "film.jsonl", "--task", "sentiment", "-p")
    text = refusal(invoke, *asked, "gpt-4.1")
    assert "gpt-4.1: file not found. As a run: gpt-4.1: none of the 1 runs" in text
    [path] = Path("runs/film").glob("*/run.json")
    path.write_text(path.read_text("utf-8").replace('"format": 5', '"format": 4'))
    text = refusal(invoke, *asked, "gpt-4.1")
    assert "run of an older evalkit, expected format" in text


@pytest.mark.parametrize("lines", [["{}", None], [[1], [2]]])
def test_responses_that_were_tampered_with(
    invoke: Invoke, evaluate: Evaluate, lines: list[Any]
) -> None:
    evaluate("good.jsonl")
    [folder] = Path("runs/film").glob("*Z-*")
    path = folder / "responses.parquet"
    pl.DataFrame({"(line)": lines}).write_parquet(path)
    asked = ("eval", "--data", "film.jsonl", "--task", "sentiment", "-p", "good")
    assert "responses.parquet: is damaged or was changed" in refusal(invoke, *asked)
    content = path.read_bytes()
    record = json.loads((folder / "run.json").read_text("utf-8"))
    digest = hashlib.sha256(content).hexdigest()
    record["files"][path.name] = {"size": len(content), "sha256": digest}
    (folder / "run.json").write_text(json.dumps(record), "utf-8")
    assert "responses.parquet: is not what evalkit writes" in refusal(invoke, *asked)


def test_a_metric_of_another_version_is_left_out() -> None:
    rows = read("film.jsonl")
    runs = [
        evalkit.evaluate(rows, f"{name}.jsonl", task="sentiment", model=name)
        for name in ("good", "poor")
    ]
    assert find_differences(runs[0].record, runs[1].record) == []
    changed = [
        each.model_copy(update={"version": "0.0.1"})
        if each.name == "accuracy"
        else each
        for each in runs[1].record.components
    ]
    runs[1].amend(components=tuple(changed))
    [found] = find_differences(runs[0].record, runs[1].record)
    assert (found.field, found.name) == ("metric", "accuracy")
    comparison = compare(*runs)
    assert {row.metric for row in comparison.rows} == {"macro-f1"}
    assert "not compared: metric accuracy: " in comparison.notices[0]


def test_clusters_of_one_run_alone_are_noticed(
    invoke: Invoke, evaluate: Evaluate
) -> None:
    write_data("film.jsonl", author="Ann")
    ids = evaluate("good.jsonl"), evaluate("poor.jsonl", "--cluster", "statement")
    done = invoke("compare", *ids, "--json")
    assert "clusters: none and statement" in json.loads(done.stdout)["notices"][0]


def test_a_damaged_run_does_not_end_the_leaderboard(
    invoke: Invoke, evaluate: Evaluate
) -> None:
    evaluate("good.jsonl")
    evaluate("poor.jsonl")
    path = next(Path("runs/film").glob("*poor*/examples.parquet"))
    path.write_bytes(path.read_bytes()[:100])
    found = board(invoke)
    assert [each["model"] for each in found["models"]] == ["good", "poor"]
    assert any(str(path) in each for each in found["notices"])


def test_predictions_that_differ_within_objects_are_other_predictions() -> None:
    rows = read("film.jsonl")
    prints = {
        evalkit.evaluate(
            rows,
            pl.DataFrame(
                {
                    "id": [str(n) for n in IDS],
                    "label": ["positive"] * 24,
                    "prob": [{"positive": 1.0, "negative": 0.0, "neutral": value}] * 24,
                }
            ),
            task="sentiment",
            on_invalid="wrong",
        ).fingerprint
        for value in (None, float("nan"), float("inf"), 0.0)
    }
    assert len(prints) == 4
