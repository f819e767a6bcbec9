"""Hate speech detection."""

from __future__ import annotations

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
