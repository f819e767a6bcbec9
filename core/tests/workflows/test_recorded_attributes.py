"""What a task and a data set say about themselves reaches the run and its readers."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import evalkit
from evalkit.errors import PluginContractError
from evalkit_commands_perturb import perturb

CODE = """
import evalkit
from pydantic import BaseModel


class Asked(evalkit.TaskIO):
    class Input(BaseModel):
        uid: str
        question: str
        hint: str = ""

    class Output(BaseModel):
        id: str
        label: str

    example = {"uid": "1", "question": ""}
    answer_field = "label"
    perf_metric = "accuracy"
    perturb_fields = ("question",)
    delta_metrics = ("robustness", "fairness")


class Round(evalkit.Dataset):
    task = "asked"
    version = "2"
    changes = {"1": "the first", "2": "typos were mended"}
    languages = ("en-GB",)
    tags = ("adversarial",)
    round_id = 3
    description = "Questions of a third round."

    def load(self, split):
        return [{"uid": str(n), "question": f"Why {n}", "label": "a"} for n in range(4)]
"""

POINTS = {"evalkit.tasks": {"asked": "Asked"}, "evalkit.datasets": {"round": "Round"}}
PREDICTIONS = [{"id": str(n), "label": "a"} for n in range(4)]


@pytest.fixture(autouse=True)
def asked(
    fake_distribution: Callable[..., Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Any:
    monkeypatch.chdir(tmp_path)
    return fake_distribution(CODE, POINTS, name="rounds", version="1.0")


def test_a_run_records_what_the_data_set_says_of_itself() -> None:
    """`round_id`, `languages`, `tags`, `changes` and `description` were lost."""
    result = evalkit.evaluate("round", PREDICTIONS, out="runs")
    recorded = json.loads((Path(str(result.path)) / "run.json").read_text())
    data = recorded["data"]
    assert data["round_id"] == 3
    assert (data["languages"], data["tags"]) == (["en-GB"], ["adversarial"])
    assert data["description"] == "Questions of a third round."
    assert data["changes"] == {"1": "the first", "2": "typos were mended"}
    assert recorded["input_keys"] == ["question"]
    assert recorded["delta_metrics"] == ["robustness", "fairness"]


def test_verify_says_what_changed_since_the_runs_version(
    fake_distribution: Callable[..., Any],
) -> None:
    newer = CODE.replace('version = "2"', 'version = "3"')
    newer = newer.replace('{"1": ', '{"3": "hints were added", "1": ')
    made = evalkit.evaluate("round", PREDICTIONS, out="runs")
    fake_distribution(newer, POINTS, name="rounds", version="1.0")
    changes = evalkit.verify(str(made.path)).changes
    found = [(each.what, each.then, each.now) for each in changes]
    assert ("datasets/round data", "2", "3: hints were added") in found


def test_what_a_model_is_sent_must_be_part_of_the_input() -> None:
    known: Any = evalkit.Registry().load("tasks", "nli").plugin

    class Wrong(type(known)):  # type: ignore[misc]
        input_keys = ("premise",)

    with pytest.raises(PluginContractError, match="input_keys hold 'premise', but its"):
        perturb([], "lowercase", task=Wrong, fields=["context"])
