"""The pages: made on the server, and complete without JavaScript."""

from __future__ import annotations

import hashlib
import logging
import re
from collections.abc import Callable, Coroutine
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import urlencode

from fastapi import APIRouter, Depends, Query, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, RedirectResponse
from fastapi.routing import APIRoute
from pydantic import ValidationError
from sqlalchemy import delete, or_
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import UploadFile

from evalkit.errors import EvalkitError
from evalkit.runs import Problem
from evalkit_services_server import access, accounts, api_models, listings, uploads
from evalkit_services_server.access import (
    NotFoundError,
    Principal,
    UnauthenticatedError,
    UnusableError,
)
from evalkit_services_server.api import (
    DATASETS,
    LARGEST_KEY,
    TASKS,
    Asking,
    Code,
    Database,
    Key,
    listed,
    shown_board,
)
from evalkit_services_server.api_models import JOBS, MODELS, RUNS, SUBMISSIONS, Upload
from evalkit_services_server.api_types import NewModel
from evalkit_services_server.boards import Board, read_board, write_csv
from evalkit_services_server.database import reading, writing
from evalkit_services_server.filters import Filters
from evalkit_services_server.requests import waiting_for_predictions
from evalkit_services_server.run_pages import make_report, read_problems, read_samples
from evalkit_services_server.tables import DATASET, JOB, MODEL, TASK, TOKEN
from evalkit_services_server.withholding import is_withheld, shows_inputs

if TYPE_CHECKING:
    from jinja2 import Environment

LOG = logging.getLogger(__name__)

_KEY = re.compile("[0-9]{1,9}")

_EXPORTED = 100_000
"""Models of an export."""

_SHOWN_JOBS = 100

_ASSETS = {
    "style.css": "text/css",
    "htmx.min.js": "text/javascript",
    "report.js": "text/javascript",
}

Handler = Callable[[Request], Coroutine[Any, Any, Response]]
Shown = Annotated[Filters, Query()]
ChosenKey = Annotated[int | None, Query(ge=1, le=LARGEST_KEY)]


class _Page(APIRoute):
    """A route whose errors are pages, too."""

    def get_route_handler(self) -> Handler:
        handle = super().get_route_handler()

        async def handle_or_explain(request: Request) -> Response:
            try:
                return await handle(request)
            except UnauthenticatedError:
                back = urlencode({"next": request.url.path})
                return RedirectResponse(f"/login?{back}", 303)
            except RequestValidationError as error:
                first = error.errors()[0]
                names = [name for name in first["loc"][1:] if isinstance(name, str)]
                why = ": ".join([*names, first["msg"].removeprefix("Value error, ")])
                return _explain(request, UnusableError(why))
            except (EvalkitError, *access.FAULTS) as error:
                return _explain(request, error)

        return handle_or_explain


router = APIRouter(route_class=_Page, include_in_schema=False)


