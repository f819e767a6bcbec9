"""Checks rows against the task's `Input`, and uses what pydantic makes of them.

Rows that columns show to be valid as they are need no pydantic. Of the others, what it
returns is what is used: defaults, aliases, and what validators make of a value.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl
from pydantic import ValidationError

from evalkit.base.columns import all_named, is_text_only, to_series
from evalkit.base.violations import (
    REQUIRED,
    FirstProblems,
    describe,
    from_pydantic,
    shorten,
)
from evalkit.errors import SchemaError
from evalkit.examples.lacking import lacking_error, refuse_absent_answer
from evalkit.examples.loading import input_plan
from evalkit.examples.rows import ExampleRows
from evalkit.plugins.bound import BoundDataset, BoundTask
from evalkit.reading.field_types import model_types
from evalkit.reading.formats import DELIMITERS, detect_format
from evalkit.reading.schemas import ColumnPlan, with_planned
from evalkit.reading.tables import cast_column
from evalkit.reading.typed_values import (
    are_exact,
    fits,
    holds_null,
    row_of_table,
    typed_series,
)


def checked_inputs(
    dataset: BoundDataset, task: BoundTask, loaded: ExampleRows
) -> ExampleRows:
    """Check that every row has the shape of the task's `Input`."""
    checked = _checked_inputs(dataset, task, loaded)
    refuse_absent_answer(dataset, task, checked)
    return checked


def _checked_inputs(
    dataset: BoundDataset, task: BoundTask, loaded: ExampleRows
) -> ExampleRows:
    accepted, frame = _accepted(task, loaded)
    typed = loaded._replace(frame=frame, given=loaded.frame)
    plan = input_plan(task)
    if accepted is not None and plan is not None:
        typed = typed._replace(defaults=plan.defaults)
        if accepted.all():
            return typed
    validated = dict(_validated(dataset, task, loaded, accepted))
    typed = typed._replace(validated=validated)
    if loaded.rows is not None:
        rows = [*loaded.rows]
        for position, values in validated.items():
            rows[position] = values
        typed = typed._replace(rows=rows, validated={})
    types = model_types(task.Input)
    names = (*task.Input.model_fields, *task.Input.model_computed_fields)
    for name in names:
        if name != "uid" and name not in loaded.dropped:
            typed = _with_field(dataset, typed, name, validated, types.get(name))
    return typed


def _accepted(
    task: BoundTask, loaded: ExampleRows
) -> tuple[pl.Series | None, pl.DataFrame]:
    """Tell which rows certainly fit `Input`; None where all must be checked singly."""
    plan = input_plan(task)
    if plan is None:
        return None, loaded.frame
    plan = plan.of(plan.columns.keys() - loaded.dropped)
    frame = _cast(loaded.frame, plan, loaded.nested)
    planned = with_planned(frame.drop(all_named(loaded.nested)), plan)
    passes = plan.passes(planned) & _are_exact(loaded, plan)
    there = {*frame.columns}
    added = planned.select(all_named(n for n in planned.columns if n not in there))
    frame = frame.hstack(added.get_columns())
    return passes if loaded.passes is None else passes & loaded.passes, frame


def _are_exact(loaded: ExampleRows, plan: ColumnPlan) -> pl.Series:
    """Tell which rows have just the values that their columns hold.

    A column of Python's values holds a date as its text, and a number of numpy as one
    of Python; pydantic tells them apart.
    """
    exact = pl.repeat(True, loaded.frame.height, eager=True)
    for name, column in plan.columns.items():
        if name in loaded.nested:
            given = loaded.nested[name]
            exact &= pl.Series([value is None for value in given], dtype=pl.Boolean)
        elif loaded.rows is not None and name in loaded.frame.columns:
            exact &= are_exact([row.get(name) for row in loaded.rows], column.dtype)
    return exact


