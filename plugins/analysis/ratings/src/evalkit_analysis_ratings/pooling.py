"""Scores of the examples of several datasets together."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from evalkit import Result
from evalkit.base.copies import INPUT_ID
from evalkit.catalog import metric_of
from evalkit.errors import MetricError
from evalkit_analysis_ratings.draws import POOLED, sample_name
from evalkit_analysis_ratings.records import Cell
from evalkit_analysis_upkeep import merge


def pool_cells(cells: Sequence[Cell]) -> Cell:
    """Score the examples of several datasets of one model together."""
    scores = [cell.score for cell in cells]
    kinds = {(x.metric, x.tag, x.aggregate, x.perturbation) for x in scores}
    [kind, *others] = kinds
    if others or kind[-1] is not None:
        raise MetricError("only scores of one metric and tag are pooled, unperturbed")
    runs = [run for cell in cells for run in cell.runs]
    merged = runs[0]
    if len(runs) > 1:
        parts = [_renamed(run, kind[0]) for run in runs]
        merged = merge(parts, dataset=POOLED, model=str(runs[0].model))
    for score in merged.scores:
        if (score.metric, score.tag, score.aggregate, score.perturbation) == kind:
            return Cell(score, (merged,), len(cells))
    raise MetricError(f"the pooled examples have no score {kind[0]}")


def _renamed(run: Result, metric: str) -> Result:
    """Return a run with one metric, whose ids and clusters name the sample."""
    if run.examples is None:
        raise MetricError(f"the run {run.run_id} has no examples")
    owner = metric_of(metric, run.record.metric_names)
    components = tuple(
        x for x in run.record.components if x.kind != "metrics" or x.full_name == owner
    )
    start = pl.lit(f"{sample_name(run.record)}\x1f")
    names = {"id", "cluster", INPUT_ID}.intersection(run.examples.columns)
    named = ((start + pl.col(n).cast(pl.String)).alias(n) for n in sorted(names))
    examples = run.examples.with_columns(named)
    record = run.record.changed(components=components, headline=owner)
    return Result(record, (), (), examples, run.statistics)