@cache
def templates() -> Environment:
    """Return the templates; every text is escaped."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    from evalkit_services_server import showing

    environment = Environment(
        loader=PackageLoader(__package__),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals |= {"show": showing, "asset": _address}
    environment.filters["pair"] = lambda value: (value, value)
    environment.filters["row_pair"] = lambda row, name: (row["id"], row[name])
    return environment


def _render(
    request: Request, asking: Principal, name: str, **fields: Any
) -> HTMLResponse:
    about = {"asking": asking, "path": request.url.path, **fields}
    return HTMLResponse(templates().get_template(name).render(about))


def _explain(request: Request, error: Exception) -> Response:
    (status, why), path = access.explain(error), request.url.path
    asking = getattr(request.state, "asking", Principal())
    back = path.rpartition("/")[0] if request.method == "POST" else ""
    back = path if request.url.query else back
    fields = {"status": status, "why": why, "back": back or "/"}
    fields["problems"] = getattr(error, "problems", ())
    page = _render(request, asking, "error.html", **fields)
    return HTMLResponse(page.body, status)


@router.get("/static/{name}")
def get_asset(name: str) -> Response:
    """Return a style or a script; they are the same for all."""
    if name not in _ASSETS:
        raise NotFoundError(f"{name}: not found")
    headers = {"cache-control": "public, max-age=86400"}
    return Response(_asset(name), media_type=_ASSETS[name], headers=headers)


@cache
def _asset(name: str) -> str:
    from evalkit_commands_site.frame import assets

    own = files(__package__).joinpath("static")
    if name == "report.js":
        return assets()[name]
    if name == "style.css":
        return assets()["site.css"] + own.joinpath("server.css").read_text("utf-8")
    return own.joinpath(name).read_text("utf-8")


@cache
def _address(name: str) -> str:
    """Return the address of a style or script, which changes with its content."""
    digest = hashlib.sha256(_asset(name).encode()).hexdigest()
    return f"/static/{name}?v={digest[:12]}"


@router.get("/")
def show_tasks(request: Request, asking: Asking, engine: Database) -> Response:
    """Show the tasks."""
    with reading(engine) as connection:
        tasks = listings.list_tasks(connection)
    return _render(request, asking, "tasks.html", tasks=tasks)


@router.get("/tasks/{code}")
def show_board(
    request: Request,
    asking: Asking,
    filters: Shown,
    board: Annotated[Board, Depends(shown_board)],
) -> Response:
    """Show the leaderboard of a task."""
    return _render(request, asking, "board.html", board=board, filters=filters)


@router.get("/tasks/{code}/board.csv")
def export_board(
    code: Code, asking: Asking, engine: Database, filters: Shown
) -> Response:
    """Return all models of a leaderboard as CSV."""
    exact = asking.is_administrator
    with reading(engine) as connection:
        task = TASKS.find(connection, asking, code)
        board = read_board(connection, task, filters, exact=exact, rows=_EXPORTED)
    headers = {"content-disposition": f'attachment; filename="{code}.csv"'}
    return Response(write_csv(board), media_type="text/csv", headers=headers)


@router.get("/models/{key}")
def show_model(
    request: Request, key: Key, asking: Asking, engine: Database
) -> Response:
    """Show a model on all datasets of its task."""
    with reading(engine) as connection:
        model = MODELS.find(connection, asking, key)
        task = TASKS.find(connection, asking, model["task"])
        metrics = [task["perf_metric"], *task["eval_metrics"], *task["delta_metrics"]]
        datasets = listings.model_scores(connection, model, metrics, asking)
    takes = asking.owns(model["account_id"]) and model["kind"] == "uploaded"
    fields = {
        "model": model,
        "datasets": datasets,
        "metrics": [
            metric
            for metric in dict.fromkeys(metrics)
            if any(metric in dataset["scores"] for dataset in datasets)
        ],
        "uploadable": [
            dataset
            for dataset in datasets
            if takes
            and dataset["round_state"] in (None, "open")
            and dataset["access"] != "inputs-private"
        ],
    }
    return _render(request, asking, "model.html", **fields)


@router.get("/datasets/{key}")
def show_dataset(
    request: Request, key: Key, asking: Asking, engine: Database
) -> Response:
    """Show a dataset, with samples where its access allows."""
    with reading(engine) as connection:
        dataset = DATASETS.find(connection, asking, key)
        task = TASKS.find(connection, asking, dataset["task"])
        is_related = or_(
            DATASET.c.name == dataset["name"],
            DATASET.c.parent_id == key,
            DATASET.c.id == dataset["parent_id"],
        )
        related = listed(connection, DATASETS.rows(asking).where(is_related))
    exact = asking.is_administrator
    samples, why = list[dict[str, str]](), "The inputs of this dataset are private."
    if shows_inputs(dataset["access"], exact):
        hidden = is_withheld(dataset["access"], exact)
        why = "The labels of this dataset are private." if hidden else ""
        try:
            samples = read_samples(dataset, task["input_keys"], is_withheld=hidden)
        except EvalkitError as error:
            LOG.warning("%s", error)
            why = "The store has no samples at present."
    fields = {"dataset": dataset, "related": related, "samples": samples, "why": why}
    return _render(request, asking, "dataset.html", **fields)


@router.get("/runs/{key}")
def show_run(request: Request, key: Key, asking: Asking, engine: Database) -> Response:
    """Show a run with its problems."""
    with reading(engine) as connection:
        run = RUNS.find(connection, asking, key)
        scores = listings.run_scores(connection, run, asking)
    report, problems = "", list[Problem]()
    if not is_withheld(run["access"], asking.is_administrator):
        report = make_report(run["folder"])
    elif asking.owns(run["account_id"]):
        problems = read_problems(run["folder"], is_withheld=True)
    fields = {"run": run, "scores": scores, "report": report, "problems": problems}
    return _render(request, asking, "run.html", **fields)


@router.get("/compare")
def show_comparison(
    request: Request,
    asking: Asking,
    engine: Database,
    dataset: ChosenKey = None,
    first: ChosenKey = None,
    second: ChosenKey = None,
) -> Response:
    """Compare two runs, or let the reader choose them."""
    exact, report, why = asking.is_administrator, "", ""
    with reading(engine) as connection:
        runs = [RUNS.find(connection, asking, x) for x in (first, second) if x]
        chosen = dataset or (runs[0]["dataset_id"] if runs else None)
        choices = listings.comparable_runs(connection, chosen, asking)
    if any(is_withheld(run["access"], exact) for run in runs):
        why = "Runs on private datasets are not compared, as it would reveal labels."
    elif len(runs) > 1:
        report = make_report(*(run["folder"] for run in runs))
    fields = {"first": first, "second": second, "dataset": chosen, "runs": runs}
    fields |= {"report": report, "why": why, **choices}
    return _render(request, asking, "compare.html", **fields)


@router.get("/jobs")
def show_jobs(request: Request, asking: Asking, engine: Database) -> Response:
    """Show the newest jobs of one's own models."""
    access.require(asking, "submit")
    newest = JOBS.rows(asking).order_by(JOB.c.id.desc()).limit(_SHOWN_JOBS)
    with reading(engine) as connection:
        jobs = listed(connection, newest)
    return _render(request, asking, "jobs.html", jobs=jobs)


