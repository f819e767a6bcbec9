"""The tables that a run keeps of its examples, and what metrics score of them."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from evalkit.base.columns import all_named, named
from evalkit.base.copies import AS_STORED
from evalkit.base.terms import MetricContext
from evalkit.errors import StorageError
from evalkit.plugins.attributes import RESERVED_FIELDS
from evalkit.predictions.alignment import Alignment
from evalkit.runs.column_tables import stored_lacking
from evalkit.runs.jobs import known_job
from evalkit.runs.record import RunRecord
from evalkit.runs.results import Result
from evalkit.runs.stored import examples_of, scored_fields
from evalkit.scoring.grouping import group_by_tag
from evalkit.scoring.measurement import Measured
from evalkit.scoring.records import MetricScores, ScoringSettings
from evalkit.scoring.table import ScoringTable, comparable

CROSSING = "by "
"""Start of the names of those columns of `examples.parquet` that hold crossings."""

KEPT = "column/"
"""Start of the names of those columns of `examples.parquet` that the data have; no
field can be called so, for the slash."""

CHOICES = f"{AS_STORED}choices"
"""The column of `examples.parquet` with the options that each example has."""


def settings_of(record: RunRecord, jobs: int = 1) -> ScoringSettings:
    """Return how a run's intervals were computed, with the processes to use now."""
    return ScoringSettings(record.confidence, record.seed, jobs, record.min_n)


def measured_run(result: Result) -> Measured:
    """Make the table that metrics score from stored examples, without input fields."""
    record = result.record
    if result.status == "refused":
        raise StorageError(
            f"{result.path or f'the run {result.run_id}'}: was refused, so that there "
            "is nothing to score"
        )
    examples = examples_of(result)
    frame = examples.select(
        pl.int_range(pl.len(), dtype=pl.UInt32).alias("position"),
        pl.col("pred").alias("prediction"),
        pl.col("answer").alias("target"),
        all_named(scored_fields(examples)),
    )
    kind, clusters = record.answer_kind or "one", examples["cluster"]
    job = known_job(record.predictions.name, record.predictions.job)
    lacking = stored_lacking(result.column_details, record.columns, examples)
    everything = ScoringTable(
        comparable(frame, kind),
        examples["id"].to_list(),
        clusters if clusters.null_count() < examples.height else None,
        MetricContext(record.labels, kind, job=job, languages=record.data.languages),
        record.replications,
        examples[CHOICES] if CHOICES in examples.columns else None,
        lacking=dict(lacking),
    )
    crossed = {
        name.removeprefix(CROSSING): examples[name]
        for name in examples.columns
        if name.startswith(CROSSING)
    }
    counted = examples["status"].is_in(record.policies.counted)
    return Measured(everything, counted, group_by_tag(examples["tags"], crossed))


def stored_scoring_table(result: Result) -> ScoringTable:
    """Make what metrics score of those stored examples that count."""
    return measured_run(result).table


def with_example_scores(
    examples: pl.DataFrame, scored: Sequence[MetricScores]
) -> pl.DataFrame:
    """Add a column for each metric that has per-example scores, named after it."""
    taken = {*RESERVED_FIELDS, *examples.columns}
    for found in scored:
        if found.per_example is None:
            continue
        values = _by_position(found.per_example, examples.height)
        # a metric may be called like another column
        name = f"metrics/{found.name}" if found.name in taken else found.name
        examples = examples.with_columns(values.alias(name))
    return examples


def _by_position(scores: pl.DataFrame, examples: int) -> pl.Series:
    """Return scores in the order of the examples; null where one has none."""
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


def replication_column(alignment: Alignment, rows: int) -> pl.Series:
    """Name the replication of each row; null where there are no replications."""
    names = pl.Series("replication", alignment.replications, dtype=pl.String)
    if names.is_empty():
        return names.extend_constant(None, rows)
    return names.gather(pl.arange(rows, eager=True) % len(names))


def saved_statistics(
    scored: Sequence[MetricScores], include_examples: bool
) -> dict[str, pl.DataFrame]:
    """Return the statistics that a run keeps, by name of the metric.

    A run without answers and predictions holds no statistics that have keys either,
    which may be labels.
    """
    return {
        found.name: found.statistics
        for found in scored
        if found.statistics is not None and (include_examples or not found.metric.keys)
    }
