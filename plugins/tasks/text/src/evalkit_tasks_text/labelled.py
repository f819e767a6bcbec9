"""Base of the tasks whose answer is one label, with optional probabilities."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import polars as pl

from evalkit import TaskIO, Violation
from evalkit_tasks_text.probabilities import (
    probabilities_pass,
    probability_violations,
)
from evalkit_tasks_text.rows import OutputRow


class LabelOutput(OutputRow):
    """A label, and optionally a probability for every label."""

    label: str
    prob: dict[str, Any] | None = None


class LabelTask(TaskIO):
    """A task whose answer is one of a set of labels."""

    Output = LabelOutput
    answer_field = "label"
    perf_metric = "macro-f1"
    eval_metrics: ClassVar[Sequence[str]] = ("accuracy",)
    delta_metrics = ("fairness", "robustness")
    scored_fields = ("prob",)
    verify_fields = ()

    def verify_response(
        self, response: Mapping[str, Any], labels: Sequence[str] | None
    ) -> list[Violation]:
        """Check the label and, where they are given, the probabilities."""
        violations = []
        label = response.get("label")
        if labels is not None and isinstance(label, str) and label not in labels:
            rule = f"must be one of {', '.join(labels)}"
            violations.append(Violation("label", rule, label))
        violations += probability_violations(response.get("prob"), labels)
        return violations

    def verify_columns(
        self, responses: pl.DataFrame, labels: Sequence[str] | None
    ) -> pl.Series:
        """Check the same as `verify_response`, for many responses at once."""
        keeps_rules = pl.repeat(True, responses.height)
        if "prob" in responses.columns and responses["prob"].count():
            keeps_rules &= probabilities_pass(responses.schema["prob"], labels)
        if "label" in responses.columns and labels is not None:
            keeps_rules &= pl.col("label").is_in(list(labels))
        return responses.select(passes=keeps_rules).to_series()
