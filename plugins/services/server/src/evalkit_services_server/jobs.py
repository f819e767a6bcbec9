"""The queue: requests of evaluations, and the workers that hold them.

An attempt holds a job until its lease ends by the database's clock. Each sign of life
extends the lease; a job whose lease ended is claimed by the next attempt, and all that
the former attempt still writes is refused.
"""

from __future__ import annotations

import hashlib
import json
import logging
from datetime import datetime, timedelta
from functools import lru_cache
from typing import NamedTuple

from sqlalchemy import (
    ColumnElement,
    Connection,
    Engine,
    RowMapping,
    Table,
    and_,
    bindparam,
    func,
    or_,
    select,
    update,
)

from evalkit_services_server.database import insert, now, writing
from evalkit_services_server.tables import DATASET, JOB, MODEL, SUBMISSION, TASK

LOG = logging.getLogger(__name__)

WITHHELD = "withheld, as it may quote the private dataset; the host's log has it"

MOST_LOSSES = 5
"""Attempts that may end without a word before the job fails."""


class Claim(NamedTuple):
    """The attempt of a worker at a job."""

    job_id: int
    attempt: int
    model_id: int
    dataset_id: int
    submission_id: int | None
    metrics: tuple[str, ...]

    @property
    def name(self) -> str:
        """The folder of the attempt, below the runs in the store."""
        return f"{self.job_id}-{self.attempt}"


def request(
    connection: Connection,
    model_id: int,
    dataset_id: int,
    submission_id: int | None = None,
    again: bool = False,
) -> int | None:
    """Request the evaluation of a model on a dataset.

    Args:
        connection: A transaction that writes.
        model_id: The model.
        dataset_id: The dataset.
        submission_id: Its predictions. Default for an uploaded model: the latest.
        again: Whether to evaluate even if the same was evaluated before.

    Returns:
        The new job. None if the same was requested before, or if an uploaded model has
        no predictions for the dataset.

    Raises:
        PluginError: The task or a metric is unknown or broken.
    """
    pair = _pair(connection, model_id, dataset_id)
    if pair["kind"] == "uploaded":
        latest = _latest(connection, SUBMISSION, model_id, dataset_id)
        submission_id = submission_id or latest
        if submission_id is None:
            return None
    metrics = [*dict.fromkeys((pair["perf_metric"], *pair["eval_metrics"]))]
    of_original = _latest(connection, JOB, model_id, pair["parent_id"])
    parts = [
        *(model_id, dataset_id, submission_id, pair["endpoint"]),
        *(pair["version"], pair["fingerprint"]),
        *(pair["component"], pair["prompt"], metrics),
        of_original,
        *_digests(pair["component"], *metrics),
    ]
    if again:
        former = _latest(connection, JOB, model_id, dataset_id)
        under_way = select(JOB.c.id).where(JOB.c.id == former, JOB.c.ended.is_(None))
        if connection.scalar(under_way) is not None:
            return None
        parts.append(former)
    row = {
        "key": hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest(),
        **dict(model_id=model_id, dataset_id=dataset_id, submission_id=submission_id),
        **dict(metrics=metrics, state="waiting", requested=now(connection)),
    }
    if pair["parent_id"] is not None and of_original is None:
        row["reason"] = "it needs predictions for the original dataset first"
    made = insert(connection, JOB).values(row).on_conflict_do_nothing()
    job_id: int | None = connection.scalar(made.returning(JOB.c.id))
    return job_id


def _pair(connection: Connection, model_id: int, dataset_id: int) -> RowMapping:
    columns = [
        *(MODEL.c.kind, MODEL.c.endpoint),
        *(DATASET.c.name, DATASET.c.version, DATASET.c.fingerprint),
        DATASET.c.parent_id,
        *(TASK.c.component, TASK.c.prompt, TASK.c.perf_metric, TASK.c.eval_metrics),
    ]
    pairs = MODEL.join(DATASET, MODEL.c.task_id == DATASET.c.task_id)
    pairs = pairs.join(TASK, MODEL.c.task_id == TASK.c.id)
    chosen = MODEL.c.id == model_id, DATASET.c.id == dataset_id
    query = select(*columns).select_from(pairs).where(*chosen)
    return connection.execute(query).mappings().one()


def _latest(
    connection: Connection, table: Table, model_id: int, dataset_id: int | None
) -> int | None:
    """Return the latest job or submission of a model on a dataset."""
    of_pair = table.c.model_id == model_id, table.c.dataset_id == dataset_id
    found: int | None = connection.scalar(select(func.max(table.c.id)).where(*of_pair))
    return found


@lru_cache(maxsize=256)
def _digests(task: str, *metrics: str) -> tuple[object, ...]:
    """Return the digests of the code that computes the scores, as it was imported."""
    from evalkit import Registry
    from evalkit.catalog import Resolver, describe_component

    resolver = Resolver(Registry())
    bound = [resolver.bind("tasks", task), *map(resolver.metric, metrics)]
    return tuple(describe_component(each)["source_sha256"] for each in bound)


