"""Scores parts of a dataset apart, adds them up, and finalizes the sum."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import polars as pl

from evalkit.base.terms import MetricContext
from evalkit.errors import MetricError
from evalkit.examples.table import Examples
from evalkit.plugins.bound import BoundMetric
from evalkit.predictions.alignment import Alignment
from evalkit.predictions.table import scoring_table
from evalkit.scoring.final_scores import finalize_metric
from evalkit.scoring.label_pairs import SharedPairs
from evalkit.scoring.records import MetricScores, ScoringSettings
from evalkit.scoring.tally import Tallies
from evalkit.scoring.tallying import tally_table


class Plan(NamedTuple):
    """What all parts of a dataset are scored by."""

    metrics: Sequence[BoundMetric]
    """The metrics; those with `prepare` have seen all answers."""
    context: MetricContext
    """What metrics know: labels and kind of answers of the whole dataset."""
    counted: Sequence[str] = ("scored",)
    """Statuses of the answers that metrics get; the others are left out."""
    settings: ScoringSettings = ScoringSettings()
    """How intervals are computed."""


def partition_tallies(
    plan: Plan,
    examples: Examples,
    responses: Alignment,
    crossings: Mapping[str, pl.Series] | None = None,
) -> Tallies:
    """Score a part of a dataset to tallies.

    Args:
        plan: What all parts are scored by.
        examples: The examples of the part.
        responses: Their responses, matched.
        crossings: Further groups of each example, by what they cross.

    Returns:
        The tallies, which `merge_tallies` adds to those of the other parts.

    Raises:
        MetricError: A metric is a function of lists, which has no tally.
    """
    lists = [metric for metric in plan.metrics if metric.has("compute")]
    if lists:
        raise MetricError(
            f"{lists[0].component.origin}: functions of lists have no tally. Score "
            "the whole dataset at once."
        )
    table = scoring_table(examples, responses)
    frame = table.frame
    if plan.context.answer_kind == "any-of" and examples.answer_kind == "one":
        frame = frame.with_columns(target=pl.concat_list("target"))
    table = table._replace(frame=frame, context=plan.context, is_part=True)
    status = pl.lit(responses.statuses.cast(pl.String))
    left_out = pl.select(pl.when(~status.is_in(list(plan.counted))).then(status))
    tags = examples.frame["tags"]
    return tally_table(
        plan.metrics, table, left_out.to_series(), tags, crossings
    ).tallies


def finalize(plan: Plan, tallies: Tallies) -> list[MetricScores]:
    """Turn tallies into the scores of all metrics.

    Args:
        plan: What they were scored by.
        tallies: The tallies of the whole dataset.

    Returns:
        The scores, in the order of the metrics.
    """
    shared, parts = SharedPairs(), (plan.context, tallies, plan.settings)
    return [
        finalize_metric(metric, *parts, shared=shared)
        for whole in plan.metrics
        for metric in whole.parts()
    ]
