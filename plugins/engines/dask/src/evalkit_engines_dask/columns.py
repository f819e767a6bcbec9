"""Columns that annotators compute: by the driver for all rows, with workers' help.

What an annotator says of all rows (how often it was asked, whether it fails too often,
its limits) cannot be said by parts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from evalkit.base.progress import Progress
from evalkit.predictions.alignment import Alignment, ComputedColumns
from evalkit.predictions.preparation import Prepared
from evalkit.runs import recorded
from evalkit.runs.recording import Asked
from evalkit.runs.tables import (
    detail_tables,
    join_details,
    record_columns,
    replication_column,
)
from evalkit_engines_dask.buckets import Rows, bucket_of
from evalkit_engines_dask.plan import Task
from evalkit_engines_dask.store import attempt, save


class Columns(NamedTuple):
    """Columns that were computed."""

    prepared: Prepared
    """The whole with the columns."""
    files: Sequence[str]
    """By bucket, the columns of its rows, for `with_columns`."""
    recorded: tuple[recorded.Columns, ...]
    without_rows: tuple[ComputedColumns, ...]


def compute_columns(
    engine: Any, asked: Asked, task: Task, prepared: Prepared, progress: Progress
) -> Columns:
    """Compute the columns of all rows, and write those of each bucket to the store."""
    stage, (examples, alignment) = asked.computed_columns, prepared[:2]
    assert stage is not None
    jobs = asked.options.settings.jobs
    found = stage.compute(
        examples, alignment, jobs, lambda text: progress(text, 0.7), engine
    )
    for each in found.computed:
        asked.watchers.warnings += each.warnings
    ids = examples.frame["id"]
    new = {n: c for n, c in found.fields.items() if n not in alignment.fields}
    alone = found._replace(fields=new)
    buckets = bucket_of(ids, task.buckets)
    files = [
        save(
            task.store,
            attempt(f"{task.folder}/columns/{number}"),
            _part(alone, np.flatnonzero(buckets == number)),
        )
        for number in range(task.buckets)
    ]
    names = replication_column(found, len(ids))
    tables = join_details(detail_tables(found.computed, ids, names))
    told = record_columns(found.computed, tables, asked.options.include_examples)
    nothing = _part(alone, np.empty(0, np.int64))["computed"]
    return Columns(prepared._replace(alignment=found), files, told, nothing)


def _part(found: Alignment, rows: Rows) -> dict[str, Any]:
    places = pl.DataFrame({"position": rows.astype(np.uint32)}).with_row_index("place")

    def placed(frame: pl.DataFrame) -> pl.DataFrame:
        joined = frame.join(places, "position", maintain_order="left")
        return joined.with_columns(position="place").drop("place")

    def gathered(columns: Mapping[str, pl.Series]) -> dict[str, pl.Series]:
        return {name: column.gather(rows) for name, column in columns.items()}

    return {
        "fields": gathered(found.fields),
        "computed": tuple(
            each._replace(columns=gathered(each.columns), details=placed(each.details))  # type: ignore[attr-defined]
            for each in found.computed
        ),
        "lacking": {name: placed(frame) for name, frame in found.lacking.items()},
    }


def with_columns(alignment: Alignment, part: Mapping[str, Any]) -> Alignment:
    """Add the columns of its rows to what was matched."""
    return alignment._replace(**{**part, "fields": alignment.fields | part["fields"]})
