"""Evaluates one job: its predictions or its model, its run, and its rows."""

from __future__ import annotations

import errno
import hashlib
import json
import logging
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import copy
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event
from typing import TYPE_CHECKING, Any, NamedTuple

from sqlalchemy import Connection, Engine, RowMapping, delete, select
from sqlalchemy.exc import InterfaceError, OperationalError

from evalkit.errors import (
    AlignmentError,
    CancelledError,
    EvalkitError,
    StorageError,
)
from evalkit_models_base import Asked, Predicted, predict
from evalkit_services_server import jobs
from evalkit_services_server.database import insert, reading, writing
from evalkit_services_server.datasets import stored_dataset
from evalkit_services_server.deltas import delta_rows, last_job, record_delta
from evalkit_services_server.endpoints import guarded
from evalkit_services_server.heartbeats import Heartbeat
from evalkit_services_server.jobs import Claim
from evalkit_services_server.requests import request_perturbed
from evalkit_services_server.settings import Settings
from evalkit_services_server.tables import (
    BOARD,
    DATASET,
    METRIC,
    MODEL,
    RUN,
    SCORE,
    SUBMISSION,
    TASK,
)
from evalkit_services_server.tasks import asked_task

if TYPE_CHECKING:
    from evalkit import Dataset
    from evalkit.runs import Result

LOG = logging.getLogger(__name__)

Report = Callable[[str, float | None], None]
"""Takes what is being done, and the share of it that is done."""

OUTAGES = (
    *(StorageError, ConnectionError, TimeoutError),
    *(OperationalError, InterfaceError),
)
"""What is tried again until it works."""

FULL = errno.ENOSPC, errno.EDQUOT
"""Of other errors of the system, those that are tried again."""

FIRST_DELAY, LONGEST_DELAY = 10.0, 600.0
"""Seconds before a job is tried again; twice as many after each attempt."""


class Subject(NamedTuple):
    """The rows that a job is about."""

    model: RowMapping
    dataset: RowMapping
    task: RowMapping
    submission: RowMapping | None
    original: RowMapping | None
    """The dataset that this one was perturbed from."""
    original_job: RowMapping | None


class UnavailableError(EvalkitError):
    """A model that cannot be asked at present."""


class LostError(Exception):
    """Another attempt holds the job."""


def evaluate_job(
    claim: Claim, settings: Settings, engine: Engine, stopping: Event
) -> str:
    """Evaluate a job, and record what came of it.

    Returns:
        The state of the job: `done`, `refused`, `failed`, or `waiting` if it is tried
        again or another attempt holds it.
    """
    with Heartbeat(engine, claim, settings.lease, stopping) as heartbeat:
        try:
            return _evaluate(claim, settings, engine, heartbeat)
        except (CancelledError, LostError):
            remove_attempt(settings, claim.name)
            return _put_back(engine, claim, None, 0.0)
        except (*OUTAGES, OSError) as error:
            LOG.warning("job %s: %s", claim.name, error)
            remove_attempt(settings, claim.name)
            reason = str(error)
            if isinstance(error, OUTAGES) or error.errno in FULL:
                retried = f"tried again: {reason}"
                return _put_back(engine, claim, retried, delay_of(claim))
        except UnavailableError as error:
            reason, delay = f"attempt {claim.attempt}: {error}", delay_of(claim)
            with writing(engine) as connection:
                jobs.count_failure(connection, claim.is_held, reason, delay)
            return "waiting"
        except EvalkitError as error:
            reason = str(error)
        except (Exception, SystemExit) as error:
            LOG.exception("job %s", claim.name)
            reason = f"a fault of the server: {error!r}"
    with writing(engine) as connection:
        is_held = jobs.end(connection, claim, "failed", reason)
    return "failed" if is_held else "waiting"


def delay_of(claim: Claim) -> float:
    """Return the seconds to wait after an attempt."""
    return min(FIRST_DELAY * 2.0 ** min(claim.attempt - 1, 20), LONGEST_DELAY)


