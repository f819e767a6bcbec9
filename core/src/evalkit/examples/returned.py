"""Takes what `load` of a data set returned: a table, or rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import polars as pl

from evalkit.base.violations import shorten
from evalkit.errors import DataError
from evalkit.examples.rows import Rows
from evalkit.plugins.bound import BoundDataset


def as_frame(loaded: Any) -> pl.DataFrame | None:
    """Return a table that a data set loaded; None where it loaded another thing."""
    if isinstance(loaded, pl.LazyFrame):
        return loaded.collect()
    if isinstance(loaded, pl.DataFrame):
        return loaded
    return pl.DataFrame(loaded) if hasattr(loaded, "__arrow_c_stream__") else None


def as_rows(dataset: BoundDataset, loaded: Any) -> Rows:
    """Return the examples that a data set loaded one by one.

    Raises:
        DataError: They are no dicts, or an iterator that has none.
    """
    if not isinstance(loaded, Iterable):
        raise DataError(
            f"{dataset.component.origin}: load returned {type(loaded).__name__}; it "
            "must return a polars frame, an Arrow table, a path or an iterable of dicts"
        )
    rows = list(loaded)
    if not rows and isinstance(loaded, Iterator):
        raise DataError(
            f"{dataset.component.origin}: load gave an iterator without examples; one "
            "that was read before has none left: return a list"
        )
    for number, row in enumerate(rows, start=1):
        if not isinstance(row, Mapping):
            raise DataError(
                f"{dataset.component.origin}: example {number} is {shorten(row)}, not "
                "a dict; load must give dicts"
            )
    return rows
