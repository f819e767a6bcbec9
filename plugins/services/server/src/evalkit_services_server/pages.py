"""The pages: made on the server, and complete without JavaScript."""

from __future__ import annotations

import hashlib
import logging
import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import urlencode

from fastapi import APIRouter, Depends, Form, Query, Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse
from sqlalchemy import delete, or_
from starlette.datastructures import UploadFile

from evalkit.errors import EvalkitError
from evalkit.runs import Problem
from evalkit_services_server import access, accounts, api, listings, uploads
from evalkit_services_server.access import Principal, RequestError
from evalkit_services_server.api import (
    DATASETS,
    JOBS,
    MODELS,
    RUNS,
    SUBMISSIONS,
    TASKS,
    Asking,
    Database,
    Upload,
    shown_board,
)
from evalkit_services_server.api_types import Code, Key, Name, NewModel
from evalkit_services_server.boards import Board, metrics_of, read_board, write_csv
from evalkit_services_server.database import reading, writing
from evalkit_services_server.filters import Filters
from evalkit_services_server.listings import listed
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

Shown = Annotated[Filters, Query()]
Text = Annotated[str, Form()]


router = APIRouter(include_in_schema=False)


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


def explain_error(
    request: Request,
    error: Exception,
    status: int,
    why: str,
    headers: Mapping[str, str],
) -> Response:
    """Return a page that explains an error; who is not logged in is asked to."""
    path = request.url.path
    if status == 401:
        return RedirectResponse(f"/login?{urlencode({'next': path})}", 303)
    asking = getattr(request.state, "asking", Principal())
    back = path if request.url.query else ""
    back = path.rpartition("/")[0] if request.method == "POST" else back
    fields = {"problems": getattr(error, "problems", ()), "why": why, "status": status}
    page = _render(request, asking, "error.html", back=back or "/", **fields)
    return HTMLResponse(page.body, status, headers)


@router.get("/static/{name}")
def get_asset(name: str) -> Response:
    """Return a style or a script; they are the same for all."""
    if name not in _ASSETS:
        raise RequestError(f"{name}: not found", 404)
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
        metrics = metrics_of(task)
        datasets = listings.model_scores(connection, model, metrics, asking)
    scored = {metric for dataset in datasets for metric in dataset["scores"]}
    fields = {"model": model, "datasets": datasets}
    fields["metrics"] = [metric for metric in metrics if metric in scored]
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
    dataset: Key | None = None,
    first: Key | None = None,
    second: Key | None = None,
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
def add_model(
    request: Request,
    asking: Asking,
    engine: Database,
    task: Annotated[Code, Form()],
    name: Annotated[Name, Form()],
) -> Response:
    """Add a model whose predictions are uploaded."""
    new = NewModel(task=task, name=name)
    model = api.add_model(new, asking, engine, request)
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
            raise RequestError("choose a dataset and a file")
        given = engine, settings, asking, key, int(dataset), file.file
        made = await uploads.in_thread(uploads.submit, *given)
    return RedirectResponse(f"/submissions/{made}", 303)


@router.get("/login")
def show_login(request: Request, asking: Asking, next: str = "") -> Response:
    """Show the form of name and password."""
    return _render(request, asking, "login.html", next=_local(next), why="")


@router.post("/login")
def log_in(
    request: Request, engine: Database, name: Text, password: Text, next: Text = ""
) -> Response:
    """Begin a session."""
    access.count_login(request, name)
    with reading(engine) as connection:
        account = accounts.check_password(connection, name, password)
    if account is None:
        fields = {"next": _local(next), "why": "Unknown name or wrong password."}
        page = _render(request, Principal(), "login.html", **fields)
        return HTMLResponse(page.body, 401)
    with writing(engine) as connection:
        token = accounts.open_session(connection, account)
    response = RedirectResponse(_local(next) or "/", 303)
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