@router.get("/submissions/{key}")
def show_submission(
    request: Request, key: Key, asking: Asking, engine: Database
) -> Response:
    """Show how far the evaluation of a submission is."""
    access.require(asking, "submit")
    with reading(engine) as connection:
        submission = SUBMISSIONS.find(connection, asking, key)
        of_key = JOBS.rows(asking).where(JOB.c.submission_id == key)
        jobs = listed(connection, of_key.order_by(JOB.c.id.desc()))
    is_running = any(job["ended"] is None for job in jobs)
    fields = {"submission": submission, "jobs": jobs, "is_running": is_running}
    return _render(request, asking, "submission.html", **fields)


@router.get("/account")
def show_account(request: Request, asking: Asking, engine: Database) -> Response:
    """Show one's own models, and what they wait for."""
    access.require(asking, "submit")
    own = MODELS.rows(asking).where(MODEL.c.account_id == asking.account_id)
    with reading(engine) as connection:
        models = listed(connection, own.order_by(TASK.c.code, MODEL.c.name))
        waiting = waiting_for_predictions(connection, asking.account_id)
        tasks = listings.list_tasks(connection)
    fields = {"models": models, "waiting": waiting, "tasks": tasks}
    return _render(request, asking, "account.html", **fields)


@router.post("/account/models")
async def add_model(request: Request, asking: Asking, engine: Database) -> Response:
    """Add a model whose predictions are uploaded."""
    form = await request.form()
    given = {name: str(form.get(name, "")) for name in ("task", "name")}
    try:
        new = NewModel.model_validate(given)
    except ValidationError:
        rule = "expected 1 to 64 letters, digits, dots, dashes and underscores"
        raise UnusableError(f"name: {rule}, got {given['name']!r}") from None
    model = await run_in_threadpool(api_models.add_model, new, asking, engine, request)
    return RedirectResponse(f"/models/{model['id']}", 303)


@router.post("/models/{key}/submissions", max_body_size=uploads.LARGEST_FORM)
async def submit(
    upload: Upload, key: Key, asking: Asking, engine: Database
) -> Response:
    """Receive a form with a file of predictions."""
    settings = upload.app.state.settings
    async with upload.form(max_files=1, max_fields=4) as form:
        file, dataset = form.get("file"), str(form.get("dataset", ""))
        if not isinstance(file, UploadFile) or not _KEY.fullmatch(dataset):
            raise UnusableError("choose a dataset and a file")
        content = file.file
        made = await uploads.submit(
            engine, settings, asking, key, int(dataset), content
        )
    return RedirectResponse(f"/submissions/{made}", 303)


@router.get("/login")
def show_login(request: Request, asking: Asking) -> Response:
    """Show the form of name and password."""
    back = _local(request.query_params.get("next", ""))
    return _render(request, asking, "login.html", next=back, why="")


@router.post("/login")
async def log_in(request: Request, engine: Database) -> Response:
    """Begin a session."""
    form = await request.form(max_files=0, max_fields=4)
    name, password = (str(form.get(field, "")) for field in ("name", "password"))
    back = _local(str(form.get("next", "")))
    access.count_login(request, name)

    def open_session() -> str | None:
        with reading(engine) as connection:
            account = accounts.check_password(connection, name, password)
        if account is None:
            return None
        with writing(engine) as connection:
            return accounts.open_session(connection, account)

    token = await run_in_threadpool(open_session)
    if token is None:
        why = "Unknown name or wrong password."
        page = _render(request, Principal(), "login.html", next=back, why=why)
        return HTMLResponse(page.body, 401)
    response = RedirectResponse(back or "/", 303)
    access.set_session(response, token, request.app.state.settings)
    return response


@router.post("/logout")
def log_out(asking: Asking, engine: Database) -> Response:
    """End the session."""
    if asking.token_id is not None and asking.csrf is not None:
        with writing(engine) as connection:
            connection.execute(delete(TOKEN).where(TOKEN.c.id == asking.token_id))
    response = RedirectResponse("/", 303)
    response.delete_cookie(access.COOKIE)
    return response


def _local(path: str) -> str:
    """Return a path of this server; "" for an address of another."""
    is_local = path.startswith("/") and not path.startswith(("//", "/\\"))
    return path if is_local and path.isprintable() else ""
