"""Groups examples that are not independent into clusters."""

from __future__ import annotations

import polars as pl

from evalkit.columns import encode
from evalkit.errors import DataError
from evalkit.example_rows import ExampleRows
from evalkit.registry import Bound
from evalkit.resampling import unit_keys


def cluster_names(dataset: Bound) -> list[str]:
    """Give the columns whose values say which rows of a data set are not independent.

    Args:
        dataset: The data set.

    Returns:
        Their names; none where all rows are independent.
    """
    cluster = dataset.attributes["cluster"]
    return [cluster] if isinstance(cluster, str) else list(cluster or ())


def cluster_column(dataset: Bound, loaded: ExampleRows) -> pl.Series:
    """Number the clusters by content, so that parts of the data name them alike.

    Args:
        dataset: The data set.
        loaded: Its rows.

    Returns:
        The column `cluster` of integers; null where the data set names none. A row
        without a value in any of the columns is a cluster of its own.

    Raises:
        DataError: The data does not have one of the columns.
    """
    columns, frame = cluster_names(dataset), loaded.frame
    if not columns:
        return pl.Series("cluster", [], pl.UInt64).extend_constant(None, frame.height)
    unknown = [column for column in columns if column not in frame.columns]
    if unknown:
        raise DataError(
            f"{dataset.component.origin}: its cluster names the column {unknown[0]!r}, "
            f"which the data does not have ({', '.join(loaded.columns)})"
        )
    distinct = frame.select(columns).unique(maintain_order=True)
    texts = [str(encode(list(row))) for row in distinct.iter_rows()]
    numbered = distinct.with_columns(pl.Series("__number", unit_keys(texts, 0)))
    numbers = frame.select(columns).join(
        numbered, on=columns, how="left", nulls_equal=True, maintain_order="left"
    )["__number"]
    # rows without a cluster are independent: each is one of its own
    without = frame.select(pl.all_horizontal(pl.col(columns).is_null())).to_series()
    own = [str(encode({"uid": uid})) for uid in frame["uid"].filter(without)]
    numbers = numbers.scatter(without.arg_true(), pl.Series(unit_keys(own, 0)))
    return numbers.alias("cluster")
