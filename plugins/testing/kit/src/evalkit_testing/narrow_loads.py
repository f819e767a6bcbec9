"""Checks that a data set which reads less gives the same as one that reads all."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evalkit.catalog import BoundDataset, BoundTask
from evalkit_testing.laws import LawBroken

if TYPE_CHECKING:
    import polars as pl


def check_narrow(dataset: BoundDataset, task: BoundTask, split: str) -> None:
    """Compare what `load` gives of some columns, and of the first rows, with all.

    What `load` returns as a path or an Arrow table is not looked at, and neither is a
    data set with adapters, whose columns are others before them.
    """
    taken = {"columns", "limit"} & {*dataset.arguments_of("load")}
    if not taken or dataset.adapters:
        return
    whole = _loaded(dataset, split)
    if whole is None:
        return
    if "limit" in taken:
        _check_limit(dataset, split, whole)
    if "columns" in taken:
        _check_columns(dataset, task, split, whole)


def _check_limit(dataset: BoundDataset, split: str, whole: pl.DataFrame) -> None:
    count = max(1, whole.height // 2)
    first = _loaded(dataset, split, limit=count)
    # more than was asked for may come, too
    if first is None or not first.head(count).equals(whole.head(count)):
        raise LawBroken(
            f"the first {count} examples of the split {split!r} are others where "
            f"`load` is given limit={count}"
        )


def _check_columns(
    dataset: BoundDataset, task: BoundTask, split: str, whole: pl.DataFrame
) -> None:
    wanted = ["uid", *task.Input.model_fields, "tags", *dataset.declared_cluster]
    if task.answer_field is not None:
        wanted.append(task.answer_field)
    names = [name for name in dict.fromkeys(wanted) if name in whole.columns]
    narrow = _loaded(dataset, split, columns=names)
    for name in names:
        if narrow is None or name not in narrow.columns:
            raise LawBroken(
                f"the split {split!r} has no column {name!r} where `load` is given "
                f"columns={names}, and has it otherwise"
            )
        if not narrow[name].equals(whole[name]):
            raise LawBroken(
                f"the column {name!r} of the split {split!r} is another where `load` "
                f"is given columns={names}"
            )


def _loaded(dataset: BoundDataset, split: str, **offered: Any) -> pl.DataFrame | None:
    """Return what `load` gives as a table; None where that is for others to read."""
    import polars as pl

    given = {"columns": None, "limit": None, **offered}
    loaded = dataset.row_function("load")(split=split, **given)
    if isinstance(loaded, pl.LazyFrame):
        return loaded.collect()
    if isinstance(loaded, pl.DataFrame):
        return loaded
    if isinstance(loaded, str | Path) or not isinstance(loaded, Iterable):
        return None
    rows = list(loaded)
    if not rows or not all(isinstance(each, Mapping) for each in rows):
        return None
    return pl.DataFrame([dict(each) for each in rows], infer_schema_length=None)
