"""Arrow's columns and tables as those of polars, which share their memory."""

from __future__ import annotations

from typing import Any

import polars as pl
import pyarrow as pa


class _Exported:
    """Shows of an Arrow object no more than Arrow's interface for exchange.

    For pyarrow's own classes polars imports `pyarrow.compute`, which takes as long as
    scoring a small set.
    """

    def __init__(self, exported: Any) -> None:
        self._exported = exported

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._exported.__arrow_c_stream__(requested_schema)


def frame_of_table(table: pa.Table) -> pl.DataFrame:
    """Return a table that pyarrow read as a polars data frame."""
    return pl.DataFrame(_Exported(table))


def series_of(column: pa.Array | pa.ChunkedArray, name: str) -> pl.Series:
    """Return a column that pyarrow read as a polars series.

    Args:
        column: The column.
        name: Name of the series.
    """
    if isinstance(column, pa.Array):
        column = pa.chunked_array([column])
    return pl.Series(name, _Exported(column)).alias(name)
