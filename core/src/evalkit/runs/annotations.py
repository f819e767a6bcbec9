"""What a run keeps of annotations beside their values."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby

import polars as pl

from evalkit.annotating.annotations import Annotated
from evalkit.base.columns import frame_of
from evalkit.plugins.provenance import rows_hash
from evalkit.runs import recorded

DETAILS = ("text", "reason", "failed", "seconds", "cost", "kept")
"""The columns of a table of annotations, after `id`, `replication` and `copy`."""


def annotation_table(
    annotated: Annotated, ids: pl.Series, replications: pl.Series | None
) -> pl.DataFrame:
    """Return what an annotator said beside its values, as a run keeps it.

    Args:
        annotated: What it said.
        ids: The id of each row.
        replications: The replication of each row; None for copies, which have none.

    Returns:
        `id`, `replication`, `copy` (whether the response is to a perturbed copy) and
        `DETAILS`, a row for each row that the annotator was to annotate.
    """
    details = annotated.details
    rows = details["position"]
    nothing = pl.repeat(None, len(ids), dtype=pl.String, eager=True)
    of_rows = nothing if replications is None else replications
    return frame_of(
        [
            ids.gather(rows).alias("id"),
            of_rows.gather(rows).alias("replication"),
            pl.repeat(replications is None, len(rows), eager=True).alias("copy"),
            *(details[name] for name in DETAILS),
        ]
    )


def join_annotations(
    tables: Iterable[tuple[str, pl.DataFrame]],
) -> dict[str, pl.DataFrame]:
    """Put tables of one annotator together, by its name."""
    by_name = sorted(tables, key=lambda each: each[0])
    return {
        name: pl.concat([table for _, table in several])
        for name, several in groupby(by_name, key=lambda each: each[0])
    }


def record_annotations(
    annotated: Annotated, table: pl.DataFrame
) -> recorded.Annotations:
    """Return what `run.json` says of annotations.

    Args:
        annotated: What an annotator said of the responses to examples.
        table: All that the run keeps of it.
    """
    asked = table.filter(~pl.col("kept") & pl.col("seconds").is_not_null())
    costs = asked["cost"].drop_nulls()
    reasons = Counter(table["reason"].drop_nulls().to_list())
    return recorded.Annotations(
        annotator=annotated.annotator.name,
        columns=tuple(annotated.columns),
        rows=table.height,
        without_value=dict(sorted(reasons.items(), key=lambda each: -each[1])),
        sha256=values_hash(annotated.columns.values(), table),
        asked=asked.height,
        seconds=round(float(asked["seconds"].sum()), 3),
        cost=float(costs.sum()) if len(costs) else None,
    )


def values_hash(columns: Iterable[pl.Series], table: pl.DataFrame) -> str:
    """Hash the values of an annotator, and why some are not there.

    Args:
        columns: The columns with its values.
        table: What the run keeps of it beside them.
    """
    of_examples = table.filter(~pl.col("copy")).select("id", "replication", "reason")
    values = ({"column": c.name, "values": c.to_list()} for c in columns)
    reasons = ({"reasons": list(row)} for row in of_examples.iter_rows())
    return rows_hash([*values, *reasons])


def stored_lacking(
    annotations: Mapping[str, pl.DataFrame],
    told: Sequence[recorded.Annotations],
    rows: pl.DataFrame,
    of_copies: bool = False,
) -> Iterator[tuple[str, pl.DataFrame]]:
    """Say of which rows a run's annotators said nothing though they should have.

    Args:
        annotations: The tables that the run keeps.
        told: What it records of them.
        rows: Its examples or copies, with `id` and, for examples, `replication`.
        of_copies: Whether they are copies.

    Yields:
        For each column its name, and `position`, `reason` and `failed`.
    """
    keys = ["id"] if of_copies else ["id", "replication"]
    places = rows.select(keys).with_columns(
        pl.int_range(pl.len(), dtype=pl.UInt32).alias("position")
    )
    for each in told:
        table = annotations.get(each.annotator)
        if table is None:
            continue
        is_meant = pl.col("reason").is_not_null() & (pl.col("copy") == of_copies)
        found = table.filter(is_meant).join(places, on=keys, nulls_equal=True)
        lacking = found.select("position", "reason", "failed").sort("position")
        for name in each.columns:
            yield name, lacking
