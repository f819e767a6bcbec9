"""Groups examples that are not independent into clusters."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import polars as pl

from evalkit.base.columns import all_named, encode, named
from evalkit.base.copies import INPUT_ID
from evalkit.base.wording import count_of
from evalkit.errors import DataError, EvalkitError
from evalkit.examples.rows import ExampleRows
from evalkit.plugins.bound import BoundDataset
from evalkit.statistics.resampling import unit_keys


def clustered_by(dataset: BoundDataset, cluster: str | Sequence[str]) -> BoundDataset:
    """Return a data set whose clusters are chosen by a user."""
    columns = [cluster] if isinstance(cluster, str) else cluster
    if not isinstance(columns, Sequence) or not all(
        isinstance(column, str) and column for column in columns
    ):
        raise EvalkitError(
            f"cluster must name a column of the data, or several, is {cluster!r}"
        )
    if len(set(columns)) < len(columns):
        raise EvalkitError(f"cluster names a column twice: {', '.join(columns)}")
    if not columns:
        return dataset
    return replace(dataset, chosen_cluster=tuple(columns))


def cluster_names(dataset: BoundDataset) -> list[str]:
    """Return the columns whose values tell which rows depend on each other."""
    return sorted(dataset.chosen_cluster or dataset.declared_cluster or [INPUT_ID])


def count_without(dataset: BoundDataset, frame: pl.DataFrame) -> int:
    """Count the rows without a value of the columns that a user chose."""
    columns = dataset.chosen_cluster
    return int(_without_value(frame, columns).sum()) if columns else 0


def cluster_notices(dataset: BoundDataset, without: int) -> Iterator[str]:
    """Say what is worth knowing about clusters that a user chose."""
    columns = dataset.chosen_cluster
    if not columns:
        return
    names = ", ".join(columns)
    declared = dataset.declared_cluster
    if declared and {*declared} != {*columns}:
        yield f"clusters are by {names}, not by {', '.join(declared)} as the data set's"
    if without:
        rows, either = count_of(without, "example"), " or ".join(columns)
        yield f"{rows} without a value of {either}: each is a cluster of its own"


def _without_value(frame: pl.DataFrame, columns: Sequence[str]) -> pl.Series:
    """Tell which rows have null or NaN in one of the columns or more."""
    lacking = [
        named(name).is_null() | named(name).is_nan().fill_null(value=False)
        if frame.schema[name].is_float()
        else named(name).is_null()
        for name in columns
    ]
    return frame.select(lacking=pl.any_horizontal(lacking)).to_series()


def cluster_column(dataset: BoundDataset, loaded: ExampleRows) -> pl.Series:
    """Number the clusters by content, so that parts of the data name them alike."""
    columns, frame = cluster_names(dataset), loaded.frame
    chosen = dataset.chosen_cluster
    if not chosen and not dataset.declared_cluster:
        return _copies_of_one(frame)
    unknown = [column for column in columns if column not in frame.columns]
    if unknown:
        who = "--cluster" if chosen else "its cluster"
        raise DataError(
            f"{loaded.source(dataset) if chosen else dataset.component.origin}: {who} "
            f"names the column {unknown[0]!r}, which the data does not have "
            f"({', '.join(loaded.columns)}); name one of these"
        )
    numbers = _numbers(frame.select(all_named(columns)))
    # rows without a cluster are independent: each is one of its own
    without = _without_value(frame, columns)
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
    return _numbers(names.to_frame()).alias("cluster")


def _numbers(values: pl.DataFrame) -> pl.Series:
    """Number rows by their values, equal ones alike."""
    distinct = values.unique(maintain_order=True)
    # 1 and 1.0 are one cluster, and 0.0 and -0.0, whatever else the column holds
    plain = (
        [int(v) if isinstance(v, float) and v.is_integer() else v for v in row]
        for row in distinct.iter_rows()
    )
    texts = [str(encode(row)) for row in plain]
    numbered = distinct.with_columns(pl.Series("__number", unit_keys(texts, 0)))
    return values.join(
        numbered,
        on=all_named(values.columns),
        how="left",
        nulls_equal=True,
        maintain_order="left",
    )["__number"]