def _put_back(engine: Engine, claim: Claim, reason: str | None, delay: float) -> str:
    with writing(engine) as connection:
        jobs.put_back(connection, claim, reason, delay)
    return "waiting"


def _evaluate(
    claim: Claim, settings: Settings, engine: Engine, heartbeat: Heartbeat
) -> str:
    from evalkit import evaluate

    with reading(engine) as connection:
        subject = _subject(connection, claim)
    deltas = list[dict[str, Any]]()
    reason: str | None
    dataset = source_of(settings, subject)
    with _predictions(settings, subject, dataset, heartbeat) as predictions:
        try:
            result = evaluate(
                dataset,
                predictions,
                model=subject.model["name"],
                metrics=claim.metrics,
                out=runs_folder(settings, claim.name),
                progress=heartbeat.report,
            )
        except AlignmentError as error:
            if error.result is None:
                raise
            # ids are on the page of the run; options are those of `evalkit eval`
            reason = re.sub(r" \(--[^)]*\)", "", str(error).partition("\n")[0])
            state, result = "refused", error.result
        else:
            state = "done" if result.metrics else "failed"
            reason = "; ".join(result.errors) or None
            deltas = deltas_of(settings, claim, subject, predictions)
    with writing(engine) as connection:
        if not jobs.end(connection, claim, state, reason):
            raise LostError
        run_id = record(connection, claim, subject, result)
        record_delta(connection, run_id, deltas)
        request_perturbed(connection, claim.model_id, claim.dataset_id)
    return state


def _subject(connection: Connection, claim: Claim) -> Subject:
    def row(table: Any, key: int) -> RowMapping:
        query = select(table).where(table.c.id == key)
        return connection.execute(query).mappings().one()

    model = row(MODEL, claim.model_id)
    dataset, chosen = row(DATASET, claim.dataset_id), claim.submission_id
    parent = dataset["parent_id"]
    return Subject(
        model,
        dataset,
        row(TASK, model["task_id"]),
        None if chosen is None else row(SUBMISSION, chosen),
        None if parent is None else row(DATASET, parent),
        None if parent is None else last_job(connection, model["id"], parent),
    )


def source_of(settings: Settings, subject: Subject) -> Dataset:
    """Return the dataset, which reads the examples that are in the store."""
    dataset, registered = subject.dataset, subject.original or subject.dataset
    return stored_dataset(settings, registered["name"], dataset["uri"], dataset["name"])


def deltas_of(
    settings: Settings, claim: Claim, subject: Subject, predictions: str | Path
) -> list[dict[str, Any]]:
    """Return the delta of a perturbed dataset as rows of scores; none of another."""
    original, dataset = subject.original, subject.dataset
    if original is None:
        return []
    return delta_rows(
        dataset["perturbation"],
        stored_dataset(settings, original["name"], original["uri"], original["name"]),
        subject.original_job,
        perturbed=dataset["uri"],
        predictions=predictions,
        metrics=claim.metrics,
    )


@contextmanager
def _predictions(
    settings: Settings, subject: Subject, dataset: Dataset, heartbeat: Heartbeat
) -> Iterator[str | Path]:
    """Yield the predictions that were uploaded, or those that the model gives."""
    from evalkit.places import local

    if subject.submission is not None:
        yield local(subject.submission["uri"])
        return
    with TemporaryDirectory(prefix="evalkit-answers-") as folder:
        answers = ask(settings, subject, dataset, heartbeat.report)
        yield answers.save(Path(folder, "answers.jsonl"))


