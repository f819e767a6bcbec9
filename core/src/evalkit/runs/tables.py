"""The tables that a run keeps, and what metrics score of them.

Of examples and computed columns; columns of the data that it lacks are read again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby

import polars as pl

from evalkit.base.columns import all_named, frame_of
from evalkit.base.copies import AS_STORED
from evalkit.base.terms import MetricContext
from evalkit.errors import EvalkitError, StorageError
from evalkit.examples.files import bind_dataset
from evalkit.examples.row_stages import source_for
from evalkit.examples.table import Examples, load_examples
from evalkit.plugins.bound import BoundDataset, BoundMetric
from evalkit.plugins.components import AS_PYTHON, GIVEN, WITHOUT_PLUGIN
from evalkit.plugins.contract import RESERVED_FIELDS
from evalkit.plugins.provenance import rows_hash
from evalkit.plugins.resolver import Resolver
from evalkit.predictions.alignment import Alignment, ComputedColumns
from evalkit.predictions.answer_readers import (
    RESPONSE,
    RESPONSES,
    STATUS,
    TYPES,
    AnswerReader,
)
from evalkit.predictions.problems import FAILED, NOT_SCORED, Problem
from evalkit.runs import recorded
from evalkit.runs.accounts import known_job
from evalkit.runs.record import RunRecord
from evalkit.runs.results import Result
from evalkit.runs.stored import bound_component, examples_of, scored_fields
from evalkit.runs.withholding import WITHHELD
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
    nothing = pl.repeat(None, examples, dtype=pl.Float64, eager=True)
    return nothing.scatter(scores[position], scores[score].cast(pl.Float64))


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


def detail_tables(
    computed: Iterable[ComputedColumns], ids: pl.Series, replications: pl.Series
) -> Iterator[tuple[str, pl.DataFrame]]:
    """Yield the details of computed columns as a run keeps them, and their names."""
    for each in computed:
        rows = each.details["position"]
        columns = [
            ids.gather(rows).alias("id"),
            replications.gather(rows).alias("replication"),
            *each.details.drop("position").get_columns(),
        ]
        yield each.component.name, frame_of(columns)


def join_details(tables: Iterable[tuple[str, pl.DataFrame]]) -> dict[str, pl.DataFrame]:
    """Put tables of one name together."""
    by_name = sorted(tables, key=lambda each: each[0])
    return {
        name: pl.concat([table for _, table in several])
        for name, several in groupby(by_name, key=lambda each: each[0])
    }


def record_columns(
    computed: Iterable[ComputedColumns],
    tables: Mapping[str, pl.DataFrame],
    include_reasons: bool,
) -> tuple[recorded.Columns, ...]:
    """Return what `run.json` says of computed columns; reasons may quote the data."""
    found = []
    for each in computed:
        name = each.component.name
        table = tables[name]
        reasons = table["reason"].drop_nulls().to_list()
        counts = Counter(reasons if include_reasons else [WITHHELD] * len(reasons))
        found.append(
            recorded.Columns(
                component=each.component.component.id,
                name=name,
                columns=tuple(each.columns),
                rows=table.height,
                without_value=dict(counts.most_common()),
                sha256=values_hash(each.columns.values(), table),
                details=each.record(table),
            )
        )
    return tuple(found)


def values_hash(columns: Iterable[pl.Series], table: pl.DataFrame) -> str:
    """Hash computed columns, and why some values are not there."""
    of_examples = table.select("id", "replication", "reason")
    values = ({"column": c.name, "values": c.to_list()} for c in columns)
    reasons = ({"reasons": list(row)} for row in of_examples.iter_rows())
    return rows_hash([*values, *reasons])


def stored_lacking(
    details: Mapping[str, pl.DataFrame],
    told: Sequence[recorded.Columns],
    rows: pl.DataFrame,
) -> Iterator[tuple[str, pl.DataFrame]]:
    """Yield computed columns of a run with the rows that lack a value, and why."""
    keys = ["id", "replication"]
    places = rows.select(keys).with_columns(
        pl.int_range(pl.len(), dtype=pl.UInt32).alias("position")
    )
    for each in told:
        table = details.get(each.name)
        if table is None:
            continue
        found = table.drop_nulls("reason").join(places, on=keys, nulls_equal=True)
        lacking = found.select("position", "reason", "failed").sort("position")
        for name in each.columns:
            yield name, lacking


def record_extraction(
    answers: AnswerReader | None, extracted: pl.DataFrame | None
) -> recorded.Extraction | None:
    """Return what a run records of extractors; None where there are none."""
    if answers is None or extracted is None:
        return None
    record = {**answers.record, **counts_of(extracted)}
    return recorded.Extraction.model_validate(record)


def counts_of(extracted: pl.DataFrame) -> dict[str, int]:
    """Count responses by what became of them; without a status they are not scored."""
    statuses = extracted[STATUS].drop_nulls()
    by_status = Counter(dict(statuses.value_counts().iter_rows()))
    return {
        "responses": len(statuses),
        "unique": texts_of(extracted).n_unique(),
        **{name: by_status[name] for name in ("ok", "empty", "unparsed", "error")},
    }


def texts_of(extracted: pl.DataFrame) -> pl.Series:
    """Return the texts that answers were taken from, of what is scored."""
    scored = extracted.filter(pl.col(STATUS).is_not_null())
    if RESPONSES not in scored.columns:
        return scored[RESPONSE].drop_nulls()
    several = scored[RESPONSES].drop_nulls().explode()
    alone = scored.filter(pl.col(RESPONSES).is_null())[RESPONSE]
    return pl.concat([alone, several]).drop_nulls()


def as_kept(extracted: pl.DataFrame) -> list[pl.Series]:
    """Return the columns of `examples.parquet` that hold what extractors looked at."""
    return [each.alias(AS_STORED + each.name) for each in extracted.get_columns()]


def kept_extraction(examples: pl.DataFrame) -> pl.DataFrame | None:
    """Return what `as_kept` kept; None where a run kept no responses."""
    names = [name for name in TYPES if AS_STORED + name in examples.columns]
    if RESPONSE not in names:
        return None
    return pl.DataFrame([examples[AS_STORED + name].alias(name) for name in names])


def unscored_counts(scored: Sequence[MetricScores]) -> dict[str, int]:
    """Count the answers that each metric did not score, of those that left some out."""
    return {
        found.name: found.unscored.height
        for found in scored
        if found.unscored is not None and found.unscored.height
    }


def unscored_problems(
    examples: pl.DataFrame, scored: Sequence[MetricScores]
) -> Iterator[Problem]:
    """Yield a problem for each answer that a metric did not score."""
    for found in scored:
        if found.unscored is None or found.unscored.is_empty():
            continue
        of_answers = examples.select("id", "replication")[found.unscored["position"]]
        rows = found.unscored.select("reason", "failed").hstack(of_answers)
        for reason, failed, uid, replication in rows.iter_rows():
            status = FAILED if failed else NOT_SCORED
            yield Problem(
                *(status, None, uid, (), replication), metric=found.name, reason=reason
            )


def unscored_answers(
    examples: pl.DataFrame, problems: Iterable[Problem]
) -> dict[str, pl.DataFrame]:
    """Return what `unscored_problems` was made of, by name of the metric."""
    rows = [
        (found.metric, found.id, found.replication, found.reason, found.status)
        for found in problems
        if found.metric is not None
    ]
    names = ("metric", "id", "replication", "reason", "status")
    listed = pl.DataFrame(rows, schema=dict.fromkeys(names, pl.String), orient="row")
    places = examples.select("id", "replication").with_row_index("position")
    keys = ["id", "replication"]
    joined = listed.join(places, on=keys, nulls_equal=True).sort("position")
    by_metric = joined.partition_by("metric", as_dict=True)
    return {
        str(name): rows.select("position", "reason", failed=pl.col("status") == FAILED)
        for (name,), rows in by_metric.items()
    }


def load_metrics(
    result: Result,
    metrics: Iterable[BoundMetric | recorded.Component],
    resolver: Resolver,
) -> tuple[Measured, list[BoundMetric], dict[str, EvalkitError]]:
    """Load metrics of a run, with the columns of the data that they ask for."""
    measured = measured_run(result)
    ready: list[BoundMetric] = []
    errors: dict[str, EvalkitError] = {}
    for each in metrics:
        try:
            if isinstance(each, BoundMetric):
                metric = each
            else:
                metric = BoundMetric.of(bound_component(each, resolver))
            measured = _with_inputs(measured, result, metric, resolver)
            ready.append(metric)
        except EvalkitError as error:
            name = each.name if isinstance(each, BoundMetric) else each.full_name
            errors[name] = error
    return measured, ready, errors


def _with_inputs(
    measured: Measured, result: Result, metric: BoundMetric, resolver: Resolver
) -> Measured:
    """Add the columns of the data that a metric asks for and a run does not hold."""
    frame = measured.everything.frame
    lacking = {*metric.columns_of_data} - {*frame.columns}
    if not lacking:
        return measured
    first = min(lacking)
    try:
        examples = load_data(result, resolver, lacking)
    except EvalkitError as error:
        raise EvalkitError(
            f"the run {result.run_id} does not hold the field {first!r}: {error}"
        ) from error
    if result.record.data.identity.key != examples.identity.key:
        raise EvalkitError(
            f"the data of {result.dataset} has changed since the run {result.run_id} "
            f"was made, which does not hold its field {first!r}"
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


def _what_is_needed(result: Result) -> str:
    """Say by what the data can be known that a run does not hold."""
    data = result.record.data
    if data.files:
        files = ", ".join(f"{each.name} (SHA-256 {each.sha256})" for each in data.files)
        return f"is the file {files}: name it with `evalkit rescore --data`"
    rows = f"are the rows with the SHA-256 {data.rows_sha256 or data.sha256}"
    return f"{rows}: hand them to `evalkit.rescore` as data"


def load_data(result: Result, resolver: Resolver, columns: set[str]) -> Examples:
    """Read the data again that a run was made from; it may have changed since."""
    record = result.record
    used = next(c for c in record.components if c.kind == "datasets")
    if resolver.data is not None:
        dataset = bind_dataset(resolver, resolver.data, record.task)
    elif used.distribution in (GIVEN, AS_PYTHON, *WITHOUT_PLUGIN):
        needed = _what_is_needed(result)
        raise EvalkitError(
            f"{used.name} was {used.distribution}, and only installed data sets can be "
            f"loaded again; what it needs {needed}"
        )
    else:
        dataset = BoundDataset.of(bound_component(used, resolver))
    task = resolver.task(dataset)
    if record.data.adapters:
        stages = [each.stage for each in record.data.adapters]
        source = source_for(dataset, "adapters", None)
        dataset = replace(dataset, pipeline=source.recorded(stages, resolver.registry))
    return load_examples(dataset, task, record.split, columns, limit=record.data.limit)
