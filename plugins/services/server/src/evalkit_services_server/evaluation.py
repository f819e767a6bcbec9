"""Evaluates one job: its predictions or its model, its run, and its rows.

A delta says whether a model answers perturbed examples as it answers the originals. It
is named after the prefix of the perturbed dataset, such as `fairness`. It waits for the
model's evaluation on the original dataset, and says why if that has no run.
"""

from __future__ import annotations

import errno
import hashlib
import logging
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, Engine, delete, select
from sqlalchemy.exc import InterfaceError, OperationalError, SQLAlchemyError

from evalkit.errors import AlignmentError, CancelledError, EvalkitError, StorageError
from evalkit.places import join, local
from evalkit_models_base import Asked
from evalkit_services_server import jobs
from evalkit_services_server.database import insert, reading, writing
from evalkit_services_server.datasets import stored_dataset
from evalkit_services_server.endpoints import ask
from evalkit_services_server.jobs import Claim, Heartbeat
from evalkit_services_server.requests import request_perturbed
from evalkit_services_server.settings import Settings
from evalkit_services_server.tables import (
    BOARD,
    DATASET,
    JOB,
    METRIC,
    MODEL,
    RUN,
    SCORE,
    SUBMISSION,
    TASK,
)
from evalkit_services_server.tasks import asked_task

if TYPE_CHECKING:
    from evalkit import Dataset, Score
    from evalkit.runs import Result

LOG = logging.getLogger(__name__)

Fields = Mapping[Any, Any]
"""A row."""

SCALE: dict[str, Any] = {"unit": "%", "scale": 100.0, "higher_is_better": True}
"""How deltas are read."""

OUTAGES = StorageError, ConnectionError, TimeoutError, OperationalError, InterfaceError
FULL = errno.ENOSPC, errno.EDQUOT
"""Errors after which a job is tried again, as the host may mend what fails."""

FIRST_DELAY, LONGEST_DELAY = 10.0, 600.0
"""Seconds before a job is tried again; twice as many after each attempt."""


class UnavailableError(EvalkitError):
    """A model that cannot be asked at present."""


def evaluate_job(
    claim: Claim, settings: Settings, engine: Engine, stopping: Event
) -> str:
    """Evaluate a job, record what came of it, and return its state.

    It is `waiting` if the job is tried again, or if another attempt holds it.
    """
    with Heartbeat(engine, claim, settings.lease, stopping) as heartbeat:
        try:
            return _evaluate(claim, settings, engine, heartbeat)
        except (Exception, SystemExit) as error:
            failure = error
    if not isinstance(failure, SQLAlchemyError):  # else it may be recorded: see sweep
        remove_attempt(settings, claim.name)
    with writing(engine) as connection:
        return _give_up(connection, claim, failure)


def _give_up(connection: Connection, claim: Claim, error: BaseException) -> str:
    """Let a job wait after an outage, or fail after an error."""
    delay = min(FIRST_DELAY * 2.0 ** min(claim.attempt - 1, 20), LONGEST_DELAY)
    if isinstance(error, CancelledError):
        jobs.put_back(connection, claim, None)
        return "waiting"
    is_known = isinstance(error, EvalkitError | OSError | SQLAlchemyError)
    LOG.warning("job %s: %s", claim.name, error, exc_info=None if is_known else error)
    if isinstance(error, UnavailableError):
        jobs.count_failure(connection, claim.is_held, str(error), delay)
    elif isinstance(error, OUTAGES) or getattr(error, "errno", None) in FULL:
        jobs.put_back(connection, claim, f"tried again: {error}", delay)
    else:
        reason = str(error) if is_known else f"a fault of the server: {error!r}"
        return "failed" if jobs.end(connection, claim, "failed", reason) else "waiting"
    return "waiting"


