"""The API below `/api/v1`.

A handler first refuses who may not do such a thing at all, and then answers for what
who asks may not see as for what is not there.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from types import GenericAlias
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request
from pydantic import AfterValidator, ConfigDict, Field, create_model
from sqlalchemy import Column, Connection, Engine, Select, Table, select, update

from evalkit.runs import problem_line
from evalkit_services_server import (
    access,
    endpoints,
    listings,
    requests,
    tasks,
    uploads,
)
from evalkit_services_server.access import Principal, RequestError
from evalkit_services_server.api_types import (
    LARGEST_KEY,
    ChangedDataset,
    ChangedModel,
    ChangedRound,
    ChangedTask,
    Code,
    Key,
    NewJob,
    NewModel,
    OwnAccount,
)
from evalkit_services_server.boards import Board, read_board
from evalkit_services_server.database import insert, now, reading, writing
from evalkit_services_server.datasets import of_one_access
from evalkit_services_server.filters import Filters
from evalkit_services_server.listings import listed, one
from evalkit_services_server.run_pages import read_problems
from evalkit_services_server.tables import (
    ACCOUNT,
    DATASET,
    JOB,
    MODEL,
    ROUND,
    RUN,
    SCAN,
    SUBMISSION,
    TASK,
)
from evalkit_services_server.withholding import is_withheld


def _engine(request: Request) -> Engine:
    engine: Engine = request.app.state.engine
    return engine


def _in_utc(moment: datetime) -> datetime:
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


Moment = Annotated[datetime, AfterValidator(_in_utc)]
Asking = Annotated[Principal, Depends(access.principal)]
Database = Annotated[Engine, Depends(_engine)]
Upload = Annotated[Request, Depends(uploads.upload)]
_Text = Annotated[str, Field(pattern="^[^\\x00]{1,200}$")]
_Limit = Annotated[int, Field(ge=1, le=1000)]

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
            name: ((_Text if column.type.python_type is str else Key) | None, None)
            for name, column in self.filters.items()
        }
        fields |= {"before": (Key, LARGEST_KEY), "limit": (_Limit, 100)}
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
    *("datasets", DATASET, "read", listings.visible_datasets),
    hidden=("uri", "task_id", "round_id", "fingerprint"),  # it would confirm labels
    added={"task": str, "round": int},
    filters={"task": TASK.c.code, "name": DATASET.c.name},
)
SCANS = Resource("scans", SCAN, "administer", lambda _asking: select(SCAN))
MODELS = Resource(
    *("models", MODEL, "read", listings.models),
    hidden=("task_id", "account_id", "endpoint"),
    added=dict.fromkeys(("task", "account", "kind"), str),
    filters={"task": TASK.c.code, "name": MODEL.c.name, "account": ACCOUNT.c.name},
)
SUBMISSIONS = Resource(
    *("submissions", SUBMISSION, "submit", listings.visible_submissions),
    hidden=("uri",),
    filters={"model": SUBMISSION.c.model_id, "dataset": SUBMISSION.c.dataset_id},
)
JOBS = Resource(
    *("jobs", JOB, "submit", listings.visible_jobs),
    hidden=("key", "worker", "leased_until"),
    added={"run_id": int | None},
    filters={"model": JOB.c.model_id, "submission": JOB.c.submission_id},
)
RUNS = Resource(
    *("runs", RUN, "read", listings.visible_runs),
    hidden=("folder", "comparison_key"),
    added={
        **dict.fromkeys(("task", "model", "dataset", "version", "state"), str),
        **{"model_id": int, "dataset_id": int, "ended": Moment},
    },
    filters={"model": JOB.c.model_id, "dataset": JOB.c.dataset_id},
)
for resource in (TASKS, ROUNDS, DATASETS, SCANS, MODELS, SUBMISSIONS, JOBS, RUNS):
    resource.offer(router)


@router.get("/account", tags=["account"])
def show_own_account(asking: Asking) -> OwnAccount:
    """Show the account whose token this is."""
    if asking.is_anonymous:
        raise RequestError(access.LOG_IN, 401)
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
    """Change access and board of a dataset, its versions and perturbed examples."""
    access.require(asking, "administer")
    with writing(engine) as connection:
        DATASETS.find(connection, asking, key)
        if values := change.model_dump(exclude_none=True):
            chosen = of_one_access(key)
            connection.execute(update(DATASET).where(chosen).values(values))
        return DATASETS.find(connection, asking, key)


@router.get("/runs/{key}/scores", response_model=dict[str, Any], tags=["runs"])
def show_scores(key: Key, asking: Asking, engine: Database) -> Any:
    """Show the scores of a run: `perf`, `perf_by_tag`, and each with its interval."""
    access.require(asking, "read")
    with reading(engine) as connection:
        run = RUNS.find(connection, asking, key)
        scores = listings.run_scores(connection, run, asking)
    perf = {s.tag: s.value for s in scores if s.metric == run["perf_metric"]}
    return {"perf": perf.pop("", None), "perf_by_tag": perf, "scores": scores}


@router.get("/runs/{key}/problems", response_model=list[Any], tags=["runs"])
def show_problems(key: Key, asking: Asking, engine: Database) -> Any:
    """Show the first problems of a run of one's own, with their lines."""
    access.require(asking, "submit")
    with reading(engine) as connection:
        run = RUNS.find(connection, asking, key)
    if not asking.owns(run["account_id"]):
        raise RequestError(f"run {key}: not found", 404)
    hidden = is_withheld(run["access"], asking.is_administrator)
    problems = read_problems(run["folder"], is_withheld=hidden)
    return [json.loads(problem_line(problem)) for problem in problems]


