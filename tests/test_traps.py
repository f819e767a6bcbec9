"""Cases in which a number could be wrong, or lost, without anybody noticing."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from pydantic import BaseModel

import evalkit

ROWS = [
    {"uid": "a", "statement": "Good.", "label": "positive"},
    {"uid": "b", "statement": "Bad.", "label": "negative"},
]


class Data(evalkit.Dataset):
    name = "traps"
    task = "sentiment"

    def load(self, split: str) -> list[dict[str, Any]]:
        return ROWS


RIGHT = [{"id": row["uid"], "label": row["label"]} for row in ROWS]


def test_a_response_that_the_adapter_refuses_is_invalid_and_not_missing() -> None:
    class Adapting(Data):
        def adapt_response(self, response: Mapping[str, Any]) -> Mapping[str, Any]:
            return {"id": response["id"], "label": response["said"]["label"]}

    good = {"id": "a", "said": {"label": "positive"}}
    result = evalkit.evaluate(Adapting, [good, {"id": "b"}], on_invalid="wrong")
    assert result.counts["invalid"] == 1
    assert result.counts["missing"] == result.counts["unreadable"] == 0
    [problem] = result.problems
    assert (problem.status, problem.id) == ("invalid", "b")
    assert "adapt_response of datasets/traps" in problem.violations[0].rule
    assert result["accuracy"].value == 0.5


def test_labels_that_the_task_does_not_have_are_refused() -> None:
    class Misspelt(Data):
        labels = {"positive": "positiv", "negative": "negative"}

    with pytest.raises(
        evalkit.PluginContractError, match="its label 'positiv' is none"
    ):
        evalkit.evaluate(Misspelt, RIGHT)


def test_a_metric_called_like_a_fixed_column_does_not_overwrite_it() -> None:
    class Status(evalkit.Metric):
        def score_example(self, prediction: str, target: str) -> float:
            return float(prediction == target)

    result = evalkit.evaluate(Data, RIGHT, metrics=[Status])
    assert result.examples is not None
    assert result.examples["status"].to_list() == ["scored", "scored"]
    assert result.examples["metrics/status"].to_list() == [1.0, 1.0]


def test_an_output_may_have_a_field_called_error() -> None:
    class Row(BaseModel):
        uid: str

    class Found(BaseModel):
        id: str
        error: str

    class FindError(evalkit.TaskIO):
        Input = Row
        Output = Found
        answer_field = "error"
        perf_metric = "accuracy"
        example = {"uid": "1"}

    from evalkit.discovery import Component
    from evalkit.registry import Registry, bind

    class With(Registry):
        def load(self, kind: str, name: str, parameters: Any = None) -> Any:
            if kind == "tasks":
                return bind(Component("tasks", name, "m:T", "here", "1"), FindError)
            return super().load(kind, name, parameters)

    class Errors(evalkit.Dataset):
        task = "find-error"

        def load(self, split: str) -> list[dict[str, Any]]:
            return [{"uid": "1", "error": "E1"}, {"uid": "2", "error": "E2"}]

    said = [{"id": "1", "error": "E1"}, {"id": "2", "error": "E1"}]
    result = evalkit.evaluate(Errors, said, registry=With())
    assert result["accuracy"].value == 0.5
    assert result.counts["scored"] == 2


def test_a_function_says_which_answers_it_takes() -> None:
    @evalkit.metric(answer_kinds=("one",))
    def get_same(predictions: list[str], targets: list[str]) -> float:
        return float(all(p == t for p, t in zip(predictions, targets, strict=True)))

    several = evalkit.score(get_same, ["a", "b"], [["a", "c"], ["b"]])["same"]
    assert several.value is None
    assert several.reason == "examples have several acceptable answers"
    assert evalkit.score(get_same, ["a", "b"], ["a", "b"])["same"].value == 1.0


def test_the_core_is_part_of_the_run_id(tmp_path: Path) -> None:
    from evalkit.provenance import source_hash

    record = evalkit.evaluate(Data, RIGHT, out=tmp_path).to_dict()
    assert record["core"]["source_sha256"] == source_hash("evalkit")


def test_one_unreadable_file_does_not_lose_the_other_models_scores(
    run_evalkit: Callable[..., Any], tmp_path: Path
) -> None:
    rows = [{"id": f"sent-{n:03}", "label": "positive"} for n in range(1, 136)]
    good = tmp_path / "good.jsonl"
    good.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    done = run_evalkit(
        "eval", "sample-sentiment", "-p", "good.jsonl", "-p", "absent.jsonl", "--json"
    )
    assert done.returncode == 1
    assert json.loads(done.stdout)["model"] == "good"
    assert "absent.jsonl: there is no such file" in done.stderr


def test_saved_columns_are_those_of_the_result(tmp_path: Path) -> None:
    result = evalkit.evaluate(Data, RIGHT, out=tmp_path)
    assert result.path is not None
    assert pl.read_parquet(result.path / "scores.parquet").equals(result.frame)
