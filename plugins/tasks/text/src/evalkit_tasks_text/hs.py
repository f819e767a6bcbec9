"""Hate speech detection."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from evalkit_tasks_text.labelled import LabelTask
from evalkit_tasks_text.rows import InputRow


class StatementInput(InputRow):
    """A statement."""

    statement: str


class HateSpeech(LabelTask):
    """Is the statement hateful?"""

    Input = StatementInput
    labels = ("hateful", "not-hateful")
    example = {"uid": "hs-1", "statement": "It is a good day."}
    perturb_fields = ("statement",)
    content_warning = "texts may be hateful"
    prompts: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "default": {
            "instructions": "Say whether the statement is hate speech. "
            "Answer with one of: {labels}.",
            "query": "Statement: {statement}",
            "cue": "Label:",
            "extract": "labels",
            "generate": {"max_tokens": 16},
        }
    }
