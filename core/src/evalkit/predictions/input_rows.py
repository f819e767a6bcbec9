"""What hooks see of the example that a response answers: the fields of its input."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from evalkit.base.columns import all_named
from evalkit.errors import PluginContractError
from evalkit.examples.conversion import PRED_CONVERTER, answer_name, find_converter
from evalkit.examples.table import Examples
from evalkit.plugins.bound import BoundDataset, BoundTask
from evalkit.reading.typed_values import as_mappings

if TYPE_CHECKING:
    import polars as pl

ADAPTER = "adapt_response"


def fields_read(dataset: BoundDataset, task: BoundTask) -> set[str]:
    """Return the columns of the data that hooks see which judge a response."""
    return {*(_fields_to_verify(task) or ()), *(_fields_of_row(dataset, task) or ())}


def _fields_to_verify(task: BoundTask) -> Sequence[str] | None:
    """Return what `verify_response` reads of an example; None for nothing."""
    if not task.has("verify_response"):
        return None
    if not {"example", "data"} & {*task.arguments_of("verify_response")}:
        return None
    declared: Sequence[str] | None = task.verify_fields
    return [*task.Input.model_fields] if declared is None else declared


def _fields_of_row(dataset: BoundDataset, task: BoundTask) -> list[str] | None:
    """Return the fields that converters and adapters see as `row`: never the answer."""
    converter, declared = find_converter(PRED_CONVERTER, dataset, task)
    by_method = declared is None and converter.takes_row(PRED_CONVERTER)
    if not by_method and not any(each.takes_row(ADAPTER) for each in (dataset, task)):
        return None
    answers = {answer_name(dataset, task), task.answer_field}
    return [name for name in task.Input.model_fields if name not in answers]


def rows_by_id(
    dataset: BoundDataset, task: BoundTask, examples: Examples
) -> Mapping[str, Mapping[str, Any]]:
    """Return what the model was asked, where a hook takes it as `row`."""
    fields = _fields_of_row(dataset, task)
    if fields is None:
        return {}
    rows = rows_of_columns(task, examples.inputs, examples.nested, fields)
    return {row["uid"]: row for row in rows}


def verified_rows(task: BoundTask, examples: Examples) -> list[dict[str, Any]]:
    """Return what `verify_response` sees of each example; empty for nothing."""
    fields = _fields_to_verify(task)
    if fields is None:
        return []
    present = examples.inputs.columns
    missing = [name for name in fields if name not in present]
    if missing and task.verify_fields is not None:
        raise PluginContractError(
            f"{task.component.origin}: verify_response reads the field "
            f"{missing[0]!r}, which the data does not have"
        )
    return rows_of_columns(task, examples.inputs, examples.nested, fields)


def rows_of_columns(
    task: BoundTask,
    inputs: pl.DataFrame,
    nested: Mapping[str, Sequence[Any]],
    fields: Sequence[str],
) -> list[dict[str, Any]]:
    """Return some columns of examples as rows, with values as pydantic returns them."""
    names = dict.fromkeys(("uid", *(name for name in fields if name in inputs.columns)))
    rows = inputs.select(all_named(names)).rows(named=True)
    for name in names:
        if name in nested:
            values = nested[name]
        elif name in task.Input.model_fields and inputs.schema[name].is_nested():
            annotation = task.Input.model_fields[name].annotation
            values = [
                as_mappings(row[name], annotation, keeps_null=True) for row in rows
            ]
        else:
            continue
        for row, value in zip(rows, values, strict=True):
            row[name] = value
    return rows
