"""Comparison of a text with its acceptable answers, as most of these metrics do it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from evalkit import Metric


class TextMetric(Metric):
    """Mean over examples of a share, 0 to 1, of which a missing prediction has none."""

    unit = "%"
    bounds = (0.0, 1.0)
    higher_is_better = True
    scale = 100.0
    answer_kinds = ("one", "any-of")
    worst_value = 0.0


class TextComparison(TextMetric):
    """Mean over examples of the best score that an acceptable answer gives.

    A missing prediction that counts is 0. An empty list of answers is the answer "".
    """

    def score_example(self, prediction: Any, target: Any) -> float:
        """Return the best of the scores against each answer."""
        said = as_text(prediction)
        return max(self.compare(said, answer) for answer in answers_of(target))

    def compare(self, prediction: str, answer: str) -> float:
        """Score a prediction against one answer.

        Args:
            prediction: The prediction.
            answer: The answer.

        Returns:
            0 to 1.
        """
        raise TypeError(f"{type(self).__name__} does not define compare")


def answers_of(target: Any) -> Iterator[str]:
    """Yield the acceptable answers of an example as texts, at least one."""
    given = target if isinstance(target, list) else [target]
    yield from map(as_text, given or [""])


def as_text(value: Any) -> str:
    """Return a value as the text that a run shows of it."""
    return str(value).lower() if isinstance(value, bool) else str(value)
