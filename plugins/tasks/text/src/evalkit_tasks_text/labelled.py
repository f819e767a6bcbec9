"""Base of the tasks whose answer is one label, with optional probabilities."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from evalkit import Label, Probabilities, TaskIO
from evalkit_tasks_text.rows import OutputRow


class LabelOutput(OutputRow):
    """A label, and optionally a probability for every label."""

    label: Label
    prob: Probabilities | None = None


class LabelTask(TaskIO):
    """A task whose answer is one of a set of labels."""

    Output = LabelOutput
    answer_field = "label"
    perf_metric = "macro-f1"
    eval_metrics: ClassVar[Sequence[str]] = ("accuracy",)
    delta_metrics = ("fairness", "robustness")
    scored_fields = ("prob",)
