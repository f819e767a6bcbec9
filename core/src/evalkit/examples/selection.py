"""Chooses the examples that are evaluated."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from operator import and_
from typing import Any, NamedTuple

import polars as pl

from evalkit.base.columns import named, unnamed
from evalkit.base.names import facet_of
from evalkit.base.violations import shorten
from evalkit.errors import DataError, EvalkitError
from evalkit.examples.table import Examples

TAG = "tag"
"""The key of a filter on whole tags."""

ANSWER = "answer"
"""The key of a filter on answers as they are scored."""

COLUMN_PREFIX = "column."
"""Before the name of a column, says that it is one and no facet or reserved key."""

_SHOWN_VALUES = 5


class Selection(NamedTuple):
    """Which examples are evaluated."""

    limit: int | None = None
    """At most so many, the first ones; None for all."""
    filters: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """Columns or facets, and the values of which an example must have one."""

    @classmethod
    def of(
        cls, limit: int | None, filters: Mapping[str, str | Sequence[str]] | None
    ) -> Selection:
        """Make a selection of what a caller gives."""
        if limit is not None and (
            not isinstance(limit, int) or isinstance(limit, bool) or limit < 1
        ):
            raise EvalkitError(f"limit must be an integer of at least 1, is {limit!r}")
        if filters is None:
            filters = {}
        if not isinstance(filters, Mapping) or not all(
            isinstance(key, str) for key in filters
        ):
            raise EvalkitError(
                "filters must be a mapping of texts, such as {'genre': 'news'}, are "
                f"{filters!r}"
            )
        chosen = []
        for key, given in sorted(filters.items()):
            values = (given,) if isinstance(given, str) else given
            if not isinstance(values, Sequence) or not all(
                isinstance(value, str) for value in values
            ):
                raise EvalkitError(
                    f"the filter {key!r} must be a text or several, is {given!r}"
                )
            chosen.append((key, tuple(dict.fromkeys(values))))
        return cls(limit, tuple(chosen))

    @property
    def is_whole(self) -> bool:
        """Whether all examples are evaluated."""
        return self == Selection()

    @property
    def columns(self) -> set[str]:
        """The columns of the data that the filters may mean."""
        keys = {key for key, _ in self.filters}
        return keys | {key.removeprefix(COLUMN_PREFIX) for key in keys}

    def describe(self) -> str:
        """Say in words what is chosen."""
        parts = [f"{key}={'|'.join(values)}" for key, values in self.filters]
        if self.limit is not None:
            parts.append(f"the first {self.limit}")
        return ", ".join(parts)

    def to_dict(self) -> dict[str, Any]:
        """Return what `run.json` records."""
        filters = {key: list(values) for key, values in self.filters}
        return {"limit": self.limit, "filters": filters}

    def mask(self, examples: Examples) -> pl.Series | None:
        """Tell which examples are evaluated."""
        if self.is_whole:
            return None
        masks = []
        hints = []
        for key, values in self.filters:
            column = _column(examples, key, values)
            masks.append(_has_value(column, values))
            if not masks[-1].any():
                hints.append(_hint(examples, key, values, column))
        mask = reduce(and_, masks, pl.repeat(True, examples.frame.height, eager=True))
        if self.limit is not None:
            mask &= mask.cum_sum() <= min(self.limit, len(mask))
        if not mask.any():
            message = f"no example is left by the filter {self.describe()}"
            raise DataError("; ".join([message, *hints]))
        return mask.alias("selected")

    def mask_without_answers(
        self, source: str, field: str | None, rows: int
    ) -> pl.Series | None:
        """Tell which rows of data without answers are chosen."""
        if self.filters:
            raise EvalkitError(
                f"{source}: examples without answers ({field}) cannot be filtered"
            )
        if self.limit is None:
            return None
        return pl.int_range(rows, eager=True) < self.limit


def _column(examples: Examples, key: str, values: Sequence[str]) -> pl.Series:
    """Return what a key stands for: a value, or a list of values, of each example."""
    tags, inputs = examples.frame["tags"], examples.inputs
    if key == TAG:
        return tags
    if key == ANSWER:
        return examples.frame["answer"]
    name = key.removeprefix(COLUMN_PREFIX)
    column = inputs[name] if name in inputs.columns else None
    if key != name and column is not None:
        return column
    distinct = tags.explode().drop_nulls().unique()
    splits = {tag: split for tag in distinct if (split := facet_of(tag))}
    facets = {facet for facet, _ in splits.values()}
    if key not in facets:
        if key == name and column is not None:
            return column
        known = sorted({*examples.data_columns, *inputs.columns, *facets})
        raise DataError(
            f"the data has neither a column nor a facet {key!r} to filter by; it has "
            f"{', '.join(known)}, {TAG} for whole tags and {ANSWER} for answers"
        )
    of_facet = {tag: value for tag, (facet, value) in splits.items() if facet == key}
    found = _replaced(tags, of_facet)
    if column is not None and (
        # a facet made of the column of its name chooses the same examples
        (_has_value(column, values) != _has_value(found, values)).any()
    ):
        raise DataError(
            f"the filter {key!r} may mean a column or a facet, which differ; write "
            f"{COLUMN_PREFIX}{key}=VALUE for the column or {TAG}={key}:VALUE for the "
            "facet"
        )
    return found


def _replaced(tags: pl.Series, values: Mapping[str, str]) -> pl.Series:
    """Return the values of those tags that have one."""
    items = pl.element()
    kept = items.filter(items.is_in(list(values))).replace(dict(values))
    return tags.to_frame().select(named(tags.name).list.eval(kept)).to_series()


def _hint(
    examples: Examples, key: str, values: Sequence[str], column: pl.Series
) -> str:
    """Say which values there are, and whether those asked for are answers."""
    items = unnamed(column)
    if isinstance(items.dtype, pl.List):
        items = items.explode()
    found = items.drop_nulls().unique().sort().cast(pl.String)
    shown = [shorten(value) for value in found.head(_SHOWN_VALUES)]
    more = ["…"] if len(found) > _SHOWN_VALUES else []
    hint = f"{key} has {', '.join([*shown, *more]) or 'no value'}"
    if key == ANSWER:
        return hint
    answers = [v for v in values if _has_value(examples.frame["answer"], [v]).any()]
    also = "".join(f"; for the answer {v!r} write {ANSWER}={v}" for v in answers[:1])
    return hint + also


def _has_value(given: pl.Series, values: Sequence[str]) -> pl.Series:
    column = unnamed(given)
    try:
        if isinstance(column.dtype, pl.List):
            hits = pl.element().is_in(list(values))
            texts = column.cast(pl.List(pl.String))
            return texts.list.eval(hits).list.any().fill_null(False)
        if column.dtype.is_float():
            numbers = pl.Series(values).cast(pl.Float64, strict=False).drop_nulls()
            return column.is_in(numbers.to_list()).fill_null(False)
        return column.cast(pl.String).is_in(list(values)).fill_null(False)
    except pl.exceptions.PolarsError as error:
        raise DataError(
            f"the column {given.name!r} holds values of the type {given.dtype}, "
            "which no filter can name"
        ) from error
