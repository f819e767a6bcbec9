"""The API of models, their submissions, jobs and runs."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from sqlalchemy import Select, select, update
from sqlalchemy.exc import IntegrityError

from evalkit_services_server import access, endpoints, jobs, requests, uploads
from evalkit_services_server.access import ConflictError, NotFoundError, Principal
from evalkit_services_server.api import (
    LAST,
    Asking,
    Before,
    Database,
    FilterKey,
    FilterText,
    Key,
    Limit,
    listed,
    one,
    page,
    visible_datasets,
)
from evalkit_services_server.api_types import (
    ChangedModel,
    Job,
    Model,
    NewJob,
    NewModel,
    NewSubmission,
    Submission,
)
from evalkit_services_server.database import now, reading, writing
from evalkit_services_server.limits import spend
from evalkit_services_server.tables import ACCOUNT, JOB, MODEL, RUN, SUBMISSION, TASK

router = APIRouter()

DatasetKey = Annotated[int, Query(ge=1, lt=1 << 31)]


@router.get("/models", response_model=list[Model], tags=["models"])
def list_models(
    asking: Asking,
    engine: Database,
    task: FilterText = None,
    name: FilterText = None,
    before: Before = LAST,
    limit: Limit = 100,
) -> Any:
    """List models, the newest first."""
    access.require(asking, "read")
    statement = _models()
    if task is not None:
        statement = statement.where(TASK.c.code == task)
    if name is not None:
        statement = statement.where(MODEL.c.name == name)
    with reading(engine) as connection:
        return listed(connection, page(statement, MODEL, before, limit))


@router.post("/models", response_model=Model, status_code=201, tags=["models"])
def add_model(
    given: NewModel, asking: Asking, engine: Database, request: Request
) -> Any:
    """Add a model; one with an endpoint is first asked the task's example."""
    access.require(asking, "submit")
    settings = request.app.state.settings
    with reading(engine) as connection:
        what = f"task {given.task}"
        task = one(connection, select(TASK).where(TASK.c.code == given.task), what)
    endpoint = None
    if given.endpoint is not None:
        is_allowed = asking.is_administrator
        endpoint = endpoints.register(given.endpoint, task, settings, is_allowed)
    values = {
        "task_id": task["id"],
        "account_id": asking.account_id,
        "name": given.name,
        "kind": "uploaded" if endpoint is None else "asked",
        "endpoint": endpoint,
        "is_trusted": False,
    }
    with writing(engine) as connection:
        assert asking.account_id is not None
        spend(connection, asking.account_id, "models", settings.submissions_a_day)
        values["added"] = now(connection)
        made = MODEL.insert().values(values).returning(MODEL.c.id)
        try:
            key = connection.execute(made).scalar_one()
        except IntegrityError:
            raise ConflictError(
                f"model {given.name} of {given.task} exists already"
            ) from None
        requests.request_for_model(connection, key)
        return one(connection, _models().where(MODEL.c.id == key), "model")


@router.get("/models/{key}", response_model=Model, tags=["models"])
def show_model(key: Key, asking: Asking, engine: Database) -> Any:
    """Show a model."""
    access.require(asking, "read")
    with reading(engine) as connection:
        return one(connection, _models().where(MODEL.c.id == key), f"model {key}")


@router.patch("/models/{key}", response_model=Model, tags=["models"])
def change_model(
    key: Key, change: ChangedModel, asking: Asking, engine: Database
) -> Any:
    """Trust a model with private inputs, or no longer."""
    access.require(asking, "administer")
    with writing(engine) as connection:
        of_key = MODEL.c.id == key
        connection.execute(update(MODEL).where(of_key).values(change.model_dump()))
        model = one(connection, _models().where(of_key), f"model {key}")
        requests.request_for_model(connection, key)
        return model


