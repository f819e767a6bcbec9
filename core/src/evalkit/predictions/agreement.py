"""Compares a task's check of columns with its check of single responses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random
from typing import Any

import polars as pl

from evalkit.base.violations import describe, from_assertion, shorten
from evalkit.errors import PluginContractError
from evalkit.plugins.bound import BoundTask
from evalkit.reading.schemas import ColumnPlan, plan_of
from evalkit.reading.typed_values import row_of_table

DRAWN = 256
"""How many responses are drawn."""


def check_agreement(task: BoundTask) -> None:
    """Check on drawn responses that `verify_columns` accepts no more than it may.

    Nothing is checked where a task lacks one of the two hooks, or where its responses
    are never judged as columns.

    Args:
        task: The task.

    Raises:
        PluginContractError: `verify_columns` accepts a response for which
            `verify_response` has violations; the message holds the response.
        PluginError: One of the hooks failed.
    """
    plan = plan_of(task.Output, task.labels)
    if plan is None or not (task.has("verify_columns") and task.has("verify_response")):
        return
    rows = _draw(plan, task.labels or ())
    schema = {name: column.dtype for name, column in plan.columns.items()}
    frame = pl.DataFrame(rows, schema, strict=False)
    frame = frame.filter(plan.passes(frame))
    if frame.is_empty():
        return
    accepted = task.call("verify_columns", responses=frame, labels=task.labels)
    if not isinstance(accepted, pl.Series) or accepted.dtype != pl.Boolean:
        raise PluginContractError(
            f"{task.component.origin}: verify_columns must return a polars Series of "
            f"one boolean for each row, returned {shorten(accepted)}"
        )
    for row in frame.filter(accepted).iter_rows(named=True):
        given = row_of_table(task.Output, row)
        said = _said_of({"id": "drawn", **given}, task)
        if said:
            raise PluginContractError(
                f"{task.component.origin}: verify_columns accepts the response "
                f"{shorten(given, 200)}, for which verify_response says: {said}"
            )


def _said_of(response: Mapping[str, Any], task: BoundTask) -> str:
    """Return what `verify_response` has against a response; "" for nothing."""
    example = {**task.example, "uid": "drawn"}
    offered = {"example": example, "data": example, "labels": task.labels}
    try:
        found = task.call("verify_response", response=dict(response), **offered)
    except AssertionError as error:
        found = [from_assertion(error)]
    return describe(found) if found else ""


def _draw(plan: ColumnPlan, labels: Sequence[str]) -> list[dict[str, Any]]:
    """Draw responses: values of each field, right ones and those near the edge."""
    rng = Random(0)
    return [
        {
            name: None
            if column.takes_null and rng.random() < 0.2
            else _value(column.dtype, labels, rng)
            for name, column in plan.columns.items()
        }
        for _ in range(DRAWN)
    ]


_TEXTS = ("", " ", "x", "two words", "0")
_NUMBERS = (0.0, 1.0, 0.5, 0.999, 1.001, 2.0, -1.0, 100.0)


def _value(dtype: Any, labels: Sequence[str], rng: Random) -> Any:
    if isinstance(dtype, pl.Struct):
        if all(field.dtype == pl.Float64 for field in dtype.fields):
            return _numbers([field.name for field in dtype.fields], rng)
        return {f.name: _value(f.dtype, labels, rng) for f in dtype.fields}
    if isinstance(dtype, pl.List):
        return [_value(dtype.inner, labels, rng) for _ in range(rng.randrange(4))]
    if dtype.is_temporal() or dtype == pl.Binary:
        return None
    if dtype == pl.Boolean:
        return rng.random() < 0.5
    if dtype == pl.String:
        return rng.choice([*labels, *labels, *_TEXTS])
    number = rng.choice(_NUMBERS)
    return int(number) if dtype.is_integer() else number


def _numbers(names: Sequence[str], rng: Random) -> dict[str, float]:
    """Draw a number for each label: shares of one, or any numbers."""
    drawn = [rng.random() for _ in names]
    if rng.random() < 0.5:
        drawn = [number / sum(drawn) for number in drawn]
    elif rng.random() < 0.5:
        drawn = [rng.choice(_NUMBERS) for _ in names]
    return dict(zip(names, drawn, strict=True))
