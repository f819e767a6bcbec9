"""The sign of life of an evaluation, given while it runs."""

from __future__ import annotations

import logging
from threading import Event, Thread
from typing import Self

from sqlalchemy import Engine
from sqlalchemy.exc import SQLAlchemyError

from evalkit.errors import CancelledError
from evalkit_services_server import jobs
from evalkit_services_server.jobs import Claim

LOG = logging.getLogger(__name__)

BEATS = 4
"""Signs of life in a lease."""


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
        """Take what is being done, for the next sign of life.

        Raises:
            CancelledError: Another attempt holds the job, or the worker is to stop.
        """
        self._report = text, share
        if self._lost.is_set() or self._stopping.is_set():
            raise CancelledError(f"the evaluation of job {self._claim.name} ended")

    def _beat(self) -> None:
        claim, lease = self._claim, self._lease
        while not self._lost.is_set() and not self._ended.wait(lease / BEATS):
            try:
                if not jobs.beat(self._engine, claim, lease, *self._report):
                    self._lost.set()
            except SQLAlchemyError as error:  # the end of the job finds out
                LOG.warning("job %s gave no sign of life: %s", claim.name, error)
