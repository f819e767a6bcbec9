"""Extractive question answering."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from evalkit import TaskIO, Violation
from evalkit_tasks_text.rows import InputRow, OutputRow, Probability


class QuestionInput(InputRow):
    """A context, and a question about it."""

    context: str
    question: str


class SpanOutput(OutputRow):
    """An answer that is a part of the context, and optionally a confidence.

    The empty text says that the context does not answer the question.
    """

    answer: str
    conf: Probability | None = None


class QuestionAnswering(TaskIO):
    """Which part of the context answers the question, if any?"""

    Input = QuestionInput
    Output = SpanOutput
    answer_field = "answer"
    answer_kind = "any-of"
    perf_metric = "exact-match"
    delta_metrics = ("fairness", "robustness")
    scored_fields = ("conf",)
    verify_fields = ("context",)
    perturb_fields = ("context", "question")
    example = {
        "uid": "qa-1",
        "context": "Please pretend you are reviewing a place, product, book or movie.",
        "question": "What should I pretend?",
    }

    prompts: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "default": {
            "instructions": "Answer the question with words of the context, and write "
            "nothing else.",
            "query": "Context: {context}\nQuestion: {question}",
            "cue": "Answer:",
            "extract": "strip",
            "generate": {"max_tokens": 64},
        }
    }

    def verify_response(
        self, response: Mapping[str, Any], example: Mapping[str, Any]
    ) -> list[Violation]:
        """Check that the answer is a part of the context."""
        answer = response.get("answer")
        if isinstance(answer, str) and answer not in example["context"]:
            return [Violation("answer", "must be a part of the context", answer)]
        return []