def _cast(
    frame: pl.DataFrame, plan: ColumnPlan, nested: Mapping[str, Any]
) -> pl.DataFrame:
    """Bring columns into their planned types, where nothing is lost."""
    cast = [
        found
        for name, column in plan.columns.items()
        if name in frame.columns and name not in nested
        if frame.schema[name] != column.dtype
        if (found := cast_column(frame[name], column.dtype)) is not None
    ]
    return frame.with_columns(cast) if cast else frame


def has_text_cells(dataset: BoundDataset, loaded: ExampleRows) -> bool:
    """Tell whether rows are cells of a file, which cannot say null."""
    if loaded.path is None:
        return False
    if dataset.pipeline is not None and dataset.pipeline.reads_files:
        return False
    return detect_format(loaded.path) in DELIMITERS


def _validated(
    dataset: BoundDataset,
    task: BoundTask,
    loaded: ExampleRows,
    accepted: pl.Series | None,
) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Ask pydantic about all rows that are not accepted."""
    problems = FirstProblems()
    lacking: Counter[str] = Counter()
    is_table = loaded.rows is None and loaded.lines is None
    nullable = [n for n in task.Input.model_fields if holds_null(task.Input, n)]
    nulls = dict.fromkeys(nullable if has_text_cells(dataset, loaded) else ())
    for position, row in enumerate(loaded.named()):
        if accepted is not None and accepted[position]:
            continue
        try:
            given = row_of_table(task.Input, row) if is_table else {**nulls, **row}
            found = task.validate_input(given)
        except ValidationError as error:
            broken = from_pydantic(error)
            lacking.update(each.field for each in broken if each.rule == REQUIRED)
            where = f"{loaded.where(position)} (uid {row['uid']!r})"
            problems.add(f"{where}: {describe(broken)}")
            continue
        if not problems:
            yield position, {**row, **found.model_dump(), "uid": row["uid"]}
    if problems:
        count = loaded.frame.height
        absent = [name for name, times in lacking.items() if times == count > 1]
        why = str(problems)
        if absent:
            raise lacking_error(dataset, task, loaded, absent)
        raise SchemaError(
            f"{loaded.source(dataset)}: {len(problems)} of {count} "
            f"examples break the input of the task {task.component.name}: {why}"
        )


def _with_field(
    dataset: BoundDataset,
    loaded: ExampleRows,
    name: str,
    validated: Mapping[int, Mapping[str, Any]],
    dtype: pl.DataType | None,
) -> ExampleRows:
    """Put the validated values of a field into its column."""
    values = [row[name] for row in validated.values() if name in row]
    if len(values) < len(validated):
        return loaded  # a field that the model leaves out
    try:
        column = (
            to_series(name, values)
            if dtype is None
            else typed_series(name, values, dtype)
        )
    except ValueError as error:
        place, rule = 0, "its annotation names no type of a column, and not all of its "
        rule += f"values can be written as JSON ({error})"
        if dtype is not None:
            place = next(n for n, each in enumerate(values) if not fits(each, dtype))
            rule = f"must fit a column of the type {dtype}, found "
            rule += shorten(values[place])
        problem = loaded.problem([*validated][place], name, rule)
        raise SchemaError(f"{loaded.source(dataset)}: {problem}") from error
    nested = {key: column for key, column in loaded.nested.items() if key != name}
    if dtype is None and column.dtype == pl.String and not is_text_only(values):
        nested[name] = values
    frame = loaded.frame
    if len(validated) < frame.height:
        base = frame[name] if name in frame.columns else None
        column = _replaced(base, column, [*validated], frame.height)
    return loaded._replace(frame=frame.with_columns(column.alias(name)), nested=nested)


def _replaced(
    base: pl.Series | None, values: pl.Series, positions: Sequence[int], height: int
) -> pl.Series:
    """Put values at their positions; rows without one had no value in another type."""
    if base is None or base.dtype != values.dtype:
        base = values.clear().extend_constant(None, height)
    places = np.arange(height)
    places[np.array(positions)] = height + np.arange(len(values))
    return pl.concat([base, values.alias(base.name)]).rechunk().gather(places)
