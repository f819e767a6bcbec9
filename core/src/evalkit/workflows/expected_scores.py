"""Says which scores an evaluation will have, before it is done."""

from __future__ import annotations

from typing import Any, NamedTuple

from evalkit.plugins.bound import BoundMetric
from evalkit.plugins.observers import Observers
from evalkit.plugins.registry import Registry
from evalkit.workflows.evaluation_steps import bind
from evalkit.workflows.options import EvaluationOptions


class ExpectedScores(NamedTuple):
    """The scores of the whole set that an evaluation will have."""

    dataset: str
    """Name of the data set, as its runs record it."""
    scores: dict[str, BoundMetric]
    """The scores that are known beforehand, by name, with their units and bounds."""
    is_open: bool
    """Whether the data set scores itself, so that there may be scores of any name."""


def expect_scores(
    dataset: Any,
    options: EvaluationOptions,
    *,
    task: Any = None,
    registry: Registry | None = None,
) -> ExpectedScores:
    """Say which scores an evaluation will have, without reading data.

    Args:
        dataset: As for `evaluate`, like the other arguments.
        options: All that says how it is evaluated.
        task: The task of a file of examples.
        registry: Where plugins are found.

    Returns:
        The scores. A metric that names its scores only in what it returns is there
        under its own name.

    Raises:
        EvalkitError: The evaluation could not begin, such as where a plugin is broken.
    """
    registry = registry or Registry()
    asked = bind(dataset, task, options, registry, Observers(registry, ()))
    scores = {}
    for metric in asked.metrics:
        scores[metric.name] = metric
        parts = [metric.score_of(part) for part in metric.scores if part]
        scores.update((part.name, part) for part in parts)
    return ExpectedScores(
        asked.dataset.component.name, scores, asked.dataset.has("evaluate")
    )
