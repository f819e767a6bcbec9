"""Data that metrics are checked with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import polars as pl

from evalkit import MetricContext
from evalkit.catalog import BoundTask
from evalkit.scoring import Groups, ScoringTable, group_by_tag, make_table


class Row(NamedTuple):
    """One example with its prediction."""

    uid: str
    prediction: Any
    target: Any
    fields: Mapping[str, Any]
    """The metric's `columns`."""
    tags: tuple[str, ...]
    cluster: int

    def __repr__(self) -> str:
        """Show what a metric sees, and the tags where there are any."""
        shown = [repr(self.prediction), repr(self.target)]
        if self.fields:
            shown.append(repr(dict(self.fields)))
        if self.tags:
            shown.append(f"tags={list(self.tags)}")
        return f"({', '.join(shown)})"


class Sample(NamedTuple):
    """What is drawn for one check of a law."""

    rows: tuple[Row, ...]
    clustered: bool
    order: tuple[int, ...]
    """A permutation of the rows' numbers."""
    cuts: tuple[int, ...]
    """Where the rows are cut into batches, increasing."""
    parts: tuple[int, ...]
    """The part that each row goes to."""
    silent: tuple[bool, ...]
    """Which rows lose their prediction where a law asks for it."""
    others: tuple[Row, ...]
    """Rows of another set."""


def to_table(
    rows: Sequence[Row],
    context: MetricContext,
    columns: Sequence[str],
    clustered: bool = False,
    task: BoundTask | None = None,
) -> ScoringTable:
    """Make the table that metrics score."""
    fields = {name: [row.fields.get(name) for row in rows] for name in columns}
    table = make_table(
        [row.prediction for row in rows],
        [row.target for row in rows],
        context,
        ids=[row.uid for row in rows],
        fields=fields,
        clusters=[row.cluster for row in rows] if clustered else None,
        task=task,
    )
    typed = {name: _lists_of_numbers(values) for name, values in fields.items()}
    found = [column.alias(name) for name, column in typed.items() if column is not None]
    return table._replace(frame=table.frame.with_columns(found))


def _lists_of_numbers(values: Sequence[Any]) -> pl.Series | None:
    """Return the column that an annotation such as `list[float]` makes of values."""
    if not all(value is None or isinstance(value, list | tuple) for value in values):
        return None
    kinds = {type(item) for value in values for item in value or () if item is not None}
    if not kinds or not kinds <= {int, float}:
        return None
    inner = pl.Float64() if float in kinds else pl.Int64()
    return pl.Series(values, dtype=pl.List(inner), strict=False)


def groups_of(rows: Sequence[Row]) -> Groups:
    """Return the groups of rows: the whole set and every tag."""
    return _by_tag([list(row.tags) for row in rows])


def whole_set(count: int) -> Groups:
    """Return the one group of rows without tags."""
    return _by_tag([[]] * count)


def _by_tag(tags: list[list[str]]) -> Groups:
    return group_by_tag(pl.Series("tags", tags, dtype=pl.List(pl.String)))
