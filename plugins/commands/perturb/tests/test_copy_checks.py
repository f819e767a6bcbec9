"""Copies are examples of their task before they are written."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import pytest
from pydantic import BaseModel, Field, field_validator

import evalkit
from evalkit.errors import PluginError
from evalkit_commands_perturb import perturb, perturb_dataset

Row = dict[str, Any]


class Short(evalkit.TaskIO):
    """Statements of at most twelve letters."""

    class Input(BaseModel):
        uid: str
        statement: str = Field(max_length=12)

    class Output(BaseModel):
        id: str
        label: str

    example: ClassVar[Row] = {"uid": "1", "statement": ""}
    labels = ("good", "bad")
    answer_field = "label"
    perf_metric = "accuracy"
    perturb_fields = ("statement",)


class Polite(Short):
    class Input(BaseModel):
        uid: str
        statement: str

        @field_validator("statement")
        @classmethod
        def without_shouts(cls, value: str) -> str:
            if value.isupper():
                raise ValueError("do not shout")
            return value


class Shout(evalkit.Perturbation):
    families = {"robustness"}
    version = "1"
    label_effect = {"*": "invariant"}

    def perturb(self, text: str) -> str:
        return text.upper()


class Longer(Shout):
    def perturb(self, text: str) -> str:
        return text + " and on and on"


class LongerBatch(Shout):
    def perturb_batch(self, texts: list[str]) -> list[str]:
        return [text + " and on and on" for text in texts]


class Changed(evalkit.Perturbation):
    """Changes what its parameters say."""

    families = {"robustness"}
    version = "1"
    label_effect = {"*": "transforms", "polite": "invariant"}
    change: ClassVar[Row] = {}

    def perturb_example(self, example: Row) -> Row:
        return {"statement": example["statement"] + "!", **self.change}


def changing(**change: Any) -> Changed:
    found = Changed()
    found.change = change  # type: ignore[misc]
    return found


ROW = {"uid": "u1", "statement": "all right", "label": "good"}


def copies(perturbation: Any, task: Any = Short, row: Row = ROW) -> list[Row]:
    return [*perturb([row], perturbation, task=task)]


@pytest.mark.parametrize(
    ("perturbation", "task", "text"),
    [
        (Longer, Short, r"perturb made of .*breaks the input of the task short: stat"),
        (
            LongerBatch,
            Short,
            "perturb_batch made .* breaks the input of the task short",
        ),
        ([[Shout, Longer]], Short, r"perturbations/longer .* breaks the input"),
        (Shout, Polite, "breaks the input of the task polite: statement: .*shout"),
        (changing(statement=3), Short, "breaks the input .* statement: .*found 3"),
        (
            changing(label="fine"),
            Short,
            r"none of the labels \(label: must be one of good, bad, found 'fine'\)",
        ),
        (changing(label=["good", "no"]), Short, "none of the labels .* found 'no'"),
        (
            changing(label="bad"),
            Polite,
            r"another answer \(label: 'good' became 'bad'\), and its label_effect for "
            "the task polite is 'invariant'; 'transforms' says",
        ),
    ],
)
def test_a_copy_that_is_no_example_is_an_error_of_the_perturbation(
    perturbation: Any, task: Any, text: str
) -> None:
    """They were written, and refused when they were evaluated, as the user's fault."""
    with pytest.raises(PluginError, match=text) as caught:
        copies(perturbation, task)
    assert "of the example 'u1' a copy" in str(caught.value)
    assert str(caught.value).startswith("perturbations/")


class Chosen(Short):
    class Input(BaseModel):
        uid: str
        statement: str
        options: list[str] = []

    labels = None
    choices_field = "options"
    perturb_fields = ("options",)


class Halved(Shout):
    def perturb(self, text: str) -> str:
        return text + "\ud83d"


@pytest.mark.parametrize(
    ("perturbation", "task", "row", "text"),
    [
        (changing(tags=["a", 5]), Short, ROW, "has tags that are no list of texts"),
        (changing(note="\ud83d"), Short, ROW, r"cannot be stored \(note: 'utf-8'"),
        (Halved, Short, ROW, "must return a text without half surrogate pairs"),
        (
            Shout,
            Chosen,
            {**ROW, "options": ["good", "bad"]},
            "none of its choices .label: must be one of GOOD, BAD, found 'good'",
        ),
    ],
)
def test_a_copy_that_no_file_would_give_back_is_an_error_of_the_perturbation(
    perturbation: Any, task: Any, row: Row, text: str
) -> None:
    with pytest.raises(PluginError, match=text):
        copies(perturbation, task, row)


CODE = '''
import evalkit


class Stored(evalkit.Dataset):
    """Labels are stored as numbers."""

    task = "sentiment"
    labels = {"1": "positive", "0": "negative", "2": "neutral"}

    def load(self, split):
        return [{"uid": "u1", "statement": "all right", "label": 1}]


class Made(Stored):
    """A method makes the answers."""

    labels = None

    def label_field_converter(self, example):
        answer = ["negative", "positive", "neutral"][example["label"]]
        return {"id": example["uid"], "answer": answer}


class Flip(evalkit.Perturbation):
    families = {"robustness"}
    version = "1"
    label_effect = {"*": "transforms"}
    answer = 0

    def perturb_example(self, example):
        return {"statement": "all wrong", "label": self.answer}


class Odd(Flip):
    answer = 7


class Kept(Flip):
    label_effect = {"*": "invariant"}


class Elsewhere(Flip):
    label_effect = {"weather": "transforms", "*": "transforms", "mqa": "invariant"}
'''


@pytest.fixture
def flipping(
    fake_distribution: Callable[..., Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    points = {
        "evalkit.datasets": {"stored": "Stored", "made": "Made"},
        "evalkit.perturbations": {
            **{"flip": "Flip", "odd": "Odd"},
            **{"elsewhere": "Elsewhere", "kept": "Kept"},
        },
    }
    fake_distribution(CODE, points, name="flipping", version="1.0")


@pytest.mark.usefixtures("flipping")
@pytest.mark.parametrize(
    ("perturbation", "text"),
    [
        (
            "kept",
            r"kept .*'u1'.*answer \(.*'positive' became 'negative'\).*'invariant'",
        ),
        ("odd", r"odd .*'u1'.*has no answer any more: datasets/made .*IndexError"),
    ],
)
@pytest.mark.slow
def test_answers_that_a_method_makes_are_checked(perturbation: str, text: str) -> None:
    """They were written unseen: no field of the copy holds its answer."""
    perturb_dataset("made", "out.jsonl", perturbations=["flip"], jobs=2)
    assert json.loads(Path("out.jsonl").read_text())["label"] == 0
    with pytest.raises(PluginError, match=text):
        perturb_dataset("made", "x.jsonl", perturbations=[perturbation])


@pytest.mark.usefixtures("flipping")
def test_a_task_that_is_not_installed_is_told() -> None:
    summary = perturb_dataset("stored", "o.jsonl", perturbations=["elsewhere"])
    assert [notice for notice in summary.notices if "label_effect" in notice] == [
        f"perturbations/elsewhere: its label_effect names {name!r}, and no task of "
        "this name is installed or known"
        for name in ("weather", "mqa")
    ]
