import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import evalkit
from evalkit import Metric, Result, evaluate

CODE = """
import evalkit
from pydantic import BaseModel

class Input(BaseModel):
    uid: str
    text: str

class Output(BaseModel):
    id: str
    label: str

class Task(evalkit.TaskIO):
    Input = Input
    Output = Output
    example = {"uid": "1", "text": "x"}
    answer_field = "label"
    labels = ("a", "b")
    perf_metric = "hit"

class Data(evalkit.Dataset):
    task = "tiny"
    def load(self, split):
        return [
            {"uid": str(i), "text": "x", "label": label, "tags": [f"t{i % 3}"]}
            for i, label in enumerate("ababab")
        ]

class Own(Data):
    def evaluate(self, frame):
        return self.values(frame)
    def values(self, frame):
        return {"rows": frame.height, "undefined": None, "inf": float("inf")}

class OwnWrong(Own):
    def values(self, frame):
        return [frame.height]

class OwnRaises(Own):
    def values(self, frame):
        raise SystemExit("stop")

class OwnText(Own):
    def values(self, frame):
        return {"rows": "six"}
"""

ENTRY_POINTS = {
    "evalkit.tasks": {"tiny": "Task"},
    "evalkit.datasets": {
        "tiny": "Data",
        "own": "Own",
        "own-wrong": "OwnWrong",
        "own-raises": "OwnRaises",
        "own-text": "OwnText",
    },
}

PREDICTIONS = [{"id": str(i), "label": "a"} for i in range(6)]


class Hit(Metric):
    def score_example(self, prediction: str, target: str) -> float:
        return float(prediction == target)


def raising(error: BaseException) -> Callable[..., Any]:
    def hook(self: Metric) -> Any:
        raise error

    return hook


def returning(value: Any) -> Callable[..., Any]:
    def hook(self: Metric) -> Any:
        return value

    return hook


def probe(**members: Any) -> type[Metric]:
    return type("Probe", (Metric,), members)


def total(self: Metric, sums: pl.DataFrame) -> pl.DataFrame:
    return sums.select("group", value="x")


@pytest.fixture
def run(fake_distribution: Any) -> Callable[..., Result]:
    fake_distribution(CODE, ENTRY_POINTS, name="tiny-plugins", version="2.0")

    def call(*metrics: Any, dataset: str = "tiny", **options: Any) -> Result:
        return evaluate(dataset, PREDICTIONS, metrics=list(metrics), **options)

    return call


@pytest.mark.parametrize(
    ("broken", "text"),
    [
        (probe(compute=raising(ValueError("boom"))), "failed with ValueError: boom"),
        (
            probe(compute=returning(2.0), bounds=(0.0, 1.0)),
            "its value 2.0 is outside of its bounds 0.0 to 1.0",
        ),
        (
            probe(statistics=returning([1.0]), finalize=total),
            "statistics must return a polars DataFrame, returned list",
        ),
        (
            probe(
                statistics=returning(pl.DataFrame({"row": [0], "x": [1]})),
                finalize=raising(ZeroDivisionError("zero")),
            ),
            "finalize failed with ZeroDivisionError: zero",
        ),
    ],
)
def test_a_metric_that_fails_is_null_and_the_others_survive(
    run: Callable[..., Result], broken: type[Metric], text: str, tmp_path: Path
) -> None:
    result = run(broken, Hit, out=tmp_path)
    assert result.status == "partial"
    failed = [score for score in result.scores if score.metric == "probe"]
    assert [score.tag for score in failed] == [None, "t0", "t1", "t2"]
    for score in failed:
        assert (score.value, score.ci, score.n, score.ci_method) == (
            None,
            None,
            0,
            "none",
        )
        assert score.reason is not None
        assert text in score.reason
        assert score.reason.startswith("metrics/probe (given as an object)")
    assert (result["hit"].value, result["hit"].n) == (0.5, 6)

    assert result.path is not None
    written = json.loads((result.path / "run.json").read_text(encoding="utf-8"))
    assert written["status"] == "partial"
    stored = evalkit.read_run(result.path).scores
    assert [s.value for s in stored if s.metric == "hit"] == [0.5] * 4


def test_an_interrupt_ends_the_evaluation(
    run: Callable[..., Result], tmp_path: Path
) -> None:
    with pytest.raises(KeyboardInterrupt):
        run(Hit, probe(compute=raising(KeyboardInterrupt())), out=tmp_path)
    assert not list(tmp_path.rglob("run.json"))


def test_a_data_set_may_score_itself(run: Callable[..., Result]) -> None:
    result = run(Hit, dataset="own")
    assert result.metrics == ["hit", "own#rows", "own#undefined", "own#inf"]
    rows = result["own#rows"]
    assert (rows.value, rows.n, rows.coverage) == (6.0, 6, 1.0)
    assert (rows.ci, rows.reason) == (None, "the data set computes no interval")
    origin = "datasets/own (tiny-plugins 2.0): evaluate"
    assert result["own#undefined"].reason == (
        f"{origin}: 'undefined': it is not defined for these examples"
    )
    assert (result["own#inf"].value, result["own#inf"].reason) == (
        None,
        f"{origin}: 'inf': it returned inf",
    )


@pytest.mark.parametrize("dataset", ["own-wrong", "own-raises", "own-text"])
def test_a_data_set_that_fails_to_score_itself_leaves_the_metrics(
    run: Callable[..., Result], dataset: str
) -> None:
    result = run(Hit, dataset=dataset)
    assert result.status == "partial"
    assert result.metrics == ["hit"]
    assert result["hit"].value == 0.5
