"""Reads again the columns of the data that a run does not hold."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import polars as pl

from evalkit.base.columns import all_named
from evalkit.errors import EvalkitError
from evalkit.examples.files import bind_dataset
from evalkit.examples.row_stages import source_for
from evalkit.examples.table import Examples, load_examples
from evalkit.plugins.bound import BoundMetric
from evalkit.plugins.components import AS_PYTHON, GIVEN, WITHOUT_PLUGIN
from evalkit.plugins.resolver import Resolver
from evalkit.runs import recorded
from evalkit.runs.results import Result
from evalkit.runs.stored import bound_component
from evalkit.runs.tables import measured_run
from evalkit.scoring.measurement import Measured


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
        dataset = resolver.dataset(used.reference)
    task = resolver.task(dataset)
    if record.data.adapters:
        stages = [each.stage for each in record.data.adapters]
        source = source_for(dataset, "adapters", None)
        stage = source.recorded(stages, resolver.registry)
        dataset = replace(dataset, pipeline=stage)
    limit = record.data.limit
    return load_examples(dataset, task, record.split, columns, limit=limit)
