"""Fixtures for the tests of core."""

from collections.abc import Callable
from typing import Any

import pytest

MINI = '''
"""A task, a data set, metrics and an observer of a test."""

import os

import evalkit
from evalkit import Parameters
from pydantic import BaseModel


class Question(BaseModel):
    uid: str
    text: str


class Answer(BaseModel):
    id: str
    label: str | None
    sure: float | None = None


class Task(evalkit.TaskIO):
    Input = Question
    Output = Answer
    answer_field = "label"
    labels = ("yes", "no")
    example = {"uid": "1", "text": "Is it?"}
    scored_fields = ("sure",)
    perf_metric = "hits"


class Data(evalkit.Dataset):
    task = "mini"
    splits = ("test", "other")

    def load(self, split):
        rows = [("1", "yes", "a"), ("2", "no", "a"), ("3", "yes", "b")]
        return [
            {"uid": uid, "text": f"{split} {uid}", "label": label, "tags": [tag]}
            for uid, label, tag in rows
        ]


class SelfScored(Data):
    def evaluate(self, frame):
        if os.environ.get("MINI_FAILS"):
            raise LookupError("no gold standard")
        return {"rows": frame.height, "sure": frame["sure"].sum()}


class Bare(evalkit.TaskIO):
    Input = Question
    Output = Answer
    example = {"uid": "1", "text": "Is it?"}
    perf_metric = "hits"

    def label_field_converter(self, example):
        return {"id": example["uid"], "answer": example["label"], "tags": []}

    def pred_field_converter(self, response):
        return {"id": response["id"], "pred": response["label"]}


class BareData(Data):
    task = "bare"


class Hits(evalkit.Metric):
    bounds = (0, 1)
    higher_is_better = True
    worst_value = 0.0

    class Parameters(Parameters):
        weight: float = 1.0

    def score_example(self, prediction, target):
        if prediction == os.environ.get("MINI_FAILS"):
            raise LookupError("cannot score " + prediction)
        return float(prediction == target) * self.parameters.weight


class Watcher:
    def before_load(self):
        raise ValueError("not today")

    def after_writing(self, path):
        raise OSError("too late")
'''

ENTRY_POINTS = {
    "evalkit.tasks": {"mini": "Task", "bare": "Bare"},
    "evalkit.datasets": {
        "mini": "Data",
        "self-scored": "SelfScored",
        "bare": "BareData",
    },
    "evalkit.metrics": {"hits": "Hits"},
    "evalkit.observers": {"watcher": "Watcher"},
}


@pytest.fixture
def mini(fake_distribution: Callable[..., Any]) -> Any:
    """Install the plugins above as the distribution `mini` 0.3."""
    return fake_distribution(MINI, ENTRY_POINTS, name="mini", version="0.3")
