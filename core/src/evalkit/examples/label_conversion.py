"""Applies label converters, whether they are methods or declared as mappings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import polars as pl

from evalkit.base.columns import named
from evalkit.base.failures import described, hook_failures
from evalkit.base.names import is_component_name
from evalkit.base.violations import shorten
from evalkit.errors import DataError, PluginContractError, PluginError
from evalkit.examples.conversion import LABEL_CONVERTER, Declaration, converted
from evalkit.plugins.bound import Converting


def convert_labels_by_columns(
    bound: Converting,
    declared: Declaration,
    frame: pl.DataFrame,
    columns: Sequence[str] = (),
) -> pl.DataFrame:
    """Apply a declared label converter to all examples at once.

    Args:
        bound: Whose declaration it is.
        declared: Mapping with `answer` and optionally `id` and `tags`.
        frame: The examples; `uid` holds their ids.
        columns: Names of all columns of the data, where the frame has only some.

    Returns:
        Columns `answer` and `tags` (list of texts; null for none).

    Raises:
        DataError: A column that it names is not in the data.
        PluginContractError: It declares something else than columns or expressions, or
            what it declares as `id` is not the id.
        PluginError: One of its expressions failed.
    """
    names = columns or frame.columns
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
        raise DataError(_missing_column(bound, declared, names, error)) from error
    except PluginContractError:
        raise
    except hook_failures() as error:
        kind = PluginError if _has_expressions(declared) else DataError
        raise kind(
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


def _has_expressions(declared: Declaration) -> bool:
    """Tell whether more than names of columns is declared."""
    found = [*declared.values()]
    for value in declared.values():
        found += value.values() if isinstance(value, Mapping) else []
    return any(isinstance(value, pl.Expr) for value in found)


def _missing_column(
    bound: Converting, declared: Declaration, columns: Sequence[str], error: Exception
) -> str:
    answer = declared.get("answer")
    has = f"the data has the columns {', '.join(columns)}"
    if isinstance(answer, str) and answer not in columns:
        return (
            f"{bound.component.origin} takes the right answer from the column "
            f"{answer!r}, and {has}"
        )
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


def _refuse_answer(bound: Converting, result: Mapping[str, Any], uid: str) -> None:
    if result.get("answer") is not None:
        raise PluginContractError(
            f"{bound.component.origin}: {LABEL_CONVERTER} returned the answer "
            f"{shorten(result['answer'])} for the example {uid!r}, and its task has no "
            "answers (answer_kind 'none')"
        )


def convert_labels_by_rows(
    bound: Converting,
    rows: Iterable[Mapping[str, Any]],
    dtype: pl.DataType | None = None,
    has_no_answers: bool = False,
) -> list[Mapping[str, Any]]:
    """Apply a label converter's method to every example.

    Args:
        bound: Whose method it is.
        rows: The examples; `uid` holds their ids.
        dtype: The type of answers and predictions; None where that is not known.
        has_no_answers: Whether the task has no answers, so that it returns none.

    Returns:
        What it returned for each.

    Raises:
        PluginContractError: It returned something else, or gave an example another id.
        PluginError: It failed for an example, which is named.
    """
    results = []
    for row in rows:
        uid = row["uid"]
        result = bound.call(LABEL_CONVERTER, example=row)
        if has_no_answers and isinstance(result, Mapping):
            _refuse_answer(bound, result, uid)
            result = {**result, "answer": None}
        results.append(converted(bound, LABEL_CONVERTER, result, uid, dtype))
    return results
