"""The queue: jobs, and the workers that hold them.

An attempt holds a job until its lease ends by the database's clock. Each sign of life
extends the lease; a job whose lease ended is claimed by the next attempt, and all that
the former attempt still writes is refused.
"""

from __future__ import annotations

import logging
from datetime import timedelta
from threading import Event, Thread
from typing import NamedTuple, Self

from sqlalchemy import ColumnElement, Connection, Engine, RowMapping, select, update
from sqlalchemy.exc import SQLAlchemyError

from evalkit.errors import CancelledError
from evalkit_services_server.database import now, writing
from evalkit_services_server.tables import DATASET, JOB
from evalkit_services_server.withholding import without_paths

LOG = logging.getLogger(__name__)

BEATS = 4
"""Signs of life in a lease."""

MOST_FAILURES = 5
"""Attempts that may lose their worker, or find the model away, before the job fails."""


class Claim(NamedTuple):
    """The attempt of a worker at a job."""

    job_id: int
    attempt: int
    model_id: int
    dataset_id: int
    metrics: tuple[str, ...]

    @property
    def name(self) -> str:
        """The folder of the attempt, below the runs in the store."""
        return f"{self.job_id}-{self.attempt}"

    @property
    def is_held(self) -> ColumnElement[bool]:
        """The condition that no other attempt has the job."""
        is_attempt = (JOB.c.id == self.job_id) & (JOB.c.attempt == self.attempt)
        return is_attempt & (JOB.c.state == "running")


def claim(engine: Engine, worker: str, lease: float) -> Claim | None:
    """Take the oldest job that waits, or whose worker gave no sign of life.

    The worker holds it for `lease` seconds.
    """
    with writing(engine) as connection:
        moment = now(connection)
        is_over = JOB.c.leased_until.is_(None) | (JOB.c.leased_until <= moment)
        lose(connection, (JOB.c.state == "running") & is_over)
        query = select(JOB).where(JOB.c.state == "waiting", is_over, ~_lacks_original())
        query = query.order_by(JOB.c.id).limit(1).with_for_update(skip_locked=True)
        job = connection.execute(query).mappings().first()
        if job is None:
            return None
        held = _claim(job, job["attempt"] + 1)
        changes = {
            **dict(state="running", attempt=held.attempt, worker=worker, reason=None),
            **dict(started=moment, leased_until=moment + timedelta(seconds=lease)),
        }
        connection.execute(update(JOB).where(JOB.c.id == held.job_id).values(changes))
    return held


def _lacks_original() -> ColumnElement[bool]:
    """Tell whether a job is of perturbed examples, and the original's has not ended."""
    original = JOB.alias("original")
    of_original = (
        original.c.model_id == JOB.c.model_id,
        original.c.dataset_id == DATASET.c.parent_id,
    )
    ended = select(original.c.ended).where(*of_original).order_by(original.c.id.desc())
    ended_last = ended.limit(1).correlate(JOB, DATASET).scalar_subquery()
    perturbed = select(DATASET.c.id).where(
        DATASET.c.id == JOB.c.dataset_id, DATASET.c.parent_id.is_not(None)
    )
    return perturbed.where(ended_last.is_(None)).correlate(JOB).exists()


def held_by(connection: Connection, worker: str) -> Claim | None:
    """Return the attempt that a worker has under way."""
    held = JOB.c.worker == worker, JOB.c.state == "running"
    job = connection.execute(select(JOB).where(*held)).mappings().first()
    return None if job is None else _claim(job, job["attempt"])


def _claim(job: RowMapping, attempt: int) -> Claim:
    about = job["model_id"], job["dataset_id"], (*job["metrics"],)
    return Claim(job["id"], attempt, *about)


def beat(
    engine: Engine, claim: Claim, lease: float, text: str, share: float | None
) -> bool:
    """Extend a lease, say what is being done, and tell whether the job is held."""
    with writing(engine) as connection:
        until = now(connection) + timedelta(seconds=lease)
        changes = dict(leased_until=until, progress=text, share=share)
        return _change(connection, claim.is_held, **changes)


class Heartbeat:
    """Extends the lease of a job, of some seconds, until the block ends."""

    def __init__(
        self, engine: Engine, claim: Claim, lease: float, stopping: Event
    ) -> None:
        self._engine, self._claim, self._lease = engine, claim, lease
        self._report: tuple[str, float | None] = "starting", None
        self._stopping, self._ended, self._lost = stopping, Event(), Event()
        self._thread = Thread(target=self._beat, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._ended.set()
        self._thread.join()

    def report(self, text: str, share: float | None) -> None:
        """Take what is being done, for the next sign of life."""
        self._report = text, share
        if self._lost.is_set() or self._stopping.is_set():
            raise CancelledError(f"the evaluation of job {self._claim.name} ended")

    def _beat(self) -> None:
        claim, lease = self._claim, self._lease
        while not self._lost.is_set() and not self._ended.wait(lease / BEATS):
            try:
                if not beat(self._engine, claim, lease, *self._report):
                    self._lost.set()
            except SQLAlchemyError as error:  # the end of the job finds out
                LOG.warning("job %s gave no sign of life: %s", claim.name, error)


def end(connection: Connection, claim: Claim, state: str, reason: str | None) -> bool:
    """End a job in the transaction that records its result; tell whether it was held.

    The caller rolls back if it was not.
    """
    return _leave(connection, claim.is_held, state, reason, ended=now(connection))


def put_back(
    connection: Connection, claim: Claim, reason: str | None, delay: float = 0.0
) -> None:
    """Let a job wait some seconds for another attempt."""
    until = now(connection) + timedelta(seconds=delay)
    _leave(connection, claim.is_held, "waiting", reason, leased_until=until)


def lose(connection: Connection, chosen: ColumnElement[bool]) -> None:
    """Let jobs wait whose workers are gone."""
    count_failure(connection, chosen, "the evaluation ended its worker without a word")


def count_failure(
    connection: Connection, chosen: ColumnElement[bool], reason: str, delay: float = 0.0
) -> None:
    """Let jobs wait some seconds for another attempt; after too many they fail."""
    moment, failures = now(connection), JOB.c.failures + 1
    last = f"{MOST_FAILURES} attempts failed. The last: {reason}"
    until = moment + timedelta(seconds=delay) if delay else None
    is_last = chosen & (failures >= MOST_FAILURES)
    _leave(connection, is_last, "failed", last, ended=moment, failures=failures)
    _leave(connection, chosen, "waiting", reason, failures=failures, leased_until=until)


def _leave(
    connection: Connection,
    chosen: ColumnElement[bool],
    state: str,
    reason: str | None,
    **changes: object,
) -> bool:
    shown = reason and without_paths(reason)
    values = dict(state=state, reason=shown, leased_until=None) | changes
    return _change(connection, chosen, progress=None, share=None, **values)


def _change(
    connection: Connection, chosen: ColumnElement[bool], **changes: object
) -> bool:
    return connection.execute(update(JOB).where(chosen).values(changes)).rowcount > 0
