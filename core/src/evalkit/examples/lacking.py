"""Says in one message which keys no example has, and which columns may be meant."""

from __future__ import annotations

from collections.abc import Sequence

from evalkit.base.ids import EXAMPLE_ID_KEYS
from evalkit.errors import SchemaError
from evalkit.examples.conversion import LABEL_CONVERTER, find_converter
from evalkit.examples.rows import ExampleRows
from evalkit.plugins.bound import BoundDataset, BoundTask
from evalkit.plugins.components import AS_FILE

_ADAPTERS = "`evalkit list adapters` shows what reads files that other programs wrote"


def lacking_error(
    dataset: BoundDataset,
    task: BoundTask,
    loaded: ExampleRows,
    absent: Sequence[str] | None = None,
) -> SchemaError:
    """Return the error of data in which no row has some keys that must be there."""
    from evalkit.diagnosis import (
        ROW_NUMBER,
        guess_columns,
        how_to_map,
        shown_columns,
    )

    columns = loaded.columns
    fields = _absent_inputs(task, columns) if absent is None else [*absent]
    answer = _absent_answer(dataset, task, loaded)
    named = [repr(each) for each in fields]
    if not {*columns} & {*EXAMPLE_ID_KEYS}:
        named.insert(0, "an id ('uid' or 'id')")
        fields.insert(0, "id")
    if answer is not None and answer[0] not in fields:
        named.append(f"{answer[0]!r} (the right answer, by {answer[1]})")
        fields.append(answer[0])
    taken = {*task.Input.model_fields, *EXAMPLE_ID_KEYS, "tags"}
    free = [column for column in columns if column not in taken]
    labels = dataset.labels if dataset.labels is not None else task.labels
    mapping = guess_columns(fields, free)
    if {*fields} - {*mapping} == {"id"}:
        mapping = {"id": ROW_NUMBER, **mapping}
    is_whole = {*mapping} == {*fields}
    how = how_to_map("data", mapping)
    if mapping.get("id") == ROW_NUMBER:
        how += f"; {ROW_NUMBER} counts the rows from 1, {ROW_NUMBER}0 from 0"
    is_file = dataset.component.distribution == AS_FILE
    if is_file and not is_whole and dataset.pipeline is None:
        how += f"; {_ADAPTERS}"
    return SchemaError(
        f"{loaded.source(dataset)}: no example has {_joined(named)}; the data has "
        f"the columns {shown_columns(fields, columns, labels)}; {how}",
        # what mends a part leads to the next error
        mapping=mapping if is_whole else {},
    )


def _joined(named: Sequence[str]) -> str:
    *others, last = named
    return f"{', '.join(others)} or {last}" if others else last


def refuse_absent_answer(
    dataset: BoundDataset, task: BoundTask, loaded: ExampleRows
) -> None:
    """Refuse data without the column that answers are in, where one is declared."""
    if _absent_answer(dataset, task, loaded) is not None:
        raise lacking_error(dataset, task, loaded, ())


def _absent_inputs(task: BoundTask, columns: Sequence[str]) -> list[str]:
    """Return the required fields of `Input` that no column is named after."""
    validators = task.Input.__pydantic_decorators__.model_validators.values()
    if any(each.info.mode != "after" for each in validators):
        return []  # which may make a field of any columns
    return [
        name
        for name, field in task.Input.model_fields.items()
        if field.is_required()
        and name not in {*columns, *EXAMPLE_ID_KEYS}
        and field.validation_alias is None
    ]


def _absent_answer(
    dataset: BoundDataset, task: BoundTask, loaded: ExampleRows
) -> tuple[str, str] | None:
    """Return the column of answers that is not there, and who declares it."""
    if not loaded.needs_answer or task.answer_kind == "none":
        return None
    bound, declared = find_converter(LABEL_CONVERTER, dataset, task)
    name = None if declared is None else declared.get("answer")
    known = {*loaded.columns, *loaded.frame.columns, *task.Input.model_fields}
    known |= task.Input.model_computed_fields.keys()
    is_absent = isinstance(name, str) and name not in known and name != "uid"
    return (str(name), bound.component.origin) if is_absent else None
