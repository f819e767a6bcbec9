"""The tables that a run keeps of its examples, and what metrics score of them."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from evalkit.base.columns import all_named, named
from evalkit.base.copies import AS_STORED
from evalkit.base.terms import AnswerKind, MetricContext
from evalkit.errors import StorageError
from evalkit.plugins.attributes import RESERVED_FIELDS
from evalkit.predictions.alignment import Alignment
from evalkit.runs.column_tables import stored_lacking
from evalkit.runs.jobs import known_job
from evalkit.runs.record import RunRecord
from evalkit.runs.results import Result
from evalkit.runs.stored import answer_kind, examples_of, scored_fields
from evalkit.scoring.grouping import Groups, group_by_tag
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
    """Return how a run's intervals were computed.

    Args:
        record: What the run records.
        jobs: Processes to use now.

    Returns:
        The settings; those that an older run did not record are the defaults.
    """
    return ScoringSettings(
        confidence=record.confidence,
        seed=record.seed,
        jobs=jobs,
        fewest=record.min_n,
    )


def measured_run(result: Result) -> Measured:
    """Make what metrics score of the stored examples.

    Args:
        result: A result, stored or not.

    Returns:
        All examples and which of them count; without the fields of the input, which a
        run does not hold.

    Raises:
        StorageError: The run was refused or made with `--no-examples`, or its examples
            cannot be read.
    """
    _refuse_refused(result)
    examples = examples_of(result)
    frame = examples.select(
        pl.int_range(pl.len(), dtype=pl.UInt32).alias("position"),
        pl.col("pred").alias("prediction"),
        pl.col("answer").alias("target"),
        all_named(scored_fields(examples)),
    )
    return measured_frame(result, examples, frame, answer_kind(result))


def measured_frame(
    result: Result, examples: pl.DataFrame, frame: pl.DataFrame, kind: AnswerKind
) -> Measured:
    """Put stored examples together with what a run recorded about them.

    Args:
        result: The run.
        examples: What `examples.parquet` holds.
        frame: `position`, `prediction`, `target` and further columns.
        kind: Shape of the answers.

    Returns:
        What metrics score.
    """
    clusters, given = examples["cluster"], result.record.predictions
    everything = ScoringTable(
        comparable(frame, kind),
        examples["id"].to_list(),
        clusters if clusters.null_count() < examples.height else None,
        MetricContext(result.record.labels, kind, job=known_job(given.name, given.job)),
        result.record.replications,
        examples[CHOICES] if CHOICES in examples.columns else None,
        lacking=dict(
            stored_lacking(result.column_details, result.record.columns, examples)
        ),
    )
    counted = examples["status"].is_in(result.record.policies.counted)
    return Measured(everything, counted, stored_groups(examples))


def stored_groups(examples: pl.DataFrame) -> Groups:
    """Return the groups of stored examples: by tag and by crossing."""
    crossed = {
        name.removeprefix(CROSSING): examples[name]
        for name in examples.columns
        if name.startswith(CROSSING)
    }
    return group_by_tag(examples["tags"], crossed)


def stored_scoring_table(result: Result) -> ScoringTable:
    """Make what metrics score of those stored examples that count.

    Args:
        result: A result, stored or not.

    Returns:
        The table.

    Raises:
        StorageError: As `measured_run`.
    """
    return measured_run(result).table


def _refuse_refused(result: Result) -> None:
    if result.status == "refused":
        raise StorageError(
            f"{_where(result)}: was refused, so that there is nothing to score"
        )


def _where(result: Result) -> str:
    return str(result.path or f"the run {result.run_id}")


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
        values = scores_by_position(found.per_example, examples.height)
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
    """Return the statistics that a run keeps, by name of the metric.

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


def scores_by_position(scores: pl.DataFrame, examples: int) -> pl.Series:
    """Return the scores of a metric in the order of the examples.

    Args:
        scores: The position of each, and the score.
        examples: How many examples there are.

    Returns:
        A score for each example; null where it has none.
    """
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
