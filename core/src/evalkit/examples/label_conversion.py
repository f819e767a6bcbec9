"""Applies label converters, and makes a column of the tags that they give."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import polars as pl

from evalkit.base.columns import list_column, named
from evalkit.base.failures import described, hook_failures
from evalkit.base.names import is_component_name
from evalkit.base.violations import shorten
from evalkit.errors import DataError, PluginContractError, PluginError
from evalkit.examples.answers import Reporter
from evalkit.examples.conversion import (
    LABEL_CONVERTER,
    Declaration,
    converted,
    find_converter,
)
from evalkit.examples.rows import ExampleRows
from evalkit.plugins.bound import BoundDataset, BoundTask, Converting


class ConvertedLabels(NamedTuple):
    """What a label converter made of all examples."""

    field: str
    """What the answer is called in the data, as far as it is known."""
    answers: list[Any] | pl.Series
    tags: list[Any] | pl.Series
    """Lists of texts; null for none."""


def convert_labels(
    dataset: BoundDataset,
    task: BoundTask,
    loaded: ExampleRows,
    dtype: pl.DataType | None,
) -> ConvertedLabels:
    """Apply the label converter of a data set or its task."""
    bound, declared = find_converter(LABEL_CONVERTER, dataset, task)
    if declared is None:
        results = [*_by_rows(bound, loaded, dtype, task.answer_kind == "none")]
        whose = "" if bound is dataset else f" of {bound.component.origin}"
        return ConvertedLabels(
            f"answer (by {LABEL_CONVERTER}{whose})",
            [result["answer"] for result in results],
            [result.get("tags") for result in results],
        )
    columns = _by_columns(bound, declared, loaded.frame, loaded.columns)
    # a frame cannot hold a column of both texts and lists, the rows can
    return ConvertedLabels(
        str(declared.get("answer")),
        _values(loaded, declared.get("answer"), columns["answer"]),
        _values(loaded, declared.get("tags"), columns["tags"]),
    )


def _values(
    loaded: ExampleRows, column: Any, found: pl.Series
) -> list[Any] | pl.Series:
    if loaded.rows is None or not isinstance(column, str) or column == "uid":
        return found
    return [row.get(column) for row in loaded.rows]


def _by_columns(
    bound: Converting, declared: Declaration, frame: pl.DataFrame, names: Sequence[str]
) -> pl.DataFrame:
    """Apply a declared converter; `names` are those of all columns of the data."""
    tags = declared.get("tags")
    if isinstance(tags, str) and tags == "tags" and tags not in frame.columns:
        tags = None
    try:
        # with_columns, as select would give one row for a literal
        converted = frame.with_columns(
            _expression(bound, declared.get("id", "uid")).cast(pl.String).alias("__id"),
            # a task without answers declares none
            _expression(bound, declared.get("answer", pl.lit(None, pl.String))).alias(
                "__answer"
            ),
            _tag_expression(bound, tags).alias("__tags"),
        ).select("uid", id="__id", answer="__answer", tags="__tags")
    except pl.exceptions.ColumnNotFoundError as error:
        raise DataError(_missing_column(bound, names, error)) from error
    except PluginContractError:
        raise
    except hook_failures() as error:
        raise PluginError(
            f"{bound.component.origin}: {LABEL_CONVERTER} does not fit the data, which "
            f"has the columns {', '.join(names)}: {described(error)}"
        ) from error
    different = converted.filter(pl.col("uid").ne_missing(pl.col("id")))
    for uid, found, *_ in different.iter_rows():
        raise PluginContractError(
            f"{bound.component.origin}: {LABEL_CONVERTER} gave the example {uid!r} the "
            f"id {found!r}"
        )
    return converted.select("answer", "tags")


def _missing_column(bound: Converting, columns: Sequence[str], error: Exception) -> str:
    has = f"the data has the columns {', '.join(columns)}"
    # what polars lists as valid are only the columns that somebody reads
    reason = str(error).partition("\n")[0].partition("; valid columns")[0]
    return f"{bound.component.origin}: {LABEL_CONVERTER}: {reason}; {has}"


def _expression(bound: Converting, column: Any) -> pl.Expr:
    if isinstance(column, str):
        return named(column)
    if isinstance(column, pl.Expr):
        return column
    raise PluginContractError(
        f"{bound.component.origin}: {LABEL_CONVERTER} declares {column!r}, which is "
        "neither the name of a column nor a polars expression"
    )


def _tag_expression(bound: Converting, tags: Any) -> pl.Expr:
    if not isinstance(tags, Mapping):
        return pl.lit(None) if tags is None else _expression(bound, tags)
    return _facets(bound, tags) if tags else pl.lit(None)


def _facets(bound: Converting, facets: Mapping[str, Any]) -> pl.Expr:
    for facet in facets:
        if not is_component_name(facet):
            raise PluginContractError(
                f"{bound.component.origin}: {facet!r} is no legal name of a facet"
            )
    values = {
        facet: _expression(bound, column).cast(pl.String)
        for facet, column in facets.items()
    }
    return pl.concat_list(
        [
            pl.when(value.str.len_chars() > 0).then(pl.lit(f"{facet}:") + value)
            for facet, value in values.items()
        ]
    ).list.drop_nulls()


def _by_rows(
    bound: Converting,
    loaded: ExampleRows,
    dtype: pl.DataType | None,
    has_no_answers: bool,
) -> Iterator[Mapping[str, Any]]:
    """Apply a converter's method to every example."""
    for row in loaded.named():
        uid = row["uid"]
        result = bound.call(LABEL_CONVERTER, example=row)
        if has_no_answers and isinstance(result, Mapping):
            if result.get("answer") is not None:
                raise PluginContractError(
                    f"{bound.component.origin}: {LABEL_CONVERTER} returned the answer "
                    f"{shorten(result['answer'])} for the example {uid!r}, and its "
                    "task has no answers (answer_kind 'none')"
                )
            result = {**result, "answer": None}
        yield converted(bound, LABEL_CONVERTER, result, uid, dtype)


def tag_notices(
    dataset: BoundDataset, task: BoundTask, columns: Collection[str]
) -> Iterator[str]:
    """Name columns that look like tags where the one that tags are in is not there."""
    name = (find_converter(LABEL_CONVERTER, dataset, task)[1] or {}).get("tags")
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
    """Make a column of tags, each once."""
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
    tags = tags.alias("tags")
    if not tags.null_count():
        return tags
    empty = pl.col("tags").fill_null(pl.lit([], dtype=pl.List(pl.String)))
    return tags.to_frame().select(empty)["tags"]
