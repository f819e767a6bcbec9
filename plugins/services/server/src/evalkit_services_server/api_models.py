"""The API of models, their submissions, jobs and runs."""

from __future__ import annotations

import json
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request
from sqlalchemy import Select, select, update

from evalkit.runs import problem_line
from evalkit_services_server import (
    access,
    endpoints,
    listings,
    requests,
    run_pages,
    uploads,
)
from evalkit_services_server.access import NotFoundError, Principal, RequestError
from evalkit_services_server.api import (
    DATASETS,
    LARGEST_KEY,
    TASKS,
    Asking,
    Database,
    Key,
    Moment,
    Resource,
)
from evalkit_services_server.api_types import ChangedModel, NewJob, NewModel
from evalkit_services_server.database import insert, now, reading, writing
from evalkit_services_server.tables import (
    ACCOUNT,
    JOB,
    MODEL,
    MODEL_KIND,
    RUN,
    SUBMISSION,
    TASK,
)
from evalkit_services_server.withholding import is_withheld

DatasetKey = Annotated[int, Query(ge=1, le=LARGEST_KEY)]
Upload = Annotated[Request, Depends(uploads.upload)]

router = APIRouter()


def _models(_asking: Principal) -> Select[Any]:
    task, account = TASK.c.code.label("task"), ACCOUNT.c.name.label("account")
    rows = select(MODEL, MODEL_KIND, task, account)
    return rows.select_from(MODEL.join(TASK).join(ACCOUNT))


def _submissions(asking: Principal) -> Select[Any]:
    return _own(asking, select(SUBMISSION).select_from(SUBMISSION.join(MODEL)))


def _own(asking: Principal, rows: Select[Any]) -> Select[Any]:
    own = MODEL.c.account_id == asking.account_id
    return rows if asking.is_administrator else rows.where(own)


MODELS = Resource(
    *("models", MODEL, "read", _models),
    hidden=("task_id", "account_id", "endpoint"),
    added=dict.fromkeys(("task", "account", "kind"), str),
    filters={"task": TASK.c.code, "name": MODEL.c.name, "account": ACCOUNT.c.name},
)
SUBMISSIONS = Resource(
    *("submissions", SUBMISSION, "submit", _submissions),
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
for resource in (MODELS, SUBMISSIONS, JOBS, RUNS):
    resource.offer(router)


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
        raise NotFoundError(f"run {key}: not found")
    hidden = is_withheld(run["access"], asking.is_administrator)
    problems = run_pages.read_problems(run["folder"], is_withheld=hidden)
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
    values = {
        "task_id": task["id"],
        "account_id": asking.account_id,
        "name": given.name,
        "endpoint": endpoint,
        "is_trusted": False,
    }
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
        model = MODELS.find(connection, asking, key)
        requests.request_all(connection, MODEL.c.id == key)
        return model


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
    key: Key, dataset: DatasetKey, asking: Asking, engine: Database, upload: Upload
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
