"""Puts examples and predictions side by side, as metrics score them."""

from __future__ import annotations

import polars as pl

from evalkit.base.columns import encode, frame_of
from evalkit.base.jobs import Job
from evalkit.base.terms import MetricContext
from evalkit.examples.table import Examples
from evalkit.predictions.alignment import Alignment
from evalkit.scoring.table import ScoringTable, comparable


def scoring_table(
    examples: Examples, alignment: Alignment, job: Job | None = None
) -> ScoringTable:
    """Make the table of all examples, counted or not."""
    columns = [
        pl.Series("position", range(examples.frame.height), dtype=pl.UInt32),
        prediction_column(examples, alignment.predictions),
        examples.frame["answer"].alias("target"),
    ]
    taken = {"prediction", "target", "position"}
    for name, values in alignment.fields.items():
        columns.append(values)
        taken.add(name)
    columns += [c for c in examples.inputs.get_columns() if c.name not in taken]
    frame = comparable(frame_of(columns), examples.answer_kind)
    context = MetricContext(
        examples.labels, examples.answer_kind, job=job, languages=examples.languages
    )
    clusters = examples.frame["cluster"] if examples.clustered else None
    ids = examples.frame["id"]
    names, choices = alignment.replications, examples.choices
    table = ScoringTable(frame, ids, clusters, context, names, choices)
    offered = tuple(dict.fromkeys((*examples.data_columns, *alignment.fields)))
    return table._replace(lacking=alignment.lacking, offered=offered)


def prediction_column(examples: Examples, predictions: pl.Series) -> pl.Series:
    """Bring predictions into a type that can be compared with the answers'."""
    column = predictions.alias("prediction")
    answer = examples.frame["answer"].dtype
    item = answer.inner if isinstance(answer, pl.List) else answer
    is_single = examples.answer_kind in ("one", "any-of")
    if examples.answer_kind == "none":
        return column
    if column.null_count() == len(column) and isinstance(item, pl.DataType):
        dtype = item if is_single else answer
        return pl.Series("prediction", [None] * len(column), dtype=dtype)
    if item == pl.String and is_single and column.dtype != pl.String:
        # numbers or lists are no text, but metrics can compare only columns of one type
        texts = [
            encode(value.to_list() if isinstance(value, pl.Series) else value)
            for value in column
        ]
        return pl.Series("prediction", texts, dtype=pl.String)
    return column
