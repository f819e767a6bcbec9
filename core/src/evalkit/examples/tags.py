"""Tags of examples: the column that they are in, and what looks like it."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

import polars as pl

from evalkit.base.columns import list_column
from evalkit.base.violations import shorten
from evalkit.examples.answers import Reporter
from evalkit.examples.conversion import LABEL_CONVERTER, find_converter
from evalkit.plugins.bound import BoundDataset, BoundTask


def tag_notices(
    dataset: BoundDataset, task: BoundTask, columns: Collection[str]
) -> Iterator[str]:
    """Name columns that look like tags where the one that tags are in is not there.

    Yields:
        A sentence for each; none where tags are read by a function or an expression.
    """
    declared = find_converter(LABEL_CONVERTER, dataset, task)[1] or {}
    name = declared.get("tags")
    if not isinstance(name, str) or name in columns:
        return
    forms = {name.casefold(), name.casefold().removesuffix("s")}
    for column in columns:
        if column.strip().casefold() in forms:
            yield (
                f"the column {column!r} of the data is not read as tags; tags are in a "
                f"column {name!r}"
            )


def tag_column(reporter: Reporter, tags: list[Any] | pl.Series) -> pl.Series:
    """Make a column of tags, each once.

    Args:
        reporter: Says which example is wrong.
        tags: The tags of each example; None for none.

    Returns:
        The column `tags` of lists of texts.
    """
    if isinstance(tags, pl.Series):
        column = _sound_tags(tags)
        if column is not None:
            return column
        tags = tags.to_list()
    cleaned: list[list[str]] = []
    for position, given in enumerate(tags):
        found = [] if given is None else given
        if not isinstance(found, list | tuple) or not all(
            isinstance(tag, str) and tag for tag in found
        ):
            # a column of integers and other numbers holds 0.0 where the file has 0
            is_whole = isinstance(given, float) and given.is_integer()
            shown = shorten(int(given) if is_whole else given)
            rule = f"must be a list of texts that are not empty, found {shown}"
            raise reporter.error([reporter.loaded.problem(position, "tags", rule)])
        cleaned.append(list(dict.fromkeys(found)))
    return list_column("tags", cleaned)


def _sound_tags(tags: pl.Series) -> pl.Series | None:
    """Return a column of tags, each once; None where one is empty or no text."""
    if tags.dtype == pl.Null:
        tags = tags.cast(pl.List(pl.String))
    if tags.dtype != pl.List(pl.String):
        return None
    each = tags.explode(empty_as_null=False, keep_nulls=False)
    if each.null_count() or (each.str.len_bytes() == 0).any():
        return None
    if (tags.list.n_unique() != tags.list.len()).any():
        tags = tags.list.unique(maintain_order=True)
    empty = pl.lit([], dtype=pl.List(pl.String))
    return tags.alias("tags").to_frame().select(pl.col("tags").fill_null(empty))["tags"]
