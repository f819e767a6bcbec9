"""What a path selects of a column of rows, where all rows are alike."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from evalkit_adapters_rows.paths import Elements, Every, Fields, Step

if TYPE_CHECKING:
    import polars as pl


def table_of(columns: Sequence[pl.Series]) -> pl.DataFrame:
    """Return a table of columns that have different names."""
    import polars as pl

    return pl.DataFrame({column.name: column for column in columns})


def unnamed(column: pl.Series) -> pl.Series:
    """Return a column without a name, for functions of lists.

    They look for columns by name, and take one such as `^a$` for a pattern.
    """
    return column.alias("")


def select_one(column: pl.Series, steps: Sequence[Step]) -> pl.Series | None:
    """Return the one value that a path selects of each row."""
    import polars as pl

    for step in steps:
        if column.null_count():
            return None
        match step, column.dtype:
            case Fields((name,)), pl.Struct() as dtype:
                if name not in {field.name for field in dtype.fields}:
                    return None
                column = column.struct.unnest()[name]
            case Elements((position,)), pl.List():
                column = unnamed(column)
                lengths = column.list.len()
                needed = position + 1 if position >= 0 else -position
                if (lengths < needed).any():
                    return None
                column = column.list.get(position)
            case _:
                return None
    return column


def select_many(column: pl.Series, steps: Sequence[Step]) -> pl.Series | None:
    """Return all values that a path selects of each row, as lists."""
    import polars as pl

    if Every() not in steps:
        return None
    split = list(steps).index(Every())
    lists = select_one(column, steps[:split])
    if lists is None or not isinstance(lists.dtype, pl.List) or lists.null_count():
        return None
    lists = unnamed(lists)
    for step in steps[split + 1 :]:
        inner = lists.dtype.inner if isinstance(lists.dtype, pl.List) else None
        match step, inner:
            case Fields((name,)), pl.Struct() as dtype:
                known = {field.name for field in dtype.fields}
            case _:
                return None
        elements = lists.explode(empty_as_null=False)
        if name not in known or elements.null_count():
            return None
        lists = as_lists(elements.struct.unnest()[name], lists.list.len())
    return lists


def as_lists(values: pl.Series, lengths: pl.Series) -> pl.Series:
    """Return lists of so many values each."""
    import polars as pl

    rows = pl.int_range(0, len(lengths), eager=True)
    owners = rows.repeat_by(lengths).explode(empty_as_null=False)
    held = (
        pl.DataFrame({"row": owners, "value": values})
        .group_by("row", maintain_order=True)
        .agg("value")
    )
    found = pl.DataFrame({"row": rows}).join(
        held, on="row", how="left", maintain_order="left"
    )
    return found["value"].fill_null([])
