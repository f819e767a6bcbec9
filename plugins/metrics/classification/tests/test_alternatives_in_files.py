"""Metrics of several answers to one example, from files of predictions."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import evalkit
from evalkit.runs import find_unparsed

NAMES = [
    "accuracy",
    "top-k-accuracy:k=2",
    "pass-at-k:k=2",
    "pass-hat-k:k=2",
    "vote-accuracy",
]
ANSWERS: Sequence[str | list[str]] = ["4", ["9", "nine"], "7", "1", "12"]
LINES: list[dict[str, Any]] = [
    {"id": "0", "responses": [{"answer": "4"}, {"answer": "5"}, {"answer": "5"}]},
    {"id": "1", "responses": [{"answer": "8"}, {"answer": "nine"}]},
    {"id": "2", "responses": []},
    {"id": "3", "responses": [{"answer": a} for a in ("2", "2", "1", "1", "1")]},
    {"id": "4", "responses": [{"answer": "12"}, {"answer": "12"}, {"answer": "1"}]},
]
EACH = {
    "accuracy": [1, 0, 0, 0, 1],
    "top-k-accuracy:k=2": [1, 1, 0, 0, 1],
    # 1 - C(n - c, 2) / C(n, 2) with (n, c) = (3, 1), (2, 1), -, (5, 3), (3, 2)
    "pass-at-k:k=2": [1 - 1 / 3, 1, 0, 1 - 1 / 10, 1],
    "pass-hat-k:k=2": [0, 0, 0, 3 / 10, 1 / 3],
    "vote-accuracy": [0, 0, 0, 1, 1],
}


class Sums(evalkit.Dataset):
    name = "sums"
    task = "math-qa"

    def load(self, split: str) -> list[dict[str, Any]]:
        return [
            {
                "uid": str(number),
                "question": "How many?",
                "answer": answer,
                "tags": ["size:large" if number > 2 else "size:small"],
            }
            for number, answer in enumerate(ANSWERS)
        ]


def write(path: Path, lines: Sequence[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def values(result: evalkit.Result) -> dict[str, float | None]:
    return {name: result[name].value for name in NAMES}


def means(each: dict[str, list[float]], part: slice = slice(None)) -> Any:
    picked = {name: scores[part] for name, scores in each.items()}
    expected = {name: sum(scores) / len(scores) for name, scores in picked.items()}
    return pytest.approx(expected, abs=1e-12)


def test_a_file_with_alternatives_is_scored(tmp_path: Path) -> None:
    path = write(tmp_path / "model.jsonl", LINES)
    result = evalkit.evaluate(Sums, path, metrics=NAMES)
    assert (result.status, result.counts["scored"]) == ("complete", 5)
    assert values(result) == means(EACH)
    assert result.examples is not None
    for name, each in EACH.items():
        assert result.examples[name].to_list() == pytest.approx(each, abs=1e-15)
    by_tag = result.by_tag.filter(pl.col("tag") == "size:large")
    found = dict(by_tag.select("metric", "value").iter_rows())
    assert {name: found[name] for name in NAMES} == means(EACH, slice(3, None))


def test_a_missing_example_counts_as_worst() -> None:
    result = evalkit.evaluate(Sums, LINES[:-1], metrics=NAMES, on_missing="wrong")
    expected = {name: [*each[:-1], 0.0] for name, each in EACH.items()}
    assert values(result) == means(expected)
    assert {result[name].n for name in NAMES} == {5}


def test_an_invalid_alternative_makes_the_response_invalid() -> None:
    broken = {"id": "0", "responses": [{"answer": "4"}, {"answer": 5}]}
    result = evalkit.evaluate(
        Sums, [broken, *LINES[1:]], metrics=NAMES, on_invalid="wrong"
    )
    assert result.counts["invalid"] == 1
    expected = {name: [0.0, *each[1:]] for name, each in EACH.items()}
    assert values(result) == means(expected)


def test_a_plain_response_is_one_alternative() -> None:
    lines = [{"id": "0", "answer": "4"}, *LINES[1:]]
    names = ["top-k-accuracy", "pass-at-k", "vote-accuracy", "pass-at-k:k=2"]
    result = evalkit.evaluate(Sums, lines, metrics=names)
    assert result.examples is not None
    assert result.examples["responses"].to_list()[0] == ["4"]
    assert [result.examples[name][0] for name in names[:3]] == [1.0, 1.0, 1.0]
    assert result["pass-at-k:k=2"].reason == "1 example has fewer than 2 alternatives"


def test_a_run_is_scored_again_with_them_after_the_file_is_gone(tmp_path: Path) -> None:
    path = write(tmp_path / "model.jsonl", LINES)
    run = evalkit.evaluate(Sums, path, metrics=["accuracy"], out=tmp_path / "runs")
    path.unlink()
    again = evalkit.rescore(evalkit.read_run(run.path), NAMES[1:])
    assert values(again) == means(EACH)


def test_replications_are_averaged_within_the_example_first() -> None:
    lines = [
        {**line, "_replication_": name}
        for name, given in (
            ("1", LINES),
            ("2", [{**x, "responses": []} for x in LINES]),
        )
        for line in given
    ]
    names = [name for name in NAMES if not name.startswith("pass")]
    result = evalkit.evaluate(Sums, lines, metrics=names)
    halved = {
        name: [score / 2 for score in each]
        for name, each in EACH.items()
        if name in names
    }
    assert {name: result[name].value for name in names} == means(halved)
    assert {result[name].n for name in names} == {5}


def test_without_any_answer_all_are_unparsed() -> None:
    lines = [{"id": line["id"], "responses": []} for line in LINES]
    result = evalkit.evaluate(Sums, lines, metrics=["accuracy"])
    assert result["accuracy"].value == 0
    unparsed = find_unparsed(result)
    assert unparsed.rows["id"].to_list() == [line["id"] for line in lines]
    assert unparsed.n == len(lines)


@pytest.mark.known_result
def test_pass_at_k_is_what_helm_computes(oracles: Path) -> None:
    golden = json.loads((oracles / "helm_golden.json").read_text())["pass_at_k"]
    assert len(golden) >= 9
    for count, right, k, value in golden:
        answers = [{"answer": "4"}] * right + [{"answer": "5"}] * (count - right)
        name = "pass-at-k" if k == 1 else f"pass-at-k:k={k}"
        found = evalkit.evaluate(
            Sums, [{"id": "0", "responses": answers}], metrics=[name], limit=1
        )
        assert found[name].value == pytest.approx(value, abs=1e-12)