def _evaluate(
    claim: Claim, settings: Settings, engine: Engine, heartbeat: Heartbeat
) -> str:
    from evalkit import evaluate

    with reading(engine) as connection:
        subject = _read_subject(connection, claim)
        of_original = last_job(connection, claim.model_id, subject["parent_id"])
    deltas = list[dict[str, Any]]()
    reason: str | None
    known = subject["original"] or subject["name"]
    dataset = stored_dataset(settings, known, subject["uri"], subject["name"])
    with _predictions(settings, subject, dataset, heartbeat) as predictions:
        try:
            result = evaluate(
                dataset,
                predictions,
                model=subject["model"],
                metrics=claim.metrics,
                out=join(settings.store, "runs", claim.name),
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
            if subject["original"] is not None:
                deltas = delta_rows(
                    subject["perturbation"],
                    stored_dataset(settings, known, subject["original_uri"]),
                    of_original,
                    perturbed=subject["uri"],
                    predictions=predictions,
                    metrics=claim.metrics,
                )
    with writing(engine) as connection:
        if not jobs.end(connection, claim, state, reason):
            raise CancelledError("another attempt holds the job")
        record(connection, claim, subject["task_id"], result, deltas)
        request_perturbed(connection, claim.model_id, claim.dataset_id)
    return state


def _read_subject(connection: Connection, claim: Claim) -> Fields:
    """Return what a job is about; `original` is what its dataset was perturbed from."""
    original = DATASET.alias()
    names = original.c.name.label("original"), original.c.uri.label("original_uri")
    joined = JOB.join(MODEL).join(TASK, TASK.c.id == MODEL.c.task_id)
    joined = joined.join(DATASET, DATASET.c.id == JOB.c.dataset_id)
    joined = joined.outerjoin(original, original.c.id == DATASET.c.parent_id)
    joined = joined.outerjoin(SUBMISSION, SUBMISSION.c.id == JOB.c.submission_id)
    query = select(
        *(MODEL.c.name.label("model"), MODEL.c.endpoint, MODEL.c.task_id),
        *(DATASET.c.name, DATASET.c.uri, DATASET.c.perturbation, *names),
        *(DATASET.c.parent_id, DATASET.c.access, SUBMISSION.c.uri.label("predictions")),
        *(TASK.c.code, TASK.c.component, TASK.c.input_keys, MODEL.c.is_trusted),
    )
    query = query.select_from(joined).where(JOB.c.id == claim.job_id)
    return connection.execute(query).mappings().one()


@contextmanager
def _predictions(
    settings: Settings, subject: Fields, dataset: Dataset, heartbeat: Heartbeat
) -> Iterator[str | Path]:
    """Yield the predictions that were uploaded, or those that the model gives."""
    if subject["predictions"] is not None:
        yield local(subject["predictions"])
        return
    if subject["access"] == "inputs-private" and not subject["is_trusted"]:
        raise EvalkitError("private inputs: only models that the host trusts are asked")
    with TemporaryDirectory(prefix="evalkit-answers-") as folder:
        asked = copy(dataset)
        vars(asked)["task"] = asked_task(subject)
        # the scores are of what the model says now
        options = dict(asked=Asked(is_cached=False), progress=heartbeat.report)
        try:
            answers = ask(subject["endpoint"], settings, asked, **options)
        except (CancelledError, StorageError):
            raise
        except EvalkitError as error:
            raise UnavailableError(str(error)) from error
        yield answers.save(Path(folder, "answers.jsonl"))


def last_job(connection: Connection, model: int, dataset: int) -> Fields | None:
    """Return the latest job of a model on a dataset, with the folder of its run."""
    query = (
        select(JOB.c.state, JOB.c.reason, RUN.c.folder)
        .outerjoin(RUN, RUN.c.job_id == JOB.c.id)
        .where(JOB.c.model_id == model, JOB.c.dataset_id == dataset)
        .order_by(JOB.c.id.desc())
    )
    return connection.execute(query.limit(1)).mappings().first()


def score_row(score: Score, metric: str | None = None) -> dict[str, Any]:
    """Return the row of a score; `metric` is the name that it has in the table."""
    names = "n", "value", "ci_low", "ci_high", "reason"
    found = {name: getattr(score, name) for name in names}
    return {**found, "metric": metric or score.metric, "tag": score.tag or ""}


def delta_rows(
    prefix: str,
    original: Dataset,
    job: Fields | None,
    *,
    perturbed: str | Path,
    predictions: str | Path,
    metrics: Sequence[str],
) -> list[dict[str, Any]]:
    """Return the delta of a model on a perturbed dataset, as rows of scores.

    Of the metrics, the first with scores of single examples counts. `job` is the latest
    of the model on the original dataset.
    """
    from evalkit import read_run
    from evalkit_analysis_robustness import evaluate_perturbed, find_effects

    if job is None or job["state"] != "done":
        was = f"was {job['state']}: {job['reason']}" if job else "is missing"
        return [_empty(prefix, f"the evaluation on {original.name} {was}")]
    result = evaluate_perturbed(
        original,
        job["folder"],
        perturbed=[perturbed],
        perturbed_predictions=[predictions],
        model=read_run(job["folder"]).model,
        metrics=metrics,
    )
    found = [
        score
        for score in find_effects(result).scores
        if score.perturbation == f"family:{prefix}"
        and score.computed_on == "agreement"
        and score.aggregate is None
    ]
    first = next((score.metric for score in found if score.value is not None), None)
    if first is None:
        reason = f"no perturbation of the family {prefix} has an agreement"
        return [_empty(prefix, reason)]
    return [score_row(score, prefix) for score in found if score.metric == first]


def _empty(prefix: str, reason: str) -> dict[str, Any]:
    numbers = dict.fromkeys(("value", "ci_low", "ci_high"))
    return {"metric": prefix, "tag": "", "n": 0, **numbers, "reason": reason}


def record(
    connection: Connection,
    claim: Claim,
    task_id: int,
    result: Result,
    deltas: Sequence[dict[str, Any]],
) -> None:
    """Record a run, its scores, and that it is the current one of its metrics."""
    from evalkit.runs import comparison_key

    compared = hashlib.sha256(comparison_key(result.record).encode()).hexdigest()
    run = dict(job_id=claim.job_id, folder=str(result.path), comparison_key=compared)
    run |= dict(counts=dict(result.counts))
    made = insert(connection, RUN).values(run).returning(RUN.c.id)
    run_id: int = connection.execute(made).scalar_one()
    scores = (x for x in result.scores if not x.aggregate and not x.perturbation)
    rows = [*map(score_row, scores), *deltas]
    if rows:
        connection.execute(SCORE.insert(), [{"run_id": run_id, **row} for row in rows])
        describe_metrics(connection, result, deltas)
        metrics = {*result.metrics, *(row["metric"] for row in deltas)}
        known = {*result.record.metric_names, *metrics}
        renew_board(connection, claim, task_id, run_id, metrics, known)


def describe_metrics(
    connection: Connection, result: Result, deltas: Sequence[dict[str, Any]]
) -> None:
    """Record how the scores of each metric are read."""
    metrics = {row["metric"]: SCALE for row in deltas}
    for score in result.scores:
        if score.is_whole:
            metrics[score.metric] = {name: getattr(score, name) for name in SCALE}
    row = insert(connection, METRIC)
    row = row.on_conflict_do_update(
        index_elements=["name"], set_={name: row.excluded[name] for name in SCALE}
    )
    # in one order, so that two workers never wait for each other
    connection.execute(row, [{"name": k, **metrics[k]} for k in sorted(metrics)])


def renew_board(
    connection: Connection,
    claim: Claim,
    task_id: int,
    run_id: int,
    metrics: set[str],
    known: set[str],
) -> None:
    """Let a run be the current one of its metrics, unless a later request has one.

    Of `known` metrics that now have no score, a former run is not the current one.
    """
    from evalkit.catalog import metric_of

    lock = select(MODEL.c.id).where(MODEL.c.id == claim.model_id).with_for_update()
    connection.execute(lock)
    earlier = select(RUN.c.id).where(RUN.c.job_id < claim.job_id)
    pair = dict(model_id=claim.model_id, dataset_id=claim.dataset_id)
    of_pair = [BOARD.c[name] == key for name, key in pair.items()]
    former = select(BOARD.c.metric).where(*of_pair, BOARD.c.run_id.in_(earlier))
    over = [name for name in connection.scalars(former) if metric_of(name, known)]
    connection.execute(delete(BOARD).where(*of_pair, BOARD.c.metric.in_(over)))
    about = dict(task_id=task_id, run_id=run_id, **pair)
    rows = [{"metric": name, **about} for name in sorted(metrics)]
    if rows:
        connection.execute(insert(connection, BOARD).on_conflict_do_nothing(), rows)


def remove_attempt(settings: Settings, attempt: str) -> None:
    """Remove what an attempt wrote, where the store is a folder."""
    if "://" not in settings.store:
        shutil.rmtree(Path(settings.store, "runs", attempt), ignore_errors=True)


def sweep(engine: Engine, settings: Settings) -> list[str]:
    """Remove runs of attempts that lost their jobs, and return their names."""
    folder = Path(settings.store, "runs")
    written = {path.name for path in folder.iterdir()} if folder.is_dir() else set()
    is_recorded = JOB.c.id.in_(select(RUN.c.job_id))
    is_kept = is_recorded | (JOB.c.state == "running")
    with reading(engine) as connection:
        rows = connection.execute(select(JOB.c.id, JOB.c.attempt).where(is_kept)).all()
    orphans = sorted(written - {f"{job_id}-{attempt}" for job_id, attempt in rows})
    for name in orphans:
        LOG.warning("runs/%s: orphan of an attempt that lost its job", name)
        remove_attempt(settings, name)
    return orphans
