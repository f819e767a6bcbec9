"""Data that metrics are checked with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import polars as pl

from evalkit.base.columns import join_parts, list_column, to_series
from evalkit.base.terms import MetricContext
from evalkit.scoring.grouping import Groups, group_by_tag
from evalkit.scoring.table import ScoringTable

LIST_KINDS = ("any-of", "all-of", "spans", "ranked")
"""Kinds of answers that are lists."""


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
) -> ScoringTable:
    """Make the table that metrics score.

    Args:
        rows: The examples.
        context: What metrics know beside them.
        columns: Names of the fields that are handed over.
        clustered: Whether rows of one cluster are dependent.

    Returns:
        The table.
    """
    targets = [row.target for row in rows]
    is_texts = context.answer_kind in LIST_KINDS and all(
        isinstance(item, str) for target in targets for item in target
    )
    target = (list_column if is_texts else to_series)("target", targets)
    prediction = to_series("prediction", [row.prediction for row in rows])
    if prediction.null_count() == len(rows) and not is_texts:
        # without values it has no type of its own to compare with the targets'
        prediction = prediction.cast(target.dtype)
    position = pl.Series("position", range(len(rows)), dtype=pl.UInt32)
    fields = [
        join_parts(name, [], [row.fields.get(name) for row in rows]) for name in columns
    ]
    frame = pl.DataFrame([position, prediction, target, *fields])
    clusters = pl.Series([row.cluster for row in rows], dtype=pl.Int64)
    return ScoringTable(
        frame, [row.uid for row in rows], clusters if clustered else None, context
    )


def groups_of(rows: Sequence[Row]) -> Groups:
    """Give the groups of rows: the whole set and every tag."""
    return group_by_tag(list_column("tags", [list(row.tags) for row in rows]))


def whole_set(count: int) -> Groups:
    """Give the one group of rows without tags."""
    return group_by_tag(list_column("tags", [[]] * count))
