"""Columns of the data that a run keeps, so that its examples can be grouped later."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import polars as pl

from evalkit.base.columns import unnamed
from evalkit.base.ids import EXAMPLE_ID_KEYS
from evalkit.errors import EvalkitError
from evalkit.examples.conversion import LABEL_CONVERTER, answer_name, find_converter
from evalkit.plugins.bound import BoundDataset, BoundTask
from evalkit.reading.json_tables import is_small

if TYPE_CHECKING:
    from evalkit.examples.rows import ExampleRows

NO_COLUMNS = "none"
"""In place of names: that no column is kept."""


def keeping(
    dataset: BoundDataset, keep: Sequence[str] | str | None, include_examples: bool
) -> BoundDataset:
    """Return a data set of which a run keeps columns."""
    if isinstance(keep, str):
        keep = [keep]
    names = None if keep is None else tuple(dict.fromkeys(keep))
    if names == (NO_COLUMNS,):
        names = ()
    if not include_examples:
        if names:
            raise EvalkitError(
                f"--keep {','.join(names)} keeps columns of the data, which "
                "--no-examples leaves out of the run; leave out one of the two"
            )
        names = ()
    return replace(dataset, keep=names)


def names_to_keep(
    dataset: BoundDataset, task: BoundTask, loaded: ExampleRows, is_part: bool = False
) -> tuple[str, ...]:
    """Return the columns that a run keeps; of a part of the data, those that it may."""
    frame = loaded.frame if loaded.given is None else loaded.given
    if dataset.keep is not None:
        for name in dataset.keep:
            if name not in loaded.frame.columns:
                from evalkit.diagnosis import shown_columns

                raise EvalkitError(
                    f"--keep {name}: the data has no such column; it has "
                    f"{shown_columns([name], loaded.columns)}"
                )
        return dataset.keep
    others = {*EXAMPLE_ID_KEYS, *task.sent_keys, *task.Input.model_fields}
    others |= _read_by_converter(dataset, task) | loaded.nested.keys()
    names = {*loaded.frame.columns} - others
    return tuple(
        column.name
        for column in frame.get_columns()
        if column.name in names
        # what --by can mean: commas join names, and two are taken
        and column.name not in ("answer", "pred")
        and "," not in column.name
        and column.name == column.name.strip()
        and is_small(column)
        and (is_part or makes_groups(column))
    )


def _read_by_converter(dataset: BoundDataset, task: BoundTask) -> set[str]:
    declared = find_converter(LABEL_CONVERTER, dataset, task)[1] or {}
    sources = (declared.get("answer"), declared.get("tags"), answer_name(dataset, task))
    return {"tags"}.union(*map(_columns_of, sources))


def _columns_of(source: Any) -> set[str]:
    """Name the columns that a part of a declared converter is made of."""
    if isinstance(source, str):
        return {source}
    if isinstance(source, pl.Expr):
        return set(source.meta.root_names())
    if isinstance(source, Mapping):
        return set().union(*map(_columns_of, source.values()))
    return set()


def makes_groups(column: pl.Series) -> bool:
    """Tell whether some examples, and not all, have the same value."""
    values = unnamed(column).drop_nulls()
    return 1 < values.n_unique() < len(values)


def kept_notices(kept: Sequence[str], keep: Sequence[str] | None) -> Iterator[str]:
    """Name the columns that a run keeps without being asked."""
    if kept and keep is None:
        noun = "column" if len(kept) == 1 else "columns"
        yield (
            f"the run keeps the {noun} {', '.join(map(repr, kept))} of the data, so "
            "that it can be shown --by them later; --keep NAMES or none chooses"
        )
