"""Makes what metrics score of the examples that a run folder holds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import polars as pl

from evalkit.base.columns import all_named
from evalkit.base.terms import AnswerKind, MetricContext
from evalkit.errors import EvalkitError, StorageError
from evalkit.examples.files import AS_FILE
from evalkit.examples.table import Examples, load_examples
from evalkit.plugins.bound import BoundMetric
from evalkit.plugins.resolver import GIVEN, Resolver
from evalkit.runs.results import Result
from evalkit.runs.stored import (
    answer_kind,
    counted_statuses,
    examples_of,
    scored_fields,
)
from evalkit.scoring.comparable_values import comparable
from evalkit.scoring.grouping import Groups, group_by_tag
from evalkit.scoring.measurement import Measured
from evalkit.scoring.records import ScoringSettings
from evalkit.scoring.table import ScoringTable

CROSSING = "by "
"""Start of the names of those columns of `examples.parquet` that hold crossings."""


def settings_of(record: Mapping[str, object], jobs: int = 1) -> ScoringSettings:
    """Give how a run's intervals were computed.

    Args:
        record: What `run.json` holds.
        jobs: Processes to use now.

    Returns:
        The settings; those that an older run did not record are the defaults.
    """
    return ScoringSettings(
        confidence=float(str(record["confidence"])),
        seed=int(str(record["seed"])),
        jobs=jobs,
        fewest=int(str(record.get("min_n", 1))),
        resample_lists=bool(record.get("resample_lists", False)),
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


def measured_statistics(result: Result) -> Measured:
    """Make what saved statistics are about, of a run without answers and predictions.

    Args:
        result: A result, stored or not.

    Returns:
        As `measured_run`, but its examples have no prediction and no target.

    Raises:
        StorageError: The run was refused, or its examples cannot be read.
    """
    _refuse_refused(result)
    if result.examples is None:
        raise StorageError(f"{_where(result)}: has no examples")
    frame = result.examples.select(
        pl.int_range(pl.len(), dtype=pl.UInt32).alias("position"),
        prediction=pl.lit(None, dtype=pl.String),
        target=pl.lit(None, dtype=pl.String),
    )
    kind = result.to_dict().get("answer_kind", "one")
    return measured_frame(result, result.examples, frame, kind)


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
    record = result.to_dict()
    labels = record.get("labels")
    context = MetricContext(
        None if labels is None else tuple(labels),
        kind,
    )
    clusters = examples["cluster"]
    everything = ScoringTable(
        comparable(frame, kind),
        examples["id"].to_list(),
        clusters if clusters.null_count() < examples.height else None,
        context,
        tuple(record.get("replications", ())),
    )
    counted = examples["status"].is_in(counted_statuses(result))
    return Measured(everything, counted, stored_groups(examples))


def stored_groups(examples: pl.DataFrame) -> Groups:
    """Give the groups of stored examples: by tag and by crossing."""
    crossed = {
        name.removeprefix(CROSSING): examples[name]
        for name in examples.columns
        if name.startswith(CROSSING)
    }
    return group_by_tag(examples["tags"], crossed)


def with_inputs(
    measured: Measured,
    result: Result,
    metrics: Sequence[BoundMetric],
    resolver: Resolver,
) -> Measured:
    """Add the columns of the data that metrics ask for and a run does not hold.

    Args:
        measured: What metrics score.
        result: The run.
        metrics: The metrics.
        resolver: Finds the data set.

    Returns:
        The same with these columns.

    Raises:
        EvalkitError: The data is not what it was when the run was made.
        PluginError: The data set is not installed.
    """
    frame = measured.everything.frame
    wanted = {name for metric in metrics for name in metric.columns}
    lacking = wanted - set(frame.columns)
    if not lacking:
        return measured
    try:
        examples = load_data(result, resolver, lacking)
    except EvalkitError as error:
        raise EvalkitError(
            f"the run {result.run_id} does not hold the field {min(lacking)!r}: {error}"
        ) from error
    if examples.fingerprint != result.to_dict()["data"]["sha256"]:
        raise EvalkitError(
            f"the data of {result.dataset} has changed since the run {result.run_id} "
            f"was made, which does not hold its field {min(lacking)!r}"
        )
    inputs = examples.inputs
    ids = pl.Series("uid", measured.everything.ids, dtype=pl.String)
    present = [name for name in sorted(lacking) if name in inputs.columns]
    joined = ids.to_frame().join(
        inputs.select(all_named(["uid", *present])),
        on="uid",
        how="left",
        maintain_order="left",
    )
    everything = measured.everything._replace(
        frame=frame.hstack(joined.select(all_named(present)).get_columns())
    )
    return measured._replace(everything=everything)


def load_data(result: Result, resolver: Resolver, columns: set[str]) -> Examples:
    """Read the data again that a run was made from.

    Args:
        result: The run.
        resolver: Finds the data set.
        columns: Names of the columns.

    Returns:
        The examples, which may have changed since.

    Raises:
        DataError: The data cannot be read.
        EvalkitError: It did not come from an installed data set.
        PluginError: The data set is not installed.
    """
    record = result.to_dict()
    component = next(c for c in record["components"] if c["id"].startswith("datasets/"))
    name, distribution = component["id"].partition("/")[2], component["distribution"]
    if distribution in (GIVEN, AS_FILE):
        raise EvalkitError(
            f"{name} was {distribution}, and only installed data sets can be loaded "
            "again"
        )
    dataset = resolver.dataset(f"{name}@{distribution}")
    task = resolver.task(dataset)
    return load_examples(dataset, task, record["split"], columns)


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
