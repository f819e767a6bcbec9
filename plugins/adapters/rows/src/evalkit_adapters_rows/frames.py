"""Tables and columns of lists, put together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl


def table_of(columns: Sequence[pl.Series]) -> pl.DataFrame:
    """Return a table of columns that have different names."""
    import polars as pl

    return pl.DataFrame({column.name: column for column in columns})


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