@router.post(
    "/models/{key}/submissions",
    response_model=NewSubmission,
    status_code=201,
    tags=["submissions"],
    openapi_extra={
        "requestBody": {
            "required": True,
            "content": {
                "application/octet-stream": {
                    "schema": {"type": "string", "format": "binary"}
                }
            },
        }
    },
)
async def add_submission(
    key: Key, dataset: DatasetKey, asking: Asking, engine: Database, request: Request
) -> Any:
    """Upload predictions: JSON lines, plain or compressed by gzip or Zstandard.

    Lines are checked while they arrive. If some break rules, the answer names them.
    """
    access.require(asking, "submit")
    settings = request.app.state.settings
    made = await uploads.submit(
        engine, settings, asking, key, dataset, request.stream()
    )
    with reading(engine) as connection:
        statement = select(SUBMISSION).where(SUBMISSION.c.id == made.submission_id)
        return {**one(connection, statement, "submission"), "job_id": made.job_id}


@router.get("/submissions", response_model=list[Submission], tags=["submissions"])
def list_submissions(
    asking: Asking,
    engine: Database,
    model: FilterKey = None,
    before: Before = LAST,
    limit: Limit = 100,
) -> Any:
    """List one's own submissions, the latest first."""
    access.require(asking, "submit")
    statement = _own(asking, _submissions())
    if model is not None:
        statement = statement.where(SUBMISSION.c.model_id == model)
    with reading(engine) as connection:
        return listed(connection, page(statement, SUBMISSION, before, limit))


@router.get("/submissions/{key}", response_model=Submission, tags=["submissions"])
def show_submission(key: Key, asking: Asking, engine: Database) -> Any:
    """Show a submission of one's own."""
    access.require(asking, "submit")
    statement = _own(asking, _submissions())
    with reading(engine) as connection:
        found = statement.where(SUBMISSION.c.id == key)
        return one(connection, found, f"submission {key}")


@router.get("/jobs", response_model=list[Job], tags=["jobs"])
def list_jobs(
    asking: Asking,
    engine: Database,
    model: FilterKey = None,
    submission: FilterKey = None,
    before: Before = LAST,
    limit: Limit = 100,
) -> Any:
    """List the jobs of one's own models, the latest first."""
    access.require(asking, "submit")
    statement = _jobs(asking)
    if model is not None:
        statement = statement.where(JOB.c.model_id == model)
    if submission is not None:
        statement = statement.where(JOB.c.submission_id == submission)
    with reading(engine) as connection:
        return listed(connection, page(statement, JOB, before, limit))


@router.get("/jobs/{key}", response_model=Job, tags=["jobs"])
def show_job(key: Key, asking: Asking, engine: Database) -> Any:
    """Show a job of one's own models."""
    access.require(asking, "submit")
    with reading(engine) as connection:
        return one(connection, _jobs(asking).where(JOB.c.id == key), f"job {key}")


@router.post("/jobs", response_model=Job, status_code=201, tags=["jobs"])
def add_job(given: NewJob, asking: Asking, engine: Database) -> Any:
    """Evaluate a model on a dataset again."""
    access.require(asking, "administer")
    with writing(engine) as connection:
        model = one(
            connection,
            _models().where(MODEL.c.id == given.model_id),
            f"model {given.model_id}",
        )
        statement = visible_datasets(asking).where(TASK.c.code == model["task"])
        listing = listed(connection, statement)
        if given.dataset_id not in {dataset["id"] for dataset in listing}:
            raise NotFoundError(
                f"dataset {given.dataset_id} of {model['task']}: not found"
            )
        key = jobs.request(connection, given.model_id, given.dataset_id, again=True)
        if key is None:
            raise ConflictError("it is being evaluated, or waits for predictions")
        return one(connection, _jobs(asking).where(JOB.c.id == key), "job")


def _models() -> Select[Any]:
    task, account = TASK.c.code.label("task"), ACCOUNT.c.name.label("account")
    return select(MODEL, task, account).select_from(MODEL.join(TASK).join(ACCOUNT))


def _submissions() -> Select[Any]:
    return select(SUBMISSION).join(MODEL, MODEL.c.id == SUBMISSION.c.model_id)


def _jobs(asking: Principal) -> Select[Any]:
    joined = JOB.join(MODEL, MODEL.c.id == JOB.c.model_id)
    joined = joined.outerjoin(RUN, RUN.c.job_id == JOB.c.id)
    return _own(asking, select(JOB, RUN.c.id.label("run_id")).select_from(joined))


def _own(asking: Principal, statement: Select[Any]) -> Select[Any]:
    if asking.is_administrator:
        return statement
    return statement.where(MODEL.c.account_id == asking.account_id)
