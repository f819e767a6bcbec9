"""Applies converters, whether they are methods or declared as mappings.

A converter sees only what was checked before: responses that keep the task's `Output`
and `verify_response`, rows that keep its `Input`. So whatever it raises is a failure
of the plugin that it belongs to, which ends the evaluation, and never a reason to call
a response invalid.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import polars as pl

from evalkit.base.columns import named
from evalkit.base.failures import described, hook_failures
from evalkit.base.ids import read_id
from evalkit.base.names import is_component_name
from evalkit.base.violations import shorten
from evalkit.errors import DataError, PluginContractError, PluginError, SchemaError
from evalkit.examples.scored_values import PLAIN_TYPES, UnscorableError, scored_value
from evalkit.plugins.bound import BoundDataset, BoundTask, Converting
from evalkit.plugins.classes import default_label_converter, default_pred_converter
from evalkit.reading.schemas import text_fields

LABEL_CONVERTER = "label_field_converter"
PRED_CONVERTER = "pred_field_converter"

_KEYS = {LABEL_CONVERTER: ("id", "answer", "tags"), PRED_CONVERTER: ("id", "pred")}
"""What a converter may give; all but `tags` must be there."""

_INSTEAD = {
    "cluster": "clusters are columns of the data, which the data set names in its "
    "attribute `cluster`",
    "pred": "predictions are given by pred_field_converter",
    "answer": "answers are given by label_field_converter",
    "uid": "the id is given as 'id'",
}
"""What to do about keys that a converter does not take."""

Declaration = Mapping[str, Any]


def find_converter(
    hook: str, dataset: BoundDataset, task: BoundTask
) -> tuple[Converting, Declaration | None]:
    """Find who converts: the data set if it says how, else the task.

    Args:
        hook: `label_field_converter` or `pred_field_converter`.
        dataset: The data set.
        task: Its task.

    Returns:
        The plugin that converts, and its declaration; None where it has a method.

    Raises:
        PluginContractError: Neither of them says how to convert.
    """
    for bound in (dataset, task):
        if bound.has(hook):
            return bound, None
        declared = getattr(bound.plugin, hook, None)
        if isinstance(declared, Mapping):
            _check_declaration(bound, hook, declared)
            return bound, declared
    answer_field = task.answer_field
    if answer_field is None:
        raise PluginContractError(
            f"{task.component.origin} has neither `answer_field` nor {hook}, and the "
            "data set has none either"
        )
    if hook == LABEL_CONVERTER:
        return task, default_label_converter(answer_field)
    return task, default_pred_converter(answer_field)


def _check_declaration(bound: Converting, hook: str, declared: Declaration) -> None:
    for key in declared:
        if key not in _KEYS[hook]:
            raise PluginContractError(
                f"{bound.component.origin}: {hook} has the key {key!r}; "
                f"{_what_it_takes(hook, key)}"
            )
    if hook == LABEL_CONVERTER and "answer" not in declared:
        raise PluginContractError(
            f"{bound.component.origin}: {hook} declares no column for 'answer'"
        )


def _what_it_takes(hook: str, key: Any) -> str:
    hint = f"; {_INSTEAD[key]}" if key in _INSTEAD else ""
    return f"it takes {', '.join(_KEYS[hook])}{hint}"


def predictions_are_texts(dataset: BoundDataset, task: BoundTask) -> bool:
    """Tell whether what is scored is a field of `Output` that holds texts.

    Args:
        dataset: The data set.
        task: Its task.

    Returns:
        False also where a method converts responses into whatever it likes.
    """
    try:
        declared = find_converter(PRED_CONVERTER, dataset, task)[1]
    except PluginContractError:
        return False  # examples can be looked at without it
    field = declared and declared.get("pred")
    return isinstance(field, str) and field in text_fields(task.Output)


def pred_function(
    dataset: BoundDataset, task: BoundTask
) -> Callable[[Mapping[str, Any]], Any]:
    """Return the function from a response to what is scored.

    Args:
        dataset: The data set.
        task: Its task.

    Returns:
        A function from a response to its prediction, which raises a `PluginError` where
        a method fails or returns what cannot be scored, and a `SchemaError` where the
        declared field holds that.

    Raises:
        PluginContractError: Nobody says how to convert, or not in a known way.
    """
    bound, declared = find_converter(PRED_CONVERTER, dataset, task)
    if declared is None:

        def by_method(response: Mapping[str, Any]) -> Any:
            uid = response["id"]
            result = bound.pred_field_converter(response)
            return scored_value(converted(bound, PRED_CONVERTER, result, uid)["pred"])

        return by_method
    column = declared.get("pred")
    if not isinstance(column, str):
        raise PluginContractError(
            f"{bound.component.origin}: {PRED_CONVERTER} declares no column for 'pred'"
        )
    output = task.Output
    if (
        column not in output.model_fields
        and output.model_config.get("extra") != "allow"
    ):
        raise PluginContractError(
            f"{bound.component.origin}: {PRED_CONVERTER} reads the field {column!r}, "
            f"which the Output of {task.component.origin} does not have"
        )
    return _by_column(bound, column)


def _by_column(bound: Converting, column: str) -> Callable[[Mapping[str, Any]], Any]:
    def by_column(response: Mapping[str, Any]) -> Any:
        value = response.get(column)
        if type(value) in PLAIN_TYPES:
            return value
        try:
            return scored_value(value)
        except UnscorableError as error:
            raise SchemaError(
                f"{bound.component.origin}: the response {response['id']!r}: {column} "
                f"is {error}; a method {PRED_CONVERTER} can make one of it"
            ) from error

    return by_column


def _what(hook: str, uid: str) -> str:
    """Say what a converter was given."""
    return f"the {'example' if hook == LABEL_CONVERTER else 'response'} {uid!r}"


def converted(bound: Converting, hook: str, value: Any, uid: str) -> Mapping[str, Any]:
    """Check what a converter's method returned.

    Args:
        bound: Whose converter it is.
        hook: `label_field_converter` or `pred_field_converter`.
        value: What it returned.
        uid: The id that it must return.

    Returns:
        The same value.

    Raises:
        PluginContractError: It is no mapping, lacks a key or has another one, has
            another id, or tags that are no texts.
    """
    known = _KEYS[hook]
    wanted = known[:2]
    if not isinstance(value, Mapping) or not all(key in value for key in wanted):
        problem = f"must return a dict with {' and '.join(sorted(wanted))}, returned "
        problem += f"{shorten(value)} for {_what(hook, uid)}"
        raise _misconverted(bound, hook, problem)
    for key in value:
        if key not in known:
            problem = f"returned the key {key!r} for {_what(hook, uid)}; "
            raise _misconverted(bound, hook, problem + _what_it_takes(hook, key))
    if value["id"] != uid and read_id(value, ("id",)) != uid:
        problem = f"gave {_what(hook, uid)} the id {shorten(value['id'])}"
        raise _misconverted(bound, hook, problem)
    _check_scored(bound, hook, value, uid)
    if not _are_tags(value.get("tags")):
        problem = "must give tags as a list of texts that are not empty, gave "
        problem += f"{shorten(value['tags'])} for {_what(hook, uid)}"
        raise _misconverted(bound, hook, problem)
    return value


def _misconverted(bound: Converting, hook: str, problem: str) -> PluginContractError:
    return PluginContractError(f"{bound.component.origin}: {hook} {problem}")


def _check_scored(
    bound: Converting, hook: str, returned: Mapping[str, Any], uid: str
) -> None:
    key = _KEYS[hook][1]
    try:
        scored_value(returned[key])
    except UnscorableError as error:
        problem = f"returned as {key!r} for {_what(hook, uid)} {error}"
        raise _misconverted(bound, hook, problem) from error


def _are_tags(tags: Any) -> bool:
    if tags is None:
        return True
    if not isinstance(tags, list | tuple) or "" in tags:
        return False
    # looking at types is quicker than at every text
    return {*map(type, tags)} <= {str} or all(isinstance(tag, str) for tag in tags)


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
            _expression(bound, declared["answer"]).alias("__answer"),
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
        raise _foreign_id(bound, uid, found)
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
    answer = declared["answer"]
    has = f"the data has the columns {', '.join(columns)}"
    if isinstance(answer, str) and answer not in columns:
        return (
            f"{bound.component.origin} takes the right answer from the column "
            f"{answer!r}, and {has}"
        )
    # what polars lists as valid are only the columns that somebody reads
    reason = str(error).partition("\n")[0].partition("; valid columns")[0]
    return f"{bound.component.origin}: {LABEL_CONVERTER}: {reason}; {has}"


def _foreign_id(bound: Converting, uid: str, found: Any) -> PluginContractError:
    return PluginContractError(
        f"{bound.component.origin}: {LABEL_CONVERTER} gave the example {uid!r} the id "
        f"{found!r}"
    )


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


def convert_labels_by_rows(
    bound: Converting, rows: Iterable[Mapping[str, Any]]
) -> list[Mapping[str, Any]]:
    """Apply a label converter's method to every example.

    Args:
        bound: Whose method it is.
        rows: The examples; `uid` holds their ids.

    Returns:
        What it returned for each.

    Raises:
        PluginContractError: It returned something else, or gave an example another id.
        PluginError: It failed for an example, which is named.
    """
    results = []
    for row in rows:
        uid = row["uid"]
        result = bound.label_field_converter(row)
        results.append(converted(bound, LABEL_CONVERTER, result, uid))
    return results
