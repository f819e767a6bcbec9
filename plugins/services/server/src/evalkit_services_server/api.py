"""The API below `/api/v1`: what is listed and shown, and tasks, rounds and datasets.

A handler first refuses who may not do such a thing at all, and then answers for what
who asks may not see as for what is not there.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from types import GenericAlias
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path, Query, Request
from pydantic import AfterValidator, ConfigDict, create_model
from sqlalchemy import Column, Connection, Engine, Select, Table, func, select, update

from evalkit_services_server import access, tasks
from evalkit_services_server.access import (
    NotFoundError,
    Principal,
    UnauthenticatedError,
)
from evalkit_services_server.api_types import (
    ChangedDataset,
    ChangedRound,
    ChangedTask,
    OwnAccount,
)
from evalkit_services_server.boards import Board, read_board
from evalkit_services_server.database import reading, writing
from evalkit_services_server.datasets import of_one_access
from evalkit_services_server.filters import Filters
from evalkit_services_server.tables import DATASET, ROUND, SCAN, TASK

LARGEST_KEY = (1 << 31) - 1


def _engine(request: Request) -> Engine:
    engine: Engine = request.app.state.engine
    return engine


def _in_utc(moment: datetime) -> datetime:
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


Moment = Annotated[datetime, AfterValidator(_in_utc)]


Asking = Annotated[Principal, Depends(access.principal)]
Database = Annotated[Engine, Depends(_engine)]
Key = Annotated[int, Path(ge=1, le=LARGEST_KEY)]
Code = Annotated[str, Path(pattern="^[a-z0-9-]{1,64}$")]
_Key = Annotated[int, Query(ge=1, le=LARGEST_KEY)]
_Text = Annotated[str, Query(pattern="^[^\\x00]{1,200}$")]
_Limit = Annotated[int, Query(ge=1, le=1000)]

router = APIRouter()


@dataclass(frozen=True)
class Resource:
    """Rows that are listed, the newest first, and shown one by one.

    `rows` selects what somebody may see: columns of `table`, and those of `added`.
    """

    name: str
    table: Table
    scope: str
    rows: Callable[[Principal], Select[Any]]
    hidden: Collection[str] = ()
    added: Mapping[str, Any] = field(default_factory=dict)
    filters: Mapping[str, Column[Any]] = field(default_factory=dict)
    key: Any = None

    @cached_property
    def answer(self) -> Any:
        """The model of a row."""
        shown = [each for each in self.table.c if each.name not in self.hidden]
        types = {each.name: _type_of(each) for each in shown} | dict(self.added)
        fields: dict[str, Any] = {name: (kind, ...) for name, kind in types.items()}
        return create_model(self.name.title().removesuffix("s"), **fields)

    def find(self, connection: Connection, asking: Principal, key: Any) -> Any:
        """Return one row."""
        column = self.table.c.id if self.key is None else self.key
        rows = self.rows(asking).where(column == key)
        return one(connection, rows, f"{self.name.removesuffix('s')} {key}")

    def offer(self, router: APIRouter) -> None:
        """Add the routes that list the rows, and show one."""

        def list_rows(asking: Asking, engine: Database, query: Any) -> Any:
            access.require(asking, self.scope)
            key, rows = self.table.c.id, self.rows(asking)
            for name, column in self.filters.items():
                if (value := getattr(query, name)) is not None:
                    rows = rows.where(column == value)
            rows = rows.where(key < query.before).order_by(key.desc())
            with reading(engine) as connection:
                return listed(connection, rows.limit(query.limit))

        def show_row(key: Any, asking: Asking, engine: Database) -> Any:
            access.require(asking, self.scope)
            with reading(engine) as connection:
                return self.find(connection, asking, key)

        fields: dict[str, Any] = {
            name: ((_Text if column.type.python_type is str else _Key) | None, None)
            for name, column in self.filters.items()
        }
        fields |= {"before": (_Key, LARGEST_KEY), "limit": (_Limit, 100)}
        closed = ConfigDict(extra="forbid")
        query = create_model(f"{self.name}_query", __config__=closed, **fields)
        list_rows.__annotations__["query"] = Annotated[query, Query()]
        show_row.__annotations__["key"] = Key if self.key is None else Code
        path, row = f"/{self.name}", self.answer
        shared: dict[str, Any] = {"tags": [self.name]}
        rows = GenericAlias(list, row)
        router.add_api_route(path, list_rows, response_model=rows, **shared)
        router.add_api_route(f"{path}/{{key}}", show_row, response_model=row, **shared)


def _type_of(column: Column[Any]) -> Any:
    kind: Any = column.type.python_type
    if kind is datetime:
        kind = Moment
    elif kind is dict:  # JSON of any kind
        kind = Any
    return kind | None if column.nullable else kind


def listed(connection: Connection, statement: Select[Any]) -> list[dict[str, Any]]:
    """Return rows as fields of an answer."""
    return [dict(row) for row in connection.execute(statement).mappings()]


def one(connection: Connection, statement: Select[Any], what: str) -> dict[str, Any]:
    """Return the fields of one row."""
    row = connection.execute(statement).mappings().first()
    if row is None:
        raise NotFoundError(f"{what}: not found")
    return dict(row)


def visible_datasets(asking: Principal) -> Select[Any]:
    """Select the datasets that somebody may see, with task and round."""
    number = func.coalesce(ROUND.c.number, 0).label("round")
    joined = DATASET.join(TASK).outerjoin(ROUND, ROUND.c.id == DATASET.c.round_id)
    more = TASK.c.component, ROUND.c.state.label("round_state")
    rows = select(DATASET, TASK.c.code.label("task"), number, *more)
    rows = rows.select_from(joined)
    return rows if asking.is_administrator else rows.where(DATASET.c.board != "hidden")


def _rounds(_asking: Principal) -> Select[Any]:
    return select(ROUND, TASK.c.code.label("task")).join(TASK)


TASKS = Resource(
    *("tasks", TASK, "read", lambda _asking: select(TASK)),
    hidden=("component",),
    key=TASK.c.code,
)
ROUNDS = Resource(
    *("rounds", ROUND, "read", _rounds),
    hidden=("task_id",),
    added={"task": str},
    filters={"task": TASK.c.code},
)
DATASETS = Resource(
    *("datasets", DATASET, "read", visible_datasets),
    hidden=("uri", "task_id", "round_id", "fingerprint"),  # it would confirm labels
    added={"task": str, "round": int},
    filters={"task": TASK.c.code, "name": DATASET.c.name},
)
SCANS = Resource("scans", SCAN, "administer", lambda _asking: select(SCAN))
for resource in (TASKS, ROUNDS, DATASETS, SCANS):
    resource.offer(router)


@router.get("/account", tags=["account"])
def show_own_account(asking: Asking) -> OwnAccount:
    """Show the account whose token this is."""
    if asking.is_anonymous:
        raise UnauthenticatedError
    return OwnAccount(name=asking.name, scopes=sorted(asking.scopes))


def shown_board(
    code: Code, asking: Asking, engine: Database, filters: Annotated[Filters, Query()]
) -> Board:
    """Return a page of a leaderboard, for its page and the API."""
    access.require(asking, "read")
    with reading(engine) as connection:
        task = TASKS.find(connection, asking, code)
        return read_board(connection, task, filters, exact=asking.is_administrator)


@router.get("/tasks/{code}/board", tags=["tasks"])
def show_board(board: Annotated[Board, Depends(shown_board)]) -> Board:
    """Show the leaderboard of a task. The parameter `w.NAME` is a dataset's weight."""
    return board


