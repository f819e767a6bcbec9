"""Rows of tasks and their rounds: added, and changed while they are used.

A dataset joins an open round, and models are evaluated on it. In a closed round, only
models that were evaluated before are evaluated again, such as by a new metric. In a
frozen round nothing is. Round 0 means none.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from typing import Any

from sqlalchemy import Connection, select, update

from evalkit.catalog import BoundTask, Registry, Resolver, is_component_name
from evalkit.errors import EvalkitError
from evalkit_services_server.database import insert
from evalkit_services_server.requests import request_all
from evalkit_services_server.tables import DATASET, ROUND, TASK


def add_task(connection: Connection, name: str) -> int:
    """Add the row of an installed task, and return its id; an existing one stays."""
    task = _bind(name)
    code = task.component.name
    row = dict(code=code, component=name, perf_metric=task.perf_metric, weights={})
    row |= dict(input_keys=["uid", *task.sent_keys])
    row |= {key: [*getattr(task, key)] for key in ("eval_metrics", "delta_metrics")}
    statement = insert(connection, TASK).values(row)
    connection.execute(statement.on_conflict_do_nothing(index_elements=["code"]))
    return task_id(connection, code)


def asked_task(row: Mapping[str, Any]) -> Any:
    """Return the task of a row as models are asked: with the input keys of the row."""
    task = copy(_bind(row["component"]).plugin)
    keys = [key for key in row["input_keys"] if key != "uid"]
    vars(task).update(name=row["code"], input_keys=keys)
    return task


def task_id(connection: Connection, code: str) -> int:
    """Return the id of a task's row."""
    found = connection.scalar(select(TASK.c.id).where(TASK.c.code == code))
    if found is None:
        raise EvalkitError(
            f"task {code!r} is not on this server. Add it with `evalkit host task "
            f"{code}`"
        )
    return int(found)


def change_task(connection: Connection, code: str, **changes: Any) -> list[int]:
    """Change columns of a task's row; a new metric requests all its evaluations."""
    of_task = TASK.c.id == task_id(connection, code)
    row = connection.execute(select(TASK).where(of_task)).one()
    values = _checked(changes, _bind(row.component))
    known = connection.scalars(
        select(DATASET.c.name).where(DATASET.c.task_id == row.id)
    )
    for name in set(changes.get("weights", ())).difference(known):
        raise EvalkitError(f"weights: {name!r} is not a dataset of the task")
    before = _metrics(row._asdict())
    after = _metrics({**row._asdict(), **values})
    if values:
        connection.execute(update(TASK).where(of_task).values(values))
    return request_all(connection, of_task) if after - before else []


def _metrics(row: Mapping[str, Any]) -> set[str]:
    return {row["perf_metric"], *row["eval_metrics"]}


def _bind(name: str) -> BoundTask:
    return BoundTask.of(Resolver(Registry()).bind("tasks", name))


def _checked(values: Mapping[str, Any], task: BoundTask) -> dict[str, Any]:
    """Return new values with metrics as runs name them; refuse those without sense."""
    resolver, checked = Resolver(Registry()), dict(values)
    if "perf_metric" in values:
        checked["perf_metric"] = resolver.metric(values["perf_metric"]).name
    if "eval_metrics" in values:
        named = map(resolver.metric, values["eval_metrics"])
        checked["eval_metrics"] = [metric.name for metric in named]
    metrics = {metric.name for metric in resolver.registry.catalog.of_kind("metrics")}
    for family in values.get("delta_metrics", ()):
        if not is_component_name(family) or family in metrics:
            raise EvalkitError(
                "delta metric must be a family of perturbations, such as fairness, "
                f"got {family!r}"
            )
    keys = {"uid", *task.Input.model_fields}
    for key in values.get("input_keys", ()):
        if key not in keys:
            raise EvalkitError(
                f"input key {key!r} is not a field of the task {task.component.name}: "
                f"{', '.join(sorted(keys))}"
            )
    return checked


def set_round(connection: Connection, task_id: int, number: int, state: str) -> int:
    """Open, close or freeze a round, and return its id; one that is opened is made."""
    if number < 1:
        raise EvalkitError(f"round must be at least 1, got {number}")
    if state == "open":
        row = {"task_id": task_id, "number": number, "state": state}
        made = insert(connection, ROUND).values(row)
        connection.execute(made.on_conflict_do_nothing())
    chosen = ROUND.c.task_id == task_id, ROUND.c.number == number
    found = connection.execute(select(ROUND).where(*chosen)).first()
    if found is None:
        raise EvalkitError(f"the task has no round {number}")
    if found.state == "frozen" != state:
        raise EvalkitError(f"round {number} is frozen")
    connection.execute(update(ROUND).where(*chosen).values(state=state))
    return int(found.id)


def round_to_join(connection: Connection, task_id: int, number: int) -> int | None:
    """Return the id of the open round that a dataset joins; None for 0."""
    if number == 0:
        return None
    chosen = ROUND.c.task_id == task_id, ROUND.c.number == number
    state = connection.scalar(select(ROUND.c.state).where(*chosen)) or "open"
    if state != "open":
        raise EvalkitError(f"round {number} is {state}: no dataset can join it")
    return set_round(connection, task_id, number, state)
