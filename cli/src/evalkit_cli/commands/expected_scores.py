"""Says which scores an evaluation will have, before it is done."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from evalkit import EvaluationOptions, Registry
    from evalkit.catalog import BoundMetric


class ExpectedScores(NamedTuple):
    """The scores of the whole set that an evaluation will have."""

    dataset: str
    """Name of the data set, as its runs record it."""
    scores: dict[str, BoundMetric]
    """The scores that are known beforehand, by name, with their units and bounds."""
    is_open: bool
    """Whether the data set scores itself, so that there may be scores of any name."""


def expect_scores(
    dataset: str, options: EvaluationOptions, task: str | None, registry: Registry
) -> ExpectedScores:
    """Say which scores an evaluation will have, without reading data."""
    from evalkit.catalog import Resolver, bind_dataset

    resolver = Resolver(registry)
    bound = bind_dataset(resolver, dataset, task)
    named = options.metrics
    stage = options.columns
    of_declared = [] if stage is None else stage.metrics(resolver)
    metrics = resolver.metrics(
        bound,
        resolver.task(bound),
        [named] if isinstance(named, str) else named,
        [*options.extra_metrics, *of_declared],
        options.perf_metric,
    )
    scores = {}
    for metric in metrics:
        scores[metric.name] = metric
        parts = [metric.score_of(part) for part in metric.scores if part]
        scores.update((part.name, part) for part in parts)
    return ExpectedScores(bound.component.name, scores, bound.has("evaluate"))