@router.patch("/tasks/{code}", response_model=TASKS.answer, tags=["tasks"])
def change_task(
    code: Code, change: ChangedTask, asking: Asking, engine: Database
) -> Any:
    """Change metrics, weights or input keys; a new metric re-scores all models."""
    access.require(asking, "administer")
    with writing(engine) as connection:
        TASKS.find(connection, asking, code)
        tasks.change_task(connection, code, **change.model_dump(exclude_none=True))
        return TASKS.find(connection, asking, code)


@router.put("/tasks/{code}/rounds/{number}", tags=["rounds"])
def set_round(
    code: Code, number: Key, change: ChangedRound, asking: Asking, engine: Database
) -> ChangedRound:
    """Open, close or freeze a round; one that is opened first is made."""
    access.require(asking, "administer")
    with writing(engine) as connection:
        task = TASKS.find(connection, asking, code)
        tasks.set_round(connection, task["id"], number, change.state)
    return change


@router.patch("/datasets/{key}", response_model=DATASETS.answer, tags=["datasets"])
def change_dataset(
    key: Key, change: ChangedDataset, asking: Asking, engine: Database
) -> Any:
    """Change who may see a dataset, and where, or its description.

    Its versions, and what they were perturbed to, have the same access and board.
    """
    access.require(asking, "administer")
    own = change.model_dump(exclude_none=True)
    shared = {name: own.pop(name) for name in ("access", "board") if name in own}
    with writing(engine) as connection:
        DATASETS.find(connection, asking, key)
        for chosen, values in (
            (of_one_access(key), shared),
            (DATASET.c.id == key, own),
        ):
            if values:
                connection.execute(update(DATASET).where(chosen).values(values))
        return DATASETS.find(connection, asking, key)
