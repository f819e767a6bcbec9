"""Sentiment classification."""

from __future__ import annotations

from evalkit_tasks_text.hs import StatementInput
from evalkit_tasks_text.labelled import LabelTask


class Sentiment(LabelTask):
    """Is the statement positive, negative or neutral?"""

    Input = StatementInput
    labels = ("positive", "negative", "neutral")
    example = {"uid": "sentiment-1", "statement": "It is a good day."}
    perturb_fields = ("statement",)
