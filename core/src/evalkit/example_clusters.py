"""Groups examples that are not independent into clusters."""

from __future__ import annotations

import polars as pl

from evalkit.columns import encode
from evalkit.errors import DataError
from evalkit.example_rows import ExampleRows
from evalkit.registry import Bound
from evalkit.resampling import unit_keys

INPUT_ID = "input_id"
"""The column with the uid of a copy's original; copies of one are not independent."""


def cluster_names(dataset: Bound) -> list[str]:
    """Give the columns whose values say which rows of a data set are not independent.

    Args:
        dataset: The data set.

    Returns:
        Their names, as the data set declares them; else `input_id`, which the data
        have where they are perturbed copies.
    """
    cluster = dataset.attributes["cluster"]
    return [cluster] if isinstance(cluster, str) else list(cluster or (INPUT_ID,))


def cluster_column(dataset: Bound, loaded: ExampleRows) -> pl.Series:
    """Number the clusters by content, so that parts of the data name them alike.

    Args:
        dataset: The data set.
        loaded: Its rows.

    Returns:
        The column `cluster` of integers; null where the data set names none and the
        data are no perturbed copies. A row without a value in any of the columns is a
        cluster of its own; copies and their original are one cluster.

    Raises:
        DataError: The data does not have one of the columns.
    """
    columns, frame = cluster_names(dataset), loaded.frame
    if not dataset.attributes["cluster"]:
        return _copies_of_one(frame)
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


def _copies_of_one(frame: pl.DataFrame) -> pl.Series:
    """Put perturbed copies, and their original, into one cluster."""
    none = pl.Series("cluster", [], pl.UInt64).extend_constant(None, frame.height)
    if INPUT_ID not in frame.columns:
        return none
    of = frame[INPUT_ID]
    is_id = of.dtype == pl.String or of.dtype.is_integer()
    if not is_id or of.null_count() == frame.height:
        return none
    names = of.cast(pl.String).fill_null(frame["uid"].cast(pl.String))
    distinct = names.unique(maintain_order=True)
    keys = unit_keys([str(encode([name])) for name in distinct], 0)
    return names.replace_strict(distinct, keys, return_dtype=pl.UInt64).alias("cluster")
