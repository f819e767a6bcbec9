"""Questions with a few options of their own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from evalkit import TaskIO
from evalkit_tasks_text.math_qa import FreeTextOutput
from evalkit_tasks_text.rows import InputRow

_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


class MultipleChoiceInput(InputRow):
    """A question, and what may be answered."""

    question: str
    choices: list[str]


class MultipleChoice(TaskIO):
    """Which of the question's own choices is the answer?

    The right answer of a row of data is the text of a choice, its letter (`B`), or its
    place as an integer, from 0; several are a list. A text that is a choice is never
    taken for a letter, and an integer never for a text. Responses are texts, of which
    `--extract choice` takes the answer unless something else is named; what is scored
    is the text of the choice.
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
        if isinstance(answer, list):
            answer = [_text(each, choices) for each in answer]
        else:
            answer = _text(answer, choices)
        return {"id": example["uid"], "answer": answer, "tags": example.get("tags")}


def _text(answer: Any, choices: list[str]) -> Any:
    """Return the choice that an answer means; what means none as it is."""
    if isinstance(answer, str) and answer not in choices and len(answer) == 1:
        place = _LETTERS.find(answer.upper())
    elif isinstance(answer, int) and not isinstance(answer, bool):
        place = answer
    else:
        return answer
    return choices[place] if 0 <= place < len(choices) else answer
