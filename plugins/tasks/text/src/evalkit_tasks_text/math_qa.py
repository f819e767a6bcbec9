"""Questions whose answer is written in free text, such as word problems."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from evalkit import TaskIO
from evalkit_tasks_text.rows import InputRow, OutputRow


class WordProblemInput(InputRow):
    """A question."""

    question: str


class FreeTextOutput(OutputRow):
    """An answer in free text; it may be empty."""

    answer: str


class MathQuestionAnswering(TaskIO):
    """What is the answer to the question?"""

    Input = WordProblemInput
    Output = FreeTextOutput
    answer_field = "answer"
    answer_kind = "any-of"
    perf_metric = "exact-match"
    delta_metrics = ("robustness",)
    perturb_fields = ("question",)
    example = {"uid": "math-1", "question": "Ann has 3 eggs and eats 1. How many now?"}
    prompts: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "default": {
            "instructions": "Solve the problem step by step. Write the answer in the "
            "last line, after 'Answer:'.",
            "query": "Problem: {question}",
            "cue": "Solution:",
            "answer": "Answer: {answer}",
            "extract": "after:Answer:,otherwise=text|final-number",
            "generate": {"max_tokens": 512},
        }
    }
