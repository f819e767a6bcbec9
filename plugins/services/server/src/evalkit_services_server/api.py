"""The API below `/api/v1`: tasks, datasets, models, submissions, runs and jobs.

A handler first refuses who may not do such a thing at all, and then answers for what
who asks may not see as for what is not there.
"""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path, Query, Request
from sqlalchemy import Connection, Engine, Select, Table, func, select, update

from evalkit.errors import EvalkitError
from evalkit_services_server import access, rounds, tasks
from evalkit_services_server.access import NotFoundError, Principal, UnusableError
from evalkit_services_server.api_types import (
    ChangedDataset,
    ChangedRound,
    ChangedTask,
    Dataset,
    FoundScan,
    Round,
    Task,
)
from evalkit_services_server.database import reading, writing
from evalkit_services_server.tables import DATASET, ROUND, SCAN, TASK

router = APIRouter()


def _engine(request: Request) -> Engine:
    engine: Engine = request.app.state.engine
    return engine


Asking = Annotated[Principal, Depends(access.principal)]
Database = Annotated[Engine, Depends(_engine)]
Key = Annotated[int, Path(ge=1, lt=1 << 31)]
FilterKey = Annotated[int | None, Query(ge=1, lt=1 << 31)]
Code = Annotated[str, Path(pattern="^[a-z0-9-]{1,64}$")]
FilterText = Annotated[str | None, Query(pattern="^[^\\x00]{1,200}$")]
Before = Annotated[int, Query(ge=1, lt=1 << 31, description="Older than this id.")]
Limit = Annotated[int, Query(ge=1, le=1000, description="Maximum number of items.")]
LAST = (1 << 31) - 1


def page(statement: Select[Any], table: Table, before: int, limit: int) -> Select[Any]:
    """Return the statement of one page, the newest rows first."""
    key = table.c.id
    return statement.where(key < before).order_by(key.desc()).limit(limit)


def listed(connection: Connection, statement: Select[Any]) -> list[dict[str, Any]]:
    """Return rows as fields of an answer."""
    return [dict(row) for row in connection.execute(statement).mappings()]


def one(connection: Connection, statement: Select[Any], what: str) -> dict[str, Any]:
    """Return the fields of one row.

    Raises:
        NotFoundError: There is none, or none that may be seen.
    """
    row = connection.execute(statement).mappings().first()
    if row is None:
        raise NotFoundError(f"{what}: not found")
    return dict(row)


def visible_datasets(principal: Principal) -> Select[Any]:
    """Select the datasets that somebody may see, with task and round."""
    number = func.coalesce(ROUND.c.number, 0).label("round")
    joined = DATASET.join(TASK).outerjoin(ROUND, ROUND.c.id == DATASET.c.round_id)
    statement = select(DATASET, TASK.c.code.label("task"), number).select_from(joined)
    if not principal.is_administrator:
        statement = statement.where(DATASET.c.board != "hidden")
    return statement


@router.get("/tasks", response_model=list[Task], tags=["tasks"])
def list_tasks(asking: Asking, engine: Database) -> Any:
    """List the tasks."""
    access.require(asking, "read")
    with reading(engine) as connection:
        return listed(connection, select(TASK).order_by(TASK.c.code))


@router.get("/tasks/{code}", response_model=Task, tags=["tasks"])
def show_task(code: Code, asking: Asking, engine: Database) -> Any:
    """Show a task: its metrics, weights and input keys."""
    access.require(asking, "read")
    with reading(engine) as connection:
        return _task(connection, code)


@router.patch("/tasks/{code}", response_model=Task, tags=["tasks"])
def change_task(
    code: Code, change: ChangedTask, asking: Asking, engine: Database
) -> Any:
    """Change metrics, weights or input keys; a new metric re-scores all models."""
    access.require(asking, "administer")
    values = change.model_dump()
    with writing(engine) as connection:
        _task(connection, code)
        try:
            tasks.change_task(connection, code, tasks.TaskChange(**values))
        except EvalkitError as error:
            raise UnusableError(str(error)) from error
        return _task(connection, code)


@router.get("/tasks/{code}/rounds", response_model=list[Round], tags=["tasks"])
def list_rounds(code: Code, asking: Asking, engine: Database) -> Any:
    """List the rounds of a task."""
    access.require(asking, "read")
    with reading(engine) as connection:
        of_task = ROUND.c.task_id == _task(connection, code)["id"]
        return listed(connection, select(ROUND).where(of_task).order_by(ROUND.c.number))


@router.put("/tasks/{code}/rounds/{number}", response_model=Round, tags=["tasks"])
def set_round(
    code: Code, number: Key, change: ChangedRound, asking: Asking, engine: Database
) -> Any:
    """Open, close or freeze a round; a round that is not there is opened."""
    access.require(asking, "administer")
    setters = {
        "open": rounds.open_round,
        "closed": rounds.close_round,
        "frozen": rounds.freeze_round,
    }
    with writing(engine) as connection:
        task = _task(connection, code)
        try:
            key = setters[change.state](connection, task["id"], number)
        except EvalkitError as error:
            raise access.ConflictError(str(error)) from error
        return one(connection, select(ROUND).where(ROUND.c.id == key), "round")


@router.get("/datasets", response_model=list[Dataset], tags=["datasets"])
def list_datasets(
    asking: Asking,
    engine: Database,
    task: FilterText = None,
    name: FilterText = None,
    before: Before = LAST,
    limit: Limit = 100,
) -> Any:
    """List datasets, the newest first."""
    access.require(asking, "read")
    statement = visible_datasets(asking)
    if task is not None:
        statement = statement.where(TASK.c.code == task)
    if name is not None:
        statement = statement.where(DATASET.c.name == name)
    with reading(engine) as connection:
        return listed(connection, page(statement, DATASET, before, limit))


@router.get("/datasets/{key}", response_model=Dataset, tags=["datasets"])
def show_dataset(key: Key, asking: Asking, engine: Database) -> Any:
    """Show a dataset."""
    access.require(asking, "read")
    with reading(engine) as connection:
        return _dataset(connection, asking, key)


@router.patch("/datasets/{key}", response_model=Dataset, tags=["datasets"])
def change_dataset(
    key: Key, change: ChangedDataset, asking: Asking, engine: Database
) -> Any:
    """Change who may see a dataset, or its description."""
    access.require(asking, "administer")
    values = change.model_dump(exclude_none=True)
    with writing(engine) as connection:
        if values:
            of_key = DATASET.c.id == key
            connection.execute(update(DATASET).where(of_key).values(values))
        return _dataset(connection, asking, key)


@router.get("/scans", response_model=list[FoundScan], tags=["host"])
def list_scans(
    asking: Asking, engine: Database, before: Before = LAST, limit: Limit = 100
) -> Any:
    """List what scans of the datasets found, the latest first."""
    access.require(asking, "administer")
    with reading(engine) as connection:
        return listed(connection, page(select(SCAN), SCAN, before, limit))


def _task(connection: Connection, code: str) -> dict[str, Any]:
    return one(connection, select(TASK).where(TASK.c.code == code), f"task {code}")


def _dataset(connection: Connection, asking: Principal, key: int) -> dict[str, Any]:
    statement = visible_datasets(asking).where(DATASET.c.id == key)
    return one(connection, statement, f"dataset {key}")