def ask(
    settings: Settings, subject: Subject, dataset: Dataset, progress: Report
) -> Predicted:
    """Ask a model about the examples of a dataset, with the task's prompt.

    Replies are never taken from the cache: the scores are of what the model says now.

    Raises:
        UnavailableError: The model cannot be asked.
    """
    endpoint = subject.model["endpoint"]
    reference = f"{endpoint['model']}:{json.dumps(endpoint['parameters'])}"
    asked = copy(dataset)
    vars(asked)["task"] = asked_task(dict(subject.task))
    with guarded(endpoint, settings):
        try:
            return predict(
                asked,
                model=reference,
                asked=Asked(is_cached=False),
                progress=progress,
            )
        except (CancelledError, StorageError):
            raise
        except EvalkitError as error:
            raise UnavailableError(str(error)) from error


def record(
    connection: Connection, claim: Claim, subject: Subject, result: Result
) -> int:
    """Record a run, its scores, and that it is the current one of its metrics."""
    from evalkit.runs import comparison_key

    compared = comparison_key(result.record)
    run = {
        "job_id": claim.job_id,
        "folder": str(result.path),
        "comparison_key": hashlib.sha256(compared.encode()).hexdigest(),
        "counts": dict(result.counts),
    }
    made = insert(connection, RUN).values(run).returning(RUN.c.id)
    run_id: int = connection.execute(made).scalar_one()
    rows = [{"run_id": run_id, **row} for row in score_rows(result)]
    if rows:
        connection.execute(insert(connection, SCORE), rows)
        describe_metrics(connection, result)
        renew_board(connection, claim, subject.task["id"], run_id, result)
    return run_id


def describe_metrics(connection: Connection, result: Result) -> None:
    """Record how the scores of each metric are read."""
    # in one order, so that two workers never wait for each other
    for score in sorted(result.scores, key=lambda score: score.metric):
        if score.is_whole:
            names = "unit", "scale", "higher_is_better"
            read = {name: getattr(score, name) for name in names}
            row = insert(connection, METRIC).values(name=score.metric, **read)
            connection.execute(
                row.on_conflict_do_update(index_elements=["name"], set_=read)
            )


def score_rows(result: Result) -> Iterator[dict[str, Any]]:
    """Yield the scores of all examples and of each tag as rows."""
    for score in result.scores:
        if score.aggregate is None and score.perturbation is None:
            names = "metric", "n", "value", "ci_low", "ci_high", "reason"
            found = {name: getattr(score, name) for name in names}
            yield {**found, "tag": score.tag or ""}


def renew_board(
    connection: Connection, claim: Claim, task_id: int, run_id: int, result: Result
) -> None:
    """Let a run be the current one of its metrics, unless a later request has one."""
    from evalkit.catalog import metric_of

    lock = select(MODEL.c.id).where(MODEL.c.id == claim.model_id).with_for_update()
    connection.execute(lock)
    of_pair = (
        *(BOARD.c.task_id == task_id, BOARD.c.model_id == claim.model_id),
        BOARD.c.dataset_id == claim.dataset_id,
    )
    query = select(BOARD.c.metric, RUN.c.job_id).where(*of_pair)
    query = query.join_from(BOARD, RUN, BOARD.c.run_id == RUN.c.id)
    known = result.record.metric_names
    metrics = {*result.metrics}
    for metric, job_id in connection.execute(query).all():
        if metric_of(metric, known) is None:
            continue
        if job_id > claim.job_id:
            metrics.discard(metric)
        else:
            connection.execute(delete(BOARD).where(*of_pair, BOARD.c.metric == metric))
    pair = dict(model_id=claim.model_id, dataset_id=claim.dataset_id, run_id=run_id)
    rows = [{"task_id": task_id, "metric": name, **pair} for name in sorted(metrics)]
    if rows:
        connection.execute(insert(connection, BOARD), rows)


def runs_folder(settings: Settings, attempt: str) -> str:
    """Return the folder of an attempt's run."""
    from evalkit.places import join

    return join(settings.store, "runs", attempt)


def remove_attempt(settings: Settings, attempt: str) -> None:
    """Remove what an attempt wrote, where the store is a folder."""
    if "://" not in settings.store:
        shutil.rmtree(Path(settings.store, "runs", attempt), ignore_errors=True)
