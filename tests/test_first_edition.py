"""What a plugin of the first edition of the contract is told where it is different now.

Each case is what an author wrote then, with the words that say what to write instead.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest

import evalkit
from evalkit_commands_perturb import perturb

BASE = """
import json

import evalkit
import polars as pl
from pydantic import BaseModel


class Question(BaseModel):
    uid: str
    text: str
    numbers: list[int] = [1, 2]


class Answer(BaseModel):
    id: str
    label: str
    counts: dict[str, int] = {}


class Task(evalkit.TaskIO):
    Input = Question
    Output = Answer
    answer_field = "label"
    perf_metric = "old"
    perturb_fields = ("text",)
    example = {"uid": "1", "text": "a"}


class Data(evalkit.Dataset):
    task = "old"

    def load(self, split):
        row = {"text": "ab", "label": "x", "site": 1}
        return [{"uid": str(number), **row} for number in range(9)]


class Metric(evalkit.Metric):
    def score_example(self, prediction, target):
        return 1.0


class Perturbation(evalkit.Perturbation):
    families = {"robustness"}
    version = "1"
    label_effect = {"*": "invariant"}

    def perturb(self, text):
        return text.upper()
"""

GROUPS = {
    "evalkit.tasks": {"old": "Task"},
    "evalkit.datasets": {"old": "Data"},
    "evalkit.metrics": {"old": "Metric"},
    "evalkit.perturbations": {"old": "Perturbation"},
}

METRICS = {
    "a function of any two names": (
        "def get_old(a, b): return 1.0\nMetric = get_old",
        ["its argument 'a' is not known", "write predictions and targets"],
    ),
    "a function of two lists called by the names of one example": (
        "def get_old(prediction, target): return 1.0\nMetric = get_old",
        [
            "get_old has the name of a function of lists",
            "write predictions and targets",
        ],
    ),
    "JSON text of a list": (
        """
class Metric(evalkit.Metric):
    columns = ("numbers",)
    def score_example(self, prediction, fields):
        return float(len(json.loads(fields["numbers"])))
""",
        ["score_example failed for the example '0'", "a list and not its JSON text"],
    ),
    "JSON text of a list, in lists": (
        """
class Metric(evalkit.Metric):
    columns = ("numbers",)
    def compute(self, predictions, targets, fields):
        return float(len(json.loads(fields["numbers"][0])))
""",
        ["failed with TypeError", "a list is a list and not its JSON text"],
    ),
    "JSON text of a list, as a column": (
        """
class Metric(evalkit.Metric):
    columns = ("numbers",)
    def statistics(self, batch):
        numbers = pl.col("numbers").str.json_decode(pl.List(pl.Int64))
        return batch.with_row_index("row").select("row", n=numbers.list.len())
    def finalize(self, sums):
        return sums.select("group", value="n")
""",
        ["statistics failed", "a list is a list and not its JSON text"],
    ),
    "a map by its keys": (
        """
class Metric(evalkit.Metric):
    columns = ("counts",)
    def score_example(self, prediction, fields):
        return float(fields["counts"]["a"])
""",
        ["score_example failed for the example '0'", "{'key': …, 'value': …}"],
    ),
    "an attribute one letter off": (
        "class Old(Metric): higher_is_beter = True\nMetric = Old",
        ["did you mean 'higher_is_better'?", "begin with an underscore"],
    ),
    "a method of its own called prepare": (
        "class Old(Metric):\n  def prepare(self, text): ...\nMetric = Old",
        ["prepare: there is no argument 'text'", "is called _prepare"],
    ),
    "an attribute of its own called resources": (
        "class Old(Metric): resources = {'words': 'words.txt'}\nMetric = Old",
        ["'resources' has the name of a hook", "is called _resources"],
    ),
    "a method of its own called score_batch": (
        "class Old(Metric):\n  def score_batch(self, batch): ...\nMetric = Old",
        ["written in one way only", "begins with an underscore"],
    ),
    "an attribute of its own called scores": (
        "class Old(Metric): scores = [1.0]\nMetric = Old",
        ["'scores' must be a valid dictionary"],
    ),
    "Parameters that are no model": (
        "class Old(Metric):\n  class Parameters: k = 1\nMetric = Old",
        ["is no pydantic model", "write `class Parameters(pydantic.BaseModel)`"],
    ),
}

OTHERS = {
    "a converter that refuses a response": (
        """
class Old(Data):
    def pred_field_converter(self, response): raise ValueError("no letter")
Data = Old
""",
        ["pred_field_converter failed for", "returns evalkit.Unparsed(reason)"],
    ),
    "a converter that returns a cluster": (
        """
class Old(Data):
    def label_field_converter(self, example):
        return {"id": example["uid"], "answer": "x", "cluster": example["site"]}
