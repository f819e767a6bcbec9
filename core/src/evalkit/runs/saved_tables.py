"""The tables that a run keeps of its examples: scores of each, and statistics."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from evalkit.base.columns import named
from evalkit.plugins.attributes import RESERVED_FIELDS
from evalkit.predictions.alignment import Alignment
from evalkit.scoring.records import MetricScores


def with_example_scores(
    examples: pl.DataFrame, scored: Sequence[MetricScores]
) -> pl.DataFrame:
    """Add a column for each metric that has per-example scores.

    Args:
        examples: One row for each example.
        scored: What the metrics computed.

    Returns:
        The examples with a column named after each of these metrics.
    """
    taken = {*RESERVED_FIELDS, *examples.columns}
    for found in scored:
        if found.per_example is None:
            continue
        values = _by_position(found.per_example, examples.height)
        name = found.name
        if name in taken:  # a metric may be called like another column
            name = f"metrics/{name}"
        examples = examples.with_columns(values.alias(name))
    return examples


def replication_column(alignment: Alignment, rows: int) -> pl.Series:
    """Name the replication of each row.

    Args:
        alignment: The outcome for every cell.
        rows: How many rows there are.

    Returns:
        The names; null where there are no replications.
    """
    names = pl.Series("replication", alignment.replications, dtype=pl.String)
    if names.is_empty():
        return names.extend_constant(None, rows)
    return names.gather(pl.arange(rows, eager=True) % len(names))


def saved_statistics(
    scored: Sequence[MetricScores], include_examples: bool
) -> dict[str, pl.DataFrame]:
    """Give the statistics that a run keeps, by name of the metric.

    Args:
        scored: What each metric computed.
        include_examples: Whether the run holds answers and predictions; without them
            it holds no statistics that have keys either, which may be labels.

    Returns:
        The statistics of metrics that are not functions of lists.
    """
    return {
        found.name: found.statistics
        for found in scored
        if found.statistics is not None and (include_examples or not found.metric.keys)
    }


def _by_position(scores: pl.DataFrame, examples: int) -> pl.Series:
    position, score = scores.columns
    if scores.height == examples and scores[position].is_sorted():
        return scores[score].cast(pl.Float64)
    everyone = pl.DataFrame({position: pl.arange(examples, eager=True)}).cast(
        {position: scores.schema[position]}
    )
    joined = everyone.join(
        scores, on=named(position), how="left", maintain_order="left"
    )
    return joined[score].cast(pl.Float64)
