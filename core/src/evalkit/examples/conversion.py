"""Applies converters, whether they are methods or declared as mappings.

A converter sees only what was checked before: responses that keep the task's `Output`
and `verify_response`, rows that keep its `Input`. So whatever it raises is a failure
of the plugin that it belongs to, which ends the evaluation, and never a reason to call
a response invalid.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import polars as pl

from evalkit.base.ids import read_id
from evalkit.base.terms import Unparsed
from evalkit.base.violations import shorten
from evalkit.errors import PluginContractError, SchemaError
from evalkit.examples.scored_values import PLAIN_TYPES, UnscorableError, scored_value
from evalkit.plugins.bound import BoundDataset, BoundTask, Converting
from evalkit.reading.field_types import holds_more_than_plain, model_types
from evalkit.reading.schemas import text_fields
from evalkit.reading.typed_values import MisfitError, fit

LABEL_CONVERTER = "label_field_converter"
PRED_CONVERTER = "pred_field_converter"

_KEYS = {LABEL_CONVERTER: ("id", "answer", "tags"), PRED_CONVERTER: ("id", "pred")}
"""What a converter may give; all but `tags` must be there."""

Declaration = Mapping[str, Any]


def find_converter(
    hook: str, dataset: BoundDataset, task: BoundTask
) -> tuple[Converting, Declaration | None]:
    """Find who converts: the data set if it says how, else the task."""
    for bound in (dataset, task):
        if bound.has(hook):
            return bound, None
        declared = getattr(bound.plugin, hook, None)
        if isinstance(declared, Mapping):
            _check_declaration(bound, hook, declared, task.answer_kind == "none")
            return bound, declared
    answer_field = task.answer_field
    if hook == LABEL_CONVERTER and task.answer_kind == "none":
        return task, {"id": "uid", "tags": "tags"}
    if answer_field is None:
        raise PluginContractError(
            f"{task.component.origin} has neither `answer_field` nor {hook}, and the "
            "data set has none either"
        )
    if hook == LABEL_CONVERTER:
        return task, {"id": "uid", "answer": answer_field, "tags": "tags"}
    return task, {"id": "id", "pred": answer_field}


def _check_declaration(
    bound: Converting, hook: str, declared: Declaration, has_no_answers: bool
) -> None:
    for key in declared:
        if key not in _KEYS[hook]:
            raise PluginContractError(
                f"{bound.component.origin}: {hook} has the key {key!r}; it takes "
                f"{', '.join(_KEYS[hook])}"
            )
    if hook == LABEL_CONVERTER and ("answer" in declared) == has_no_answers:
        problem = "declares no column for 'answer'"
        if has_no_answers:
            problem = "declares a column for 'answer', and its task has no answers"
        raise PluginContractError(f"{bound.component.origin}: {hook} {problem}")


def declaration(
    hook: str, dataset: BoundDataset, task: BoundTask
) -> Declaration | None:
    """Return a declared converter; None where it is a method, or there is none."""
    try:
        return find_converter(hook, dataset, task)[1]
    except PluginContractError:
        return None  # examples can be looked at without it


def predictions_are_texts(dataset: BoundDataset, task: BoundTask) -> bool:
    """Tell whether what is scored is a field of `Output` that holds texts."""
    field = (declaration(PRED_CONVERTER, dataset, task) or {}).get("pred")
    return isinstance(field, str) and field in text_fields(task.Output)


def predicted_field(dataset: BoundDataset, task: BoundTask) -> str | None:
    """Name the field of `Output` that says the type of predictions and answers."""
    declared = declaration(PRED_CONVERTER, dataset, task)
    types = model_types(task.Output)
    name = task.answer_field if declared is None else declared.get("pred")
    if not isinstance(name, str) or name not in types:
        return None
    is_known = declared is not None or holds_more_than_plain(types[name])
    return name if is_known else None


def prediction_type(
    dataset: BoundDataset, task: BoundTask
) -> tuple[str | None, pl.DataType | None]:
    """Return the field that `predicted_field` names, and its type."""
    name = predicted_field(dataset, task)
    return name, None if name is None else model_types(task.Output)[name]


def answer_name(dataset: BoundDataset, task: BoundTask) -> str | None:
    """Name the column of the data that answers are in, as far as it is known."""
    answer = (declaration(LABEL_CONVERTER, dataset, task) or {}).get("answer")
    return answer if isinstance(answer, str) else task.answer_field


PredictionFunction = Callable[[Mapping[str, Any], Mapping[str, Any] | None], Any]
"""From a response, and the row that it answers where that is asked for."""


def pred_function(dataset: BoundDataset, task: BoundTask) -> PredictionFunction:
    """Return the function from a response to what is scored."""
    bound, declared = find_converter(PRED_CONVERTER, dataset, task)
    _, dtype = prediction_type(dataset, task)
    if declared is None:

        def by_method(
            response: Mapping[str, Any], row: Mapping[str, Any] | None = None
        ) -> Any:
            uid = response["id"]
            result = bound.call(
                PRED_CONVERTER, response=response, example=response, row=row
            )
            if isinstance(result, Unparsed):
                return result
            pred = converted(bound, PRED_CONVERTER, result, uid, dtype)["pred"]
            return pred if isinstance(pred, Unparsed) else typed_or_scored(pred, dtype)

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
    return _by_column(bound, column, dtype)


def typed_or_scored(value: Any, dtype: pl.DataType | None) -> Any:
    """Return a value as it is scored."""
    if dtype is None or type(value) in PLAIN_TYPES:
        return scored_value(value)
    try:
        return fit(value, dtype)
    except MisfitError:
        return scored_value(value)


def _by_column(
    bound: Converting, column: str, dtype: pl.DataType | None
) -> PredictionFunction:
    def by_column(
        response: Mapping[str, Any], row: Mapping[str, Any] | None = None
    ) -> Any:
        value = response.get(column)
        if type(value) in PLAIN_TYPES:
            return value
        try:
            return typed_or_scored(value, dtype)
        except UnscorableError as error:
            raise SchemaError(
                f"{bound.component.origin}: the response {response['id']!r}: {column} "
                f"is {error}; a method {PRED_CONVERTER} can make one of it"
            ) from error

    return by_column


def converted(
    bound: Converting, hook: str, value: Any, uid: str, dtype: pl.DataType | None = None
) -> Mapping[str, Any]:
    """Check what a converter's method returned."""
    problem = _broken(hook, value, uid, dtype)
    if problem:
        raise PluginContractError(f"{bound.component.origin}: {hook} {problem}")
    found: Mapping[str, Any] = value
    return found


