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
from evalkit.runs.record import RunRecord
from evalkit.runs.withholding import WITHHELD

DETAILS = ("text", "reason", "failed", "seconds", "cost", "kept")
"""The columns of a table of annotations, after `id`, `replication` and `copy`."""


def annotation_tables(
    annotations: Iterable[Annotated], ids: pl.Series, replications: pl.Series | None
) -> Iterator[tuple[str, pl.DataFrame]]:
    """Return what annotators said beside their values, as a run keeps it.

    Args:
        annotations: What they said.
        ids: The id of each row.
        replications: The replication of each row; None for copies, which have none.

    Yields:
        The name of each, and `id`, `replication`, `copy` (whether the response is to a
        perturbed copy) and `DETAILS`, a row for each row that it was to annotate.
    """
    nothing = pl.repeat(None, len(ids), dtype=pl.String, eager=True)
    of_rows = nothing if replications is None else replications
    for each in annotations:
        rows = each.details["position"]
        columns = [
            ids.gather(rows).alias("id"),
            of_rows.gather(rows).alias("replication"),
            pl.repeat(replications is None, len(rows), eager=True).alias("copy"),
            *(each.details[name] for name in DETAILS),
        ]
        yield each.annotator.name, frame_of(columns)


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
    annotations: Iterable[Annotated],
    tables: Mapping[str, pl.DataFrame],
    include_reasons: bool,
) -> tuple[recorded.Annotations, ...]:
    """Return what `run.json` says of annotations.

    Args:
        annotations: What annotators said of the responses to examples.
        tables: All that the run keeps of it, by the annotator's name.
        include_reasons: Whether the reasons, which may quote the data, are told.
    """
    return tuple(
        _recorded(each, tables[each.annotator.name], include_reasons)
        for each in annotations
    )


def _recorded(
    annotated: Annotated, table: pl.DataFrame, include_reasons: bool
) -> recorded.Annotations:
    asked = table.filter(~pl.col("kept") & pl.col("seconds").is_not_null())
    costs = asked["cost"].drop_nulls()
    reasons = table["reason"].drop_nulls().to_list()
    counts = Counter(reasons if include_reasons else [WITHHELD] * len(reasons))
    return recorded.Annotations(
        annotator=annotated.annotator.name,
        columns=tuple(annotated.columns),
        rows=table.height,
        without_value=dict(counts.most_common()),
        sha256=values_hash(annotated.columns.values(), table),
        asked=asked.height,
        seconds=round(float(asked["seconds"].sum()), 3),
        cost=float(costs.sum()) if len(costs) else None,
        conclusions=annotated.conclusions,
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


def merged_annotations(
    records: Iterable[RunRecord],
    examples: pl.DataFrame,
    tables: Mapping[str, pl.DataFrame],
) -> tuple[recorded.Annotations, ...]:
    """Return what a run that was merged of others records of annotations.

    Args:
        records: The records of its parts.
        examples: The examples of all parts.
        tables: What is kept beside the values of all parts; empty without examples.
    """
    by_name: dict[str, list[recorded.Annotations]] = {}
    for record in records:
        for each in record.annotations:
            by_name.setdefault(each.annotator, []).append(each)
    found = []
    for name, several in by_name.items():
        reasons: Counter[str] = Counter()
        for each in several:
            reasons.update(each.without_value)
        columns = tuple(dict.fromkeys(n for each in several for n in each.columns))
        costs = [each.cost for each in several if each.cost is not None]
        sha256 = rows_hash({"part": each.sha256} for each in several)
        if name in tables:
            sha256 = values_hash((examples[n] for n in columns), tables[name])
        found.append(
            recorded.Annotations(
                annotator=name,
                columns=columns,
                rows=sum(each.rows for each in several),
                without_value=dict(reasons.most_common()),
                sha256=sha256,
                asked=sum(each.asked for each in several),
                seconds=round(sum(each.seconds for each in several), 3),
                cost=sum(costs) if costs else None,
            )
        )
    return tuple(found)


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
