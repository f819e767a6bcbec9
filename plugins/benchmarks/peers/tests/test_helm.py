"""Runs of HELM as benchmarks: prompts, samples, metrics, and what is refused."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

import evalkit
from evalkit import DataError
from evalkit_models_base import Asked, Continuation, Model, Reply, Request, predict
from evalkit_models_base import text_reply as text

BASIC = "helm.benchmark.metrics.basic_metrics.BasicGenerationMetric"
EXACT = {"class_name": BASIC, "args": {"names": ["exact_match"]}}


class Keeping(Model):
    """A model that keeps what it is asked."""

    abilities = ("text", "chat", "continuations")

    def __init__(self, said: str = "A", **more: Any) -> None:
        self.asked: list[Request] = []
        self.said = said
        vars(self).update(more)

    def generate(self, requests: Sequence[Request]) -> list[Reply]:
        self.asked += requests
        return [self.reply(request) for request in requests]

    def reply(self, request: Request) -> Reply:
        if not request.continuations:
            one = text(self.said).completions
            return Reply(completions=one * request.completions)
        return Reply(
            continuations=tuple(
                Continuation(logprob=-float(len(each)), tokens=len(each.split()))
                for each in request.continuations
            )
        )


def instance(
    said: str, references: Sequence[str], right: Sequence[int], split: str, **more: Any
) -> dict[str, Any]:
    return {
        "input": {"text": said},
        "references": [
            {"output": {"text": each}, "tags": ["correct"] * (n in right)}
            for n, each in enumerate(references)
        ],
        "split": split,
        **more,
    }


ORDINALS = ["First", "Second", "Third"]
SHOTS = [
    instance("Second reference is correct", ORDINALS, [1], "train"),
    instance("First and second references are correct", ORDINALS, [0, 1], "train"),
]
ASKED = instance("First reference is correct", ORDINALS, [0], "test")


def run_folder(
    folder: Path,
    adapter: Mapping[str, Any],
    instances: Sequence[Mapping[str, Any]],
    **more: Any,
) -> str:
    """Write a run of HELM and return the reference to it."""
    folder.mkdir(parents=True, exist_ok=True)
    spec = {
        "name": "ordinals:model=openai_gpt2",
        "scenario_spec": {"class_name": "helm.x.OrdinalScenario", "args": {}},
        "adapter_spec": {"num_outputs": 1, **adapter},
        "metric_specs": [EXACT],
        "groups": ["ordinals"],
        **more,
    }
    (folder / "run_spec.json").write_text(json.dumps(spec), encoding="utf-8")
    saved = folder / "input_instances.json"
    saved.write_text(json.dumps(instances), encoding="utf-8")
    return f"helm:{folder}"


def asked(reference: str, model: Keeping | None = None, **more: Any) -> list[Request]:
    """Return what a model is asked."""
    model = model or Keeping(kind="base")
    predict(reference, model, asked=Asked(is_cached=False), **more)
    return model.asked


def prompts(reference: str, **more: Any) -> list[str]:
    return [str(request.prompt) for request in asked(reference, **more)]


OPTIONS = "A. First\nB. Second\nC. Third\n"
NUMBERS = "  1: First\n  2: Second\n  3: Third\n"
FIRST, BOTH = "Input: Second reference is correct\n", "Input: First and second refe"
KNOWN = {
    "generation": (
        {"method": "generation"},
        "Input: Second reference is correct\nOutput: Second\n\n"
        "Input: First and second references are correct\nOutput: First\n\n"
        "Input: First reference is correct\nOutput:",
    ),
    "generation, multi-label": (
        {"method": "generation", "multi_label": True},
        "Input: Second reference is correct\nOutput: Second\n\n"
        "Input: First and second references are correct\nOutput: First, Second\n\n"
        "Input: First reference is correct\nOutput:",
    ),
    "joint": (
        {"method": "multiple_choice_joint"},
        f"Input: Second reference is correct\n{OPTIONS}Output: B\n\n"
        f"Input: First and second references are correct\n{OPTIONS}Output: A\n\n"
        f"Input: First reference is correct\n{OPTIONS}Output:",
    ),
    "joint, multi-label": (
        {"method": "multiple_choice_joint", "multi_label": True},
        f"Input: Second reference is correct\n{OPTIONS}Output: B\n\n"
        f"Input: First and second references are correct\n{OPTIONS}Output: A, B\n\n"
        f"Input: First reference is correct\n{OPTIONS}Output:",
    ),
}


@pytest.mark.known_result
@pytest.mark.parametrize("case", KNOWN)
def test_prompts_are_those_of_helms_own_tests(case: str, tmp_path: Path) -> None:
    adapter, expected = KNOWN[case]
    given = {"sample_train": False, **adapter}
    assert prompts(run_folder(tmp_path, given, [*SHOTS, ASKED])) == [expected]


@pytest.mark.known_result
def test_options_may_have_numbers(tmp_path: Path) -> None:
    third = instance("Third reference is correct", ORDINALS, [2], "train")
    adapter = {
        "method": "multiple_choice_joint",
        "sample_train": False,
        "reference_prefix": "  1: ",
    }
    assert prompts(run_folder(tmp_path, adapter, [SHOTS[0], third, ASKED])) == [
        f"Input: Second reference is correct\n{NUMBERS}Output: 2\n\n"
        f"Input: Third reference is correct\n{NUMBERS}Output: 3\n\n"
        f"Input: First reference is correct\n{NUMBERS}Output:"
    ]


@pytest.mark.known_result
def test_shots_are_drawn_as_helm_draws_them(tmp_path: Path) -> None:
    pairs = {"one": 0, "two": 0, "three": 0, "four": 1, "five": 1}
    instances = [
        instance(said, [str(2 * n), str(2 * n + 1)], [right], "train")
        for n, (said, right) in enumerate(pairs.items())
    ]
    instances.append(instance("eval", ["10", "11"], [1], "test"))
    adapter = {"method": "multiple_choice_joint", "max_train_instances": 3}
    assert prompts(run_folder(tmp_path, adapter, instances)) == [
        "Input: three\nA. 4\nB. 5\nOutput: A\n\nInput: two\nA. 2\nB. 3\nOutput: A\n\n"
        "Input: one\nA. 0\nB. 1\nOutput: A\n\nInput: eval\nA. 10\nB. 11\nOutput:"
    ]