Data = Old
""",
        ["the key 'cluster'", "which the data set names in its attribute `cluster`"],
    ),
    "a converter that returns another key": (
        """
class Old(Data):
    def pred_field_converter(self, response):
        return {"id": response["id"], "pred": "x", "counts": 1}
Data = Old
""",
        ["the key 'counts'", "by naming them in their `columns`"],
    ),
    "a default split that is none": (
        "class Old(Data): splits = ('validation',)\nData = Old",
        ["default_split 'test' is none of its splits", "set default_split to one"],
    ),
    "fields to perturb that are none": (
        "class Old(Task): perturb_fields = ('txt',)\nTask = Old",
        ["its Input has no field 'txt'", "did you mean 'text'?"],
    ),
    "fields to score that are none": (
        "class Old(Task): scored_fields = ('prob',)\nTask = Old",
        ["its Output has no field 'prob'", "declare it there"],
    ),
    "fields to send that are none": (
        "class Old(Task): input_keys = ('question',)\nTask = Old",
        ["its Input has no field 'question'", "it has uid, text, numbers"],
    ),
    "scores of a data set that are texts": (
        "class Old(Data):\n  def evaluate(self, frame): return {'a': 'b'}\nData = Old",
        ["evaluate: 'a': its value must be a number, is 'b'"],
    ),
}

COPIES = {
    "an effect on a task that there is not": (
        "class Old(Perturbation): label_effect = {'sentimant': 'invariant'}\n"
        "Perturbation = Old",
        ["names the task 'sentimant', which there is not", "write 'sentiment'"],
    ),
    "an answer that changes though it should not": (
        """
class Perturbation(evalkit.Perturbation):
    families, version = {"robustness"}, "1"
    label_effect = {"*": "invariant"}
    def perturb_example(self, example): return {"text": "x", "label": "y"}
""",
        ["'x' became 'y'", "'transforms' says that answers change"],
    ),
    "a copy that is no example": (
        """
class Perturbation(evalkit.Perturbation):
    families, version = {"robustness"}, "1"
    label_effect = {"*": "invariant"}
    def perturb_example(self, example): return {"text": 3}
""",
        ["breaks the input of the task old", "text: must be a valid string"],
    ),
}


@pytest.fixture
def told(
    fake_distribution: Callable[..., Any], tmp_path: Path
) -> Callable[[str], list[str]]:
    """Return what an evaluation says of a plugin, without the errors of others."""

    def evaluate(code: str) -> list[str]:
        fake_distribution(f"{BASE}\n{code}", GROUPS, name="old-dist")
        said = [{"id": str(number), "label": "x"} for number in range(9)]
        try:
            result = evalkit.evaluate("old", said, out=tmp_path)
        except evalkit.EvalkitError as error:
            return [str(error)]
        return [*result.errors]

    return evaluate


def check(messages: list[str], words: list[str]) -> None:
    (message,) = messages
    for word in ["(old-dist 1.2.3)", *words]:
        assert word in message


def test_what_has_not_changed_is_not_told(told: Callable[[str], list[str]]) -> None:
    assert told("") == []


@pytest.mark.parametrize(("code", "words"), METRICS.values(), ids=METRICS)
def test_a_metric_is_told(
    told: Callable[[str], list[str]], code: str, words: list[str]
) -> None:
    check(told(code), words)


@pytest.mark.parametrize(("code", "words"), OTHERS.values(), ids=OTHERS)
def test_a_task_or_data_set_is_told(
    told: Callable[[str], list[str]], code: str, words: list[str]
) -> None:
    check(told(code), words)


@pytest.mark.parametrize(("code", "words"), COPIES.values(), ids=COPIES)
def test_a_perturbation_is_told(
    fake_distribution: Callable[..., Any], code: str, words: list[str]
) -> None:
    fake_distribution(f"{BASE}\n{code}", GROUPS, name="old-dist")
    rows = [{"uid": "1", "text": "ab", "label": "x"}]
    with pytest.raises(evalkit.EvalkitError) as caught:
        [*perturb(rows, "old", task="old")]
    check([str(caught.value)], words)


def test_an_observer_is_told(
    fake_distribution: Callable[..., Any],
    run_evalkit: Callable[..., CompletedProcess[str]],
) -> None:
    code = "class Old:\n    def after_writting(self, run_id): ...\n"
    fake_distribution(code, {"evalkit.observers": {"old": "Old"}}, name="old-dist")
    done = run_evalkit("eval", "sample-nli", "--observer", "old", "-q")
    assert "observers/old (old-dist 1.2.3)" in done.stderr
    assert "no hook; did you mean 'after_writing'?" in done.stderr
