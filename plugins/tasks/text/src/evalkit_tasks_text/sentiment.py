"""Sentiment classification."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from evalkit_tasks_text.hs import StatementInput
from evalkit_tasks_text.labelled import LabelTask


class Sentiment(LabelTask):
    """Is the statement positive, negative or neutral?"""

    Input = StatementInput
    labels = ("positive", "negative", "neutral")
    example = {"uid": "sentiment-1", "statement": "It is a good day."}
    perturb_fields = ("statement",)
    prompts: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "default": {
            "instructions": "Say what the sentiment of the statement is. "
            "Answer with one of: {labels}.",
            "query": "Statement: {statement}",
            "cue": "Sentiment:",
            "extract": "labels",
            "generate": {"max_tokens": 16},
        }
    }
