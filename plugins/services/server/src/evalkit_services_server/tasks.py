"""Rows of tasks: added from an installed task, and changed while they are used."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from typing import Any

from sqlalchemy import Connection, select, update

from evalkit.catalog import BoundTask, Registry, Resolver, is_component_name
from evalkit.errors import EvalkitError
from evalkit_services_server.database import insert
from evalkit_services_server.requests import request_all
from evalkit_services_server.tables import DATASET, TASK


def add_task(connection: Connection, name: str) -> int:
    """Add the row of an installed task, and return its id; an existing one stays.

    Raises:
        PluginError: The task is unknown or broken.
    """
    task = _bind(name)
    code = task.component.name
    row = {
        "code": code,
        "component": name,
        "input_keys": ["uid", *task.sent_keys],
        "perf_metric": task.perf_metric,
        "eval_metrics": [*task.eval_metrics],
        "delta_metrics": [*task.delta_metrics],
        "weights": {},
    }
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
    """Return the id of a task's row.

    Raises:
        EvalkitError: The task has no row.
    """
    found = connection.scalar(select(TASK.c.id).where(TASK.c.code == code))
    if found is None:
        raise EvalkitError(
            f"task {code!r} is not on this server. Add it with `evalkit host task "
            f"{code}`"
        )
    return int(found)


def change_task(connection: Connection, code: str, **changes: Any) -> list[int]:
    """Change a task's row, and request evaluations by metrics that are new.

    Args:
        connection: A transaction that writes.
        code: The task.
        changes: New `perf_metric`, `eval_metrics`, `delta_metrics`, `input_keys` or
            `weights`.

    Returns:
        Ids of the requested jobs: all of the task, if it has a new metric.

    Raises:
        EvalkitError: The task has no row, or a value is refused.
    """
    row = connection.execute(select(TASK).where(TASK.c.code == code)).first()
    if row is None:
        return [task_id(connection, code)]  # raises
    values = _checked(changes, _bind(row.component))
    of_task = select(DATASET.c.name).where(DATASET.c.task_id == row.id)
    for name in set(changes.get("weights", ())).difference(connection.scalars(of_task)):
        raise EvalkitError(f"weights: {name!r} is not a dataset of the task")
    before = _metrics(row._asdict())
    after = _metrics({**row._asdict(), **values})
    if values:
        connection.execute(update(TASK).where(TASK.c.id == row.id).values(values))
    return request_all(connection, TASK.c.id == row.id) if after - before else []


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
