"""Judges of SEA-HELM's tasks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

import evalkit
from evalkit import DataError
from evalkit_annotators_columns import Annotators
from evalkit_benchmarks_peers import seahelm

TASK: dict[str, Any] = {
    "competency": "cultural",
    "dataloader_file": "src/dataloaders/judges/criteria_dataloader.py",
    "dataloader_class": "SeaHelmLocalCriteriaDataloader",
    "metric_file": "src/metrics/llm_judges/criteria_judge_metric.py",
    "metric_class": "CriteriaJudgeMetric",
    "metric": "average_criteria_score",
    "use_judges": True,
    "judge_file": "src/judges/criteria_judge.py",
    "judge_class": "CriteriaJudge",
    "judge": {
        "judge_model_name": "big",
        "judge_model_type": "vllm",
        "judge_init_args": {"tensor_parallel_size": "auto"},
        "judge_generation_kwargs": {"max_tokens": 99, "reasoning_effort": "high"},
        "classifications": {"CLASS_MET": 1, "CLASS_HALF": 0.5, "CLASS_UNMET": 0},
        "judge_prompts": {
            "system_prompt": "You judge.",
            "criteria_prompt": "{prompt}\n{response}\n{keyPointText}\n"
            "<classification>{{CLASS}}</classification>",
        },
    },
    "languages": {
        "tl": {
            "filepath": "data.jsonl",
            "max_tokens": 64,
            "prompt_template": {
                "preamble": "Answer.",
                "task_template": "Q: {text}",
                "answer_template": "",
                "answer_tag": "",
            },
        }
    },
}


def dataset_of(folder: Path, **judge: Any) -> Any:
    task = {**TASK, "judge": {**TASK["judge"], **judge}}
    (folder / "config.yaml").write_text(yaml.safe_dump({"polite": task}), "utf-8")
    rows = [
        {
            "id": f"q{number}",
            "prompts": [{"text": f"question {number}"}],
            "criteria": [{"criterion": "About {text}"}, {"criterion": "Is polite"}],
            "metadata": {"category": "kinship"},
        }
        for number in range(2)
    ]
    lines = "".join(f"{json.dumps(row)}\n" for row in rows)
    (folder / "data.jsonl").write_text(lines, "utf-8")
    return seahelm.read(str(folder / "config.yaml")).plugin()


def judge_of(folder: Path, **judge: Any) -> Any:
    return dict(dataset_of(folder, **judge).task.annotators)["criteria"]


def test_a_judge_of_criteria(tmp_path: Path) -> None:
    dataset = dataset_of(tmp_path)
    judge = dataset.task.annotators["criteria"]
    assert judge["model"] == (
        "openai:model=big,base_url=http://127.0.0.1:8000/v1,reasoning_effort=high"
    )
    assert judge["generate"] == {"max_tokens": 99}
    user = "Q: {text}\n{response}\n{rubric}\n<classification>{{CLASS}}</classification>"
    assert judge["prompt"] == {"system": "You judge.", "user": user}
    assert judge["verdict"]["values"] == {
        **{"CLASS_MET": 1.0, "CLASS_HALF": 0.5},
        "CLASS_UNMET": 0.0,
    }
    rows = [{"id": f"q{n}", "answer": f"CLASS{n}"} for n in range(2)]
    says = "<classification>CLASS_{}</classification>"
    script = tmp_path / "says.py"
    script.write_text(
        "def says(inputs): return []\n"
        "from evalkit_models_base import Model, text_reply\n"
        "class Says(Model):\n"
        "    abilities = ('chat',)\n"
        "    def generate(self, requests):\n"
        "        return [text_reply(self.say(each)) for each in requests]\n"
        "    def say(self, request):\n"
        "        text = request.messages[-1].content\n"
        "        word = 'HALF' if 'About question 1' in text else 'MET'\n"
        f"        return {says!r}.format(word) + 'or <classification>x'\n",
        "utf-8",
    )
    scripted = {**judge, "model": f"{script}:Says"}
    result = evalkit.evaluate(dataset, rows, columns=Annotators({"criteria": scripted}))
    assert result["judge-rate:of=criteria"].value == pytest.approx((1 + 0.75) / 2)


def test_several_judges_and_batches(tmp_path: Path) -> None:
    judge = judge_of(
        tmp_path,
        judge_model_name=["a", "b", "c"],
        judge_model_type=["openai", "litellm", "openai"],
        judge_init_args=[{}, {"api_base": "http://127.0.0.1:1/v1"}, {}],
        judge_generation_kwargs={"temperature": 0.2},
    )
    assert [each["model"] for each in judge["judges"]] == [
        "openai-batch:model=a",
        "openai:model=b,base_url=http://127.0.0.1:1/v1",
        "openai-batch:model=c",
    ]
    assert {each["generate"]["temperature"] for each in judge["judges"]} == {0.2}
    one = judge_of(tmp_path, judge_model_type="openai", batch_api_calls=False)
    assert one["model"] == "openai:model=big,reasoning_effort=high"


@pytest.mark.parametrize(
    ("judge", "problem"),
    [
        ({"judge_model_type": "metricx"}, "polite.judge.judge_model_type: unsupported"),
        (
            {
                "judge_model_name": ["a", "b", "c"],
                "judge_model_type": ["openai", "vllm"],
            },
            "polite.judge.judge_model_type: expected 3 values, one for each judge",
        ),
        ({"judge_prompts": {"criteria_prompt": {"turn_1": ""}}}, "expected one prompt"),
        (
            {"judge_generation_kwargs": {"beams": 2}},
            "judge_generation_kwargs.beams: unk",
        ),
        ({"judge_modle": "x"}, "polite.judge.judge_modle: unknown key. Did you mean"),
    ],
)
def test_judges_that_cannot_be_asked(
    tmp_path: Path, judge: dict[str, Any], problem: str
) -> None:
    with pytest.raises(DataError) as refused:
        dataset_of(tmp_path, **judge)
    assert problem in str(refused.value)