def _broken(hook: str, value: Any, uid: str, dtype: pl.DataType | None) -> str | None:
    """Say what is wrong with what a converter's method returned."""
    known = _KEYS[hook]
    wanted = known[:2]
    what = f"the {'example' if hook == LABEL_CONVERTER else 'response'} {uid!r}"
    if not isinstance(value, Mapping) or not all(key in value for key in wanted):
        keys = " and ".join(sorted(wanted))
        return f"must return a dict with {keys}, returned {shorten(value)} for {what}"
    for key in value:
        if key not in known:
            taken = ", ".join(known)
            return f"returned the key {key!r} for {what}; it takes {taken}"
    if value["id"] != uid and read_id(value, ("id",)) != uid:
        return f"gave {what} the id {shorten(value['id'])}"
    key, scored = known[1], value[known[1]]
    is_rich = hook == LABEL_CONVERTER and holds_more_than_plain(dtype)
    is_unparsed = hook == PRED_CONVERTER and isinstance(scored, Unparsed)
    try:
        if not (is_rich or is_unparsed):
            typed_or_scored(scored, dtype)
    except UnscorableError as error:
        return f"returned as {key!r} for {what} {error}"
    if not _are_tags(value.get("tags")):
        return (
            "must give tags as a list of texts that are not empty, gave "
            f"{shorten(value['tags'])} for {what}"
        )
    return None


def _are_tags(tags: Any) -> bool:
    if tags is None:
        return True
    if not isinstance(tags, list | tuple) or "" in tags:
        return False
    # looking at types is quicker than at every text
    return {*map(type, tags)} <= {str} or all(isinstance(tag, str) for tag in tags)
