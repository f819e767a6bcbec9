"""Classification of texts into labels that the data set names."""

from __future__ import annotations

from evalkit_tasks_text.hs import StatementInput
from evalkit_tasks_text.labelled import LabelTask


class TextClassification(LabelTask):
    """Which of the data set's labels does the statement have?"""

    Input = StatementInput
    example = {"uid": "text-1", "statement": "It is a good day."}
    perturb_fields = ("statement",)
