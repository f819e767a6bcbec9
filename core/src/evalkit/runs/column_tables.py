"""What a run keeps of computed columns beside their values."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby

import polars as pl

from evalkit.base.columns import frame_of
from evalkit.plugins.provenance import rows_hash
from evalkit.predictions.alignment import ComputedColumns
from evalkit.runs import recorded
from evalkit.runs.withholding import WITHHELD


def detail_tables(
    computed: Iterable[ComputedColumns],
    ids: pl.Series,
    replications: pl.Series,
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


def join_details(
    tables: Iterable[tuple[str, pl.DataFrame]],
) -> dict[str, pl.DataFrame]:
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
