"""Questions with a few options of their own."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from pydantic import model_validator

from evalkit import TaskIO
from evalkit_tasks_text.math_qa import FreeTextOutput
from evalkit_tasks_text.rows import InputRow

_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


class MultipleChoiceInput(InputRow):
    """A question, and what may be answered."""

    question: str
    choices: list[str]
    choice_labels: list[str] | None = None
    """What the data calls the choices, such as A to D or 1 to 4."""

    @model_validator(mode="before")
    @classmethod
    def _split(cls, row: Any) -> Any:
        """Take texts and labels apart, which ARC has as `{text: […], label: […]}`."""
        choices = row.get("choices")
        if not isinstance(choices, Mapping):
            return row
        labels = choices.get("label")
        return {**row, "choices": choices.get("text"), "choice_labels": labels}


class MultipleChoice(TaskIO):
    """Which of the question's own choices is the answer?

    The right answer of a row of data is the text of a choice, its letter (`B`), or its
    place from 0, as an integer or text; several are a list, or the text of a JSON list,
    in which places are numbers (`[0, 2]`). A text that is a choice is never taken for a
    letter or place, and an integer never for a text. Choices may have labels of their
    own, `{text: […], label: […]}`, which then name the answer, as in ARC. Responses are
    texts, of which `--extract choice` takes the answer unless something else is named;
    what is scored is the text of the choice.
    """

    Input = MultipleChoiceInput
    Output = FreeTextOutput
    answer_field = "answer"
    choices_field = "choices"
    extract = "choice"
    perf_metric = "accuracy"
    eval_metrics: ClassVar[tuple[str, ...]] = ()
    delta_metrics = ("robustness",)
    perturb_fields = ("question",)
    example: ClassVar[Mapping[str, Any]] = {
        "uid": "choice-1",
        "question": "Which town is on the Seine?",
        "choices": ["Rome", "Paris"],
    }

    prompts: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "default": {
            "method": "joint",
            "instructions": "Answer the question with the letter of the right choice.",
            "query": "{question}\n{choices}",
            "cue": "Answer:",
            "extract": "choice",
            "generate": {"max_tokens": 16},
        }
    }

    def label_field_converter(self, example: Mapping[str, Any]) -> dict[str, Any]:
        """Name the right choice by its text."""
        answer, choices = example.get("answer"), example["choices"]
        labels = example.get("choice_labels") or ()
        if isinstance(answer, str) and answer[:1] == "[" and answer not in choices:
            answer = _listed(answer)
        if isinstance(answer, list):
            answer = [_text(each, choices, labels) for each in answer]
        else:
            answer = _text(answer, choices, labels)
        return {"id": example["uid"], "answer": answer, "tags": example.get("tags")}


def _listed(text: str) -> Any:
    """Return the list that a text holds; quoted digits might be choices or places."""
    try:
        items = json.loads(text)
    except (ValueError, RecursionError):
        return text
    is_unclear = any(isinstance(item, str) and item.isdecimal() for item in items)
    return text if is_unclear else items


def _text(answer: Any, choices: Sequence[str], labels: Sequence[str]) -> Any:
    """Return the choice that an answer means; what means none as it is."""
    if labels and str(answer) in labels:
        place = labels.index(str(answer))
    elif isinstance(answer, bool) or answer in choices:
        return answer
    elif isinstance(answer, int):
        place = answer
    elif isinstance(answer, str) and re.fullmatch("[0-9]+", answer):
        place = int(answer)
    elif isinstance(answer, str) and len(answer) == 1:
        place = _LETTERS.find(answer.upper())
    else:
        return answer
    return choices[place] if 0 <= place < len(choices) else answer
