"""Puts what another run answered beside the responses, for judges that compare."""

from __future__ import annotations

import polars as pl

from evalkit.base.wording import count_of
from evalkit.errors import DataError
from evalkit.predictions.preparation import Prepared
from evalkit.runs.results import Result
from evalkit.runs.stored import examples_of
from evalkit.runs.tables import replication_column

AGAINST = "against"
"""The field that holds the other answer."""


def beside(run: Result | None, prepared: Prepared) -> Prepared:
    """Put the answers of a run of the same data beside the responses, as a field."""
    if run is None:
        return prepared
    examples, alignment = prepared.examples, prepared.alignment
    where = f"--against: the run {run.run_id}"
    if not run.record.includes_examples:
        raise DataError(f"{where} holds no answers, as it was made with --no-examples")
    if AGAINST in {*alignment.fields, *examples.data_columns}:
        raise DataError(
            f"{where}: data or responses have a field {AGAINST!r}; rename it"
        )
    replications = replication_column(alignment, examples.frame.height)
    ours = examples.frame.select("id", "answer").with_columns(replication=replications)
    theirs = examples_of(run).select("id", "replication", "pred", right="answer")
    keys = ["id", "replication"] if run.record.replications else ["id"]
    theirs = theirs.with_columns(pl.lit(True).alias("known"))
    joined = ours.join(theirs, keys, "left", nulls_equal=True, maintain_order="left")
    right = zip(joined["answer"].to_list(), joined["right"].to_list(), strict=True)
    is_same = pl.Series([a == b for a, b in right], dtype=pl.Boolean)
    wrong = joined.filter(~is_same | joined["known"].is_null())
    if wrong.height:
        count = count_of(wrong.height, "answer")
        raise DataError(
            f"{where} is of other data: it lacks {count} of {joined.height}, or "
            f"another one is right, as of {wrong['id'][0]!r}"
        )
    fields = {**alignment.fields, AGAINST: joined["pred"].alias(AGAINST)}
    return prepared._replace(alignment=alignment._replace(fields=fields))