def claim(engine: Engine, worker: str, lease: float) -> Claim | None:
    """Take the oldest job that waits, or whose worker gave no sign of life.

    Args:
        engine: The database.
        worker: Name of the worker.
        lease: Seconds for which the job is held.
    """
    is_over = or_(JOB.c.leased_until.is_(None), JOB.c.leased_until <= bindparam("now"))
    with writing(engine) as connection:
        moment = now(connection)
        times = {"now": moment}
        _lose(connection, and_(JOB.c.state == "running", is_over), times)
        is_due = JOB.c.state == "waiting", is_over, ~_waits_for_original()
        query = select(JOB).where(*is_due)
        query = query.order_by(JOB.c.id).limit(1).with_for_update(skip_locked=True)
        job = connection.execute(query, times).mappings().first()
        if job is None:
            return None
        changes = {
            **dict(state="running", attempt=job["attempt"] + 1, worker=worker),
            **dict(started=moment, leased_until=moment + timedelta(seconds=lease)),
            "reason": None,
        }
        connection.execute(update(JOB).where(JOB.c.id == job["id"]).values(changes))
    return _claim(job, changes["attempt"])


def _waits_for_original() -> ColumnElement[bool]:
    """Tell whether a job is of perturbed examples, and the original's has not ended."""
    original = JOB.alias("original")
    of_original = (
        select(original.c.id)
        .where(original.c.model_id == JOB.c.model_id)
        .where(original.c.dataset_id == DATASET.c.parent_id)
        .where(DATASET.c.id == JOB.c.dataset_id)
        .correlate(JOB)
    )
    is_perturbed = select(DATASET.c.id).where(
        DATASET.c.id == JOB.c.dataset_id, DATASET.c.parent_id.is_not(None)
    )
    has_ended = of_original.where(original.c.ended.is_not(None)).exists()
    is_pending = of_original.where(original.c.ended.is_(None)).exists()
    return and_(is_perturbed.correlate(JOB).exists(), or_(~has_ended, is_pending))


def held_by(connection: Connection, worker: str) -> Claim | None:
    """Return the attempt that a worker has under way."""
    held = JOB.c.worker == worker, JOB.c.state == "running"
    job = connection.execute(select(JOB).where(*held)).mappings().first()
    return None if job is None else _claim(job, job["attempt"])


def _claim(job: RowMapping, attempt: int) -> Claim:
    names = "model_id", "dataset_id", "submission_id"
    held = {name: job[name] for name in names}
    return Claim(job["id"], attempt, metrics=(*job["metrics"],), **held)


def beat(
    engine: Engine, claim: Claim, lease: float, text: str, share: float | None
) -> bool:
    """Extend the lease, tell how far the evaluation is, and whether it is still held.

    Args:
        engine: The database.
        claim: The attempt.
        lease: Seconds from now for which the job is held.
        text: What is being done.
        share: Share of it that is done, 0 to 1.
    """
    with writing(engine) as connection:
        until = now(connection) + timedelta(seconds=lease)
        changes = dict(leased_until=until, progress=text, share=share)
        return _change(connection, claim, **changes)


def end(connection: Connection, claim: Claim, state: str, reason: str | None) -> bool:
    """End a job in the transaction that records what came of it.

    Args:
        connection: The transaction; the caller rolls back if the job is not held.
        claim: The attempt.
        state: `done`, `refused` or `failed`.
        reason: Why it was refused or failed.

    Returns:
        Whether the attempt held the job.
    """
    changes = dict(state=state, ended=now(connection), leased_until=None)
    changes["reason"] = _shown(connection, claim, reason)
    return _change(connection, claim, progress=None, share=None, **changes)


def put_back(
    connection: Connection, claim: Claim, reason: str | None, delay: float
) -> None:
    """Let a job wait some seconds for another attempt."""
    until = now(connection) + timedelta(seconds=delay)
    changes = dict(state="waiting", leased_until=until)
    changes["reason"] = _shown(connection, claim, reason)
    _change(connection, claim, progress=None, share=None, **changes)


def _shown(connection: Connection, claim: Claim, reason: str | None) -> str | None:
    """Return a reason as owners of models see it, who may not see private examples."""
    query = select(DATASET.c.access).where(DATASET.c.id == claim.dataset_id)
    if reason is None or connection.scalar(query) == "open":
        return reason
    LOG.warning("job %s: %s", claim.name, reason)
    return WITHHELD


def lose(connection: Connection, claim: Claim) -> None:
    """Let a job wait whose worker is gone; after too many losses it fails."""
    _lose(connection, _is_held(claim), {"now": now(connection)})


def _lose(
    connection: Connection, chosen: ColumnElement[bool], times: dict[str, datetime]
) -> None:
    changes = dict(losses=JOB.c.losses + 1, progress=None, share=None)
    waiting = dict(state="waiting", leased_until=None, **changes)
    failed = {**waiting, "state": "failed", "ended": bindparam("now")}
    failed["reason"] = (
        f"the evaluation ended its worker {MOST_LOSSES} times without a word"
    )
    is_last = JOB.c.losses + 1 >= MOST_LOSSES
    connection.execute(update(JOB).where(chosen, is_last).values(failed), times)
    connection.execute(update(JOB).where(chosen).values(waiting), times)


def _change(connection: Connection, claim: Claim, **changes: object) -> bool:
    changed = connection.execute(update(JOB).where(_is_held(claim)).values(changes))
    return changed.rowcount == 1


def _is_held(claim: Claim) -> ColumnElement[bool]:
    is_attempt = and_(JOB.c.id == claim.job_id, JOB.c.attempt == claim.attempt)
    return and_(is_attempt, JOB.c.state == "running")