@router.post("/models", response_model=MODELS.answer, status_code=201, tags=["models"])
def add_model(
    given: NewModel, asking: Asking, engine: Database, request: Request
) -> Any:
    """Add a model; one with an endpoint is first asked the task's example."""
    access.require(asking, "submit")
    settings = request.app.state.settings
    with reading(engine) as connection:
        task = TASKS.find(connection, asking, given.task)
    endpoint = None
    if given.endpoint is not None:
        may_use_any = asking.is_administrator
        endpoint = endpoints.register(given.endpoint, task, settings, may_use_any)
    values = dict(task_id=task["id"], account_id=asking.account_id)
    values |= dict(name=given.name, endpoint=endpoint, is_trusted=False)
    with writing(engine) as connection:
        values["added"] = now(connection)
        made = insert(connection, MODEL).values(values).on_conflict_do_nothing()
        key = connection.scalar(made.returning(MODEL.c.id))
        if key is None:
            raise RequestError(f"{given.task} has a model {given.name} already", 409)
        requests.request_all(connection, MODEL.c.id == key)
        return MODELS.find(connection, asking, key)


@router.patch("/models/{key}", response_model=MODELS.answer, tags=["models"])
def change_model(
    key: Key, change: ChangedModel, asking: Asking, engine: Database
) -> Any:
    """Trust a model with private inputs, or no longer."""
    access.require(asking, "administer")
    with writing(engine) as connection:
        of_key = MODEL.c.id == key
        connection.execute(update(MODEL).where(of_key).values(change.model_dump()))
        requests.request_all(connection, of_key)
        return MODELS.find(connection, asking, key)


_OCTETS = {"schema": {"type": "string", "format": "binary"}}


@router.post(
    "/models/{key}/submissions",
    response_model=SUBMISSIONS.answer,
    status_code=201,
    tags=["submissions"],
    max_body_size=uploads.LARGEST_FORM,
    openapi_extra={
        "requestBody": {
            "required": True,
            "content": {"application/octet-stream": _OCTETS},
        }
    },
)
async def add_submission(
    key: Key, dataset: Key, asking: Asking, engine: Database, upload: Upload
) -> Any:
    """Upload predictions: JSON lines, plain or compressed by gzip or Zstandard.

    Lines are checked while they arrive. If some break rules, the answer names them.
    `jobs?submission=ID` shows how far the evaluation is.
    """
    settings, body = upload.app.state.settings, uploads.Body(upload)

    def submit() -> Any:
        made = uploads.submit(engine, settings, asking, key, dataset, body)
        with reading(engine) as connection:
            return SUBMISSIONS.find(connection, asking, made)

    return await uploads.in_thread(submit)


@router.post("/jobs", response_model=JOBS.answer, status_code=201, tags=["jobs"])
def add_job(given: NewJob, asking: Asking, engine: Database) -> Any:
    """Evaluate a model on a dataset again."""
    access.require(asking, "administer")
    with writing(engine) as connection:
        model = MODELS.find(connection, asking, given.model_id)
        dataset = DATASETS.find(connection, asking, given.dataset_id)
        if model["task"] != dataset["task"]:
            raise RequestError("model and dataset are of two tasks", 409)
        key = requests.request(connection, given.model_id, given.dataset_id, again=True)
        if key is None:
            raise RequestError("it is being evaluated, or waits for predictions", 409)
        return JOBS.find(connection, asking, key)
