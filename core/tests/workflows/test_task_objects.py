"""A task may be a class or an instance wherever it may be a name."""

import json
from pathlib import Path
from typing import Any, ClassVar

import pytest
from pydantic import BaseModel

import evalkit
from evalkit.errors import EvalkitError, PluginContractError
from evalkit_analysis_robustness import evaluate_perturbed, find_effects
from evalkit_commands_perturb import perturb_dataset

Row = dict[str, Any]


class Weather(evalkit.TaskIO):
    class Input(BaseModel):
        uid: str
        city: str

    class Output(BaseModel):
        id: str
        sky: str

    example: ClassVar[Row] = {"uid": "1", "city": "Oslo"}
    labels = ("sun", "rain")
    answer_field = "sky"
    perf_metric = "accuracy"
    perturb_fields = ("city",)


class Cities(evalkit.Dataset):
    task = Weather

    def load(self, split: str) -> list[Row]:
        return ROWS


class Shout(evalkit.Perturbation):
    families = {"robustness"}
    version = "1"
    label_effect = {"*": "invariant"}

    def perturb(self, text: str) -> str:
        return text.upper()


ROWS = [
    {"uid": str(n), "city": f"town {n}", "sky": ("sun", "rain")[n % 2]}
    for n in range(20)
]
PREDICTIONS = [{"id": row["uid"], "sky": "sun"} for row in ROWS]


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "data.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    return path


@pytest.mark.parametrize("task", [Weather, Weather()], ids=["class", "instance"])
def test_a_file_may_be_of_a_task_that_is_an_object(data: Path, task: Any) -> None:
    """The name of an installed task was asked for."""
    result = evalkit.evaluate(data, PREDICTIONS, task=task, out="runs")
    assert result["accuracy"].value == 0.5
    assert result.task == "weather"
    (component,) = [c for c in result.record.components if c.kind == "tasks"]
    assert (component.id, component.distribution) == (
        "tasks/weather",
        "given as an object",
    )
    found = evalkit.validate(data, PREDICTIONS[:-1], task=task)
    assert found.counts["missing"] == 1
    assert found.task == "weather"


def test_a_data_set_may_be_of_a_task_that_is_an_object(data: Path) -> None:
    result = evalkit.evaluate(Cities, PREDICTIONS)
    assert (result.task, result["accuracy"].value) == ("weather", 0.5)
    assert evalkit.validate(Cities).counts["examples"] == 20
    summary = perturb_dataset(Cities, "out.jsonl", perturbations=[Shout])
    assert (summary.task, summary.perturbations[0].changed) == ("weather", 20)
    result = evalkit.evaluate(Cities, PREDICTIONS, task=Weather)
    assert result["accuracy"].value == 0.5
    with pytest.raises(EvalkitError, match="is of the task 'weather'; a task is given"):
        evalkit.evaluate(Cities, PREDICTIONS, task="sentiment")


def test_copies_of_a_file_are_made_and_scored(data: Path) -> None:
    summary = perturb_dataset(
        data, "copies.jsonl", task=Weather, perturbations=["lowercase"], jobs=2
    )
    assert summary.perturbations[0].changed == 0
    perturb_dataset(data, "shouted.jsonl", task=Weather, perturbations=[Shout], jobs=2)
    copies = [
        json.loads(line) for line in Path("shouted.jsonl").read_text().split("\n")[:-1]
    ]
    answers = [{"id": row["uid"], "sky": row["sky"]} for row in copies]
    result = evaluate_perturbed(
        data,
        PREDICTIONS,
        task=Weather,
        perturbed=["shouted.jsonl"],
        perturbed_predictions=[answers],
        jobs=2,
    )
    assert {
        score.value
        for score in find_effects(result).scores
        if score.computed_on == "drop"
    } == {-0.5}


def test_what_is_no_task_is_refused() -> None:
    class Wrong(Cities):
        task: Any = 3

    text = "'task' must be the name of a task, or a class or instance of one, found 3"
    with pytest.raises(PluginContractError, match=text):
        evalkit.evaluate(Wrong, PREDICTIONS)
