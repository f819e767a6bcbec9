"""Classification of texts into labels that the data set names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from evalkit_tasks_text.hs import StatementInput
from evalkit_tasks_text.labelled import LabelTask


class TextClassification(LabelTask):
    """Which of the data set's labels does the statement have?"""

    Input = StatementInput
    example = {"uid": "text-1", "statement": "It is a good day."}
    perturb_fields = ("statement",)
    prompts: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "default": {
            "instructions": "Say which label the statement has. "
            "Answer with one of: {labels}.",
            "query": "Statement: {statement}",
            "cue": "Label:",
            "extract": "labels",
            "generate": {"max_tokens": 16},
        }
    }
