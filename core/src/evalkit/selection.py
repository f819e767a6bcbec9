"""Chooses the examples that are evaluated."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from operator import and_
from typing import Any, NamedTuple

import polars as pl

from evalkit.errors import DataError, EvalkitError
from evalkit.examples import Examples
from evalkit.names import facet_of

TAG = "tag"
"""The key of a filter on whole tags."""


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
        """Make a selection of what a caller gives.

        Args:
            limit: The most examples; None for all.
            filters: One value or several by column or facet.

        Returns:
            The selection.

        Raises:
            EvalkitError: The limit is no positive number, or a value is no text.
        """
        if limit is not None and limit < 1:
            raise EvalkitError(f"limit must be at least 1, is {limit}")
        chosen = []
        for key, given in sorted((filters or {}).items()):
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

    def describe(self) -> str:
        """Say in words what is chosen."""
        parts = [f"{key}={'|'.join(values)}" for key, values in self.filters]
        if self.limit is not None:
            parts.append(f"the first {self.limit}")
        return ", ".join(parts)

    def to_dict(self) -> dict[str, Any]:
        """Give what `run.json` records."""
        filters = {key: list(values) for key, values in self.filters}
        return {"limit": self.limit, "filters": filters}

    def mask(self, examples: Examples) -> pl.Series | None:
        """Tell which examples are evaluated.

        Args:
            examples: All examples.

        Returns:
            Booleans in the data's order; None for all.

        Raises:
            DataError: A filter names neither a column nor a facet, or no example is
                left.
        """
        if self.is_whole:
            return None
        masks = [_matches(examples, key, values) for key, values in self.filters]
        everyone = pl.repeat(True, examples.frame.height, eager=True)
        mask = reduce(and_, masks, everyone)
        if self.limit is not None:
            mask &= mask.cum_sum() <= self.limit
        if not mask.any():
            raise DataError(f"no example is left by the filter {self.describe()}")
        return mask.alias("selected")


def _matches(examples: Examples, key: str, values: Sequence[str]) -> pl.Series:
    tags = examples.frame["tags"]
    if key == TAG:
        return _has_any(tags, values)
    if key in examples.inputs.columns:
        return _has_value(examples.inputs[key], values)
    facets = {split[0] for tag in tags.explode().unique() if (split := _facet(tag))}
    if key in facets:
        return _has_any(tags, [f"{key}:{value}" for value in values])
    known = sorted({*examples.inputs.columns, *facets})
    raise DataError(
        f"the data has neither a column nor a facet {key!r} to filter by; it has "
        f"{', '.join(known)}, and {TAG} for whole tags"
    )


def _has_value(column: pl.Series, values: Sequence[str]) -> pl.Series:
    try:
        if isinstance(column.dtype, pl.List):
            return _has_any(column.cast(pl.List(pl.String)), values)
        if column.dtype.is_float():
            numbers = [
                number for value in values if (number := _number(value)) is not None
            ]
            return column.is_in(numbers).fill_null(False)
        return column.cast(pl.String).is_in(list(values)).fill_null(False)
    except pl.exceptions.PolarsError as error:
        raise DataError(
            f"the column {column.name!r} holds values of the type {column.dtype}, "
            "which no filter can name"
        ) from error


def _number(value: str) -> float | None:
    try:
        return float(value)
    except ValueError:
        return None


def _facet(tag: str | None) -> tuple[str, str] | None:
    return None if tag is None else facet_of(tag)


def _has_any(lists: pl.Series, values: Sequence[str]) -> pl.Series:
    hits = [lists.list.contains(value).fill_null(False) for value in values]
    nothing = pl.repeat(False, len(lists), eager=True)
    return reduce(lambda left, right: left | right, hits, nothing)
