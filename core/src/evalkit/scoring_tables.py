"""Puts examples and predictions side by side, as metrics score them."""

from __future__ import annotations

import polars as pl

from evalkit.alignment import Alignment
from evalkit.calls import ScoringTable
from evalkit.comparable_values import comparable
from evalkit.examples import Examples
from evalkit.metrics import MetricContext
from evalkit.run_record import prediction_column


def scoring_table(examples: Examples, alignment: Alignment) -> ScoringTable:
    """Make the table of all examples, counted or not.

    Args:
        examples: The examples.
        alignment: Their predictions.

    Returns:
        The table, with the scored fields of responses and the columns of the data.
    """
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
    frame = comparable(pl.DataFrame(columns), examples.answer_kind)
    context = MetricContext(examples.labels, examples.answer_kind)
    clusters = examples.frame["cluster"] if examples.clustered else None
    ids = examples.frame["id"].to_list()
    return ScoringTable(frame, ids, clusters, context, alignment.replications)
