"""The processes that evaluate: children that serve jobs, and their parent.

A child is replaced after many jobs or a failure. It ends if a job takes too long; the
parent ends those that take too much memory. Whatever is killed, the lease of its job
ends, and the job is evaluated by another attempt.
"""

from __future__ import annotations

import faulthandler
import logging
import os
import signal
import socket
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from multiprocessing import get_context, parent_process
from threading import Event, Thread

import psutil
from sqlalchemy import Connection, Engine, select
from sqlalchemy.exc import SQLAlchemyError

from evalkit_services_server import jobs
from evalkit_services_server.database import connect, now, writing
from evalkit_services_server.evaluation import evaluate_job, sweep
from evalkit_services_server.jobs import Claim
from evalkit_services_server.settings import MEBIBYTE, Settings
from evalkit_services_server.tables import JOB

LOG = logging.getLogger(__name__)

MOST_JOBS = 100
"""Jobs of a child before it is replaced."""

IDLE = 1.0
"""Seconds between two looks for a job."""

WATCH = 0.2
"""Seconds between two looks at the children."""

PATIENCE = 10.0
"""Seconds in which a child that is to stop gives its job back."""

SWEEP = 3600.0
"""Seconds between two sweeps."""

OUTAGE = 75
"""Exit code of a child that could not record what came of its job."""


def serve_jobs(settings: Settings, name: str) -> None:
    """Evaluate one job after another; the main function of a child."""
    logging.basicConfig(level=logging.INFO)
    stopping = stop_on_signals()
    engine = connect(settings)
    for _ in range(MOST_JOBS):
        claim = next_job(engine, name, settings, stopping)
        if claim is None:
            return
        # ends this process even while what hangs lets no other thread run
        faulthandler.dump_traceback_later(settings.job_seconds, exit=True)
        try:
            state = evaluate_job(claim, settings, engine, stopping)
        except SQLAlchemyError as error:
            LOG.warning("job %s could not be recorded: %s", claim.name, error)
            os._exit(OUTAGE)
        faulthandler.cancel_dump_traceback_later()
        LOG.info("job %s: %s", claim.name, state)
        has_grown = psutil.Process().memory_info().rss > settings.job_bytes / 2
        if has_grown or state not in ("done", "refused"):
            return


def next_job(
    engine: Engine, name: str, settings: Settings, stopping: Event
) -> Claim | None:
    """Wait for a job; return None if the worker is to stop."""
    while not stopping.is_set():
        with outages_logged():
            if claim := jobs.claim(engine, name, settings.lease):
                return claim
        stopping.wait(IDLE)
    return None


def stop_on_signals() -> Event:
    """Return an event that is set once this process is to stop.

    If its parent ends, it ends too, with all that it started.
    """
    stopping, parent = Event(), parent_process()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stopping.set())
    if parent is None:
        return stopping
    os.setpgrp()  # so that what a plugin starts ends with it

    def watch() -> None:
        parent.join()
        stopping.set()
        time.sleep(PATIENCE)
        os.killpg(0, signal.SIGKILL)

    Thread(target=watch, daemon=True).start()
    return stopping


class Worker:
    """A child, as its parent sees it."""

    def __init__(self, settings: Settings, engine: Engine) -> None:
        self._settings, self._engine = settings, engine
        self._name = f"{socket.gethostname()[:80]}-{uuid.uuid4().hex[:12]}"
        self._started = time.monotonic()
        self.process = get_context("spawn").Process(
            target=serve_jobs, args=(settings, self._name)
        )
        self.process.start()

    def has_ended(self) -> bool:
        """Tell whether the child is to be replaced; end it if it exceeds its memory."""
        limit = self._settings.job_bytes
        with suppress(psutil.Error):
            if psutil.Process(self.process.pid).memory_info().rss > limit:
                self._kill()
                reason = f"the evaluation used more than {limit // MEBIBYTE:,} MiB"
                self._settle(lambda c, held: jobs.end(c, held, "failed", reason))
        is_old = time.monotonic() - self._started > IDLE
        if self.process.is_alive() or not is_old:
            return False
        self._kill()  # what it started
        self._settle(self._record_exit)
        return True

    def stop(self, until: float) -> None:
        """Let the child give its job back, and end."""
        self.process.join(max(0.0, until - time.monotonic()))
        self._kill()
        self._settle(lambda connection, held: jobs.put_back(connection, held, None))

    def _kill(self) -> None:
        """End the child and all that it started."""
        assert self.process.pid is not None
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.kill()
        self.process.join()

    def _settle(self, settle: Callable[[Connection, Claim], object]) -> None:
        """Say what becomes of the job that the child left."""
        with outages_logged(), writing(self._engine) as connection:
            if claim := jobs.held_by(connection, self._name):
                settle(connection, claim)

    def _record_exit(self, connection: Connection, claim: Claim) -> None:
        code = self.process.exitcode
        LOG.warning("job %s: its worker ended (exit code %s)", claim.name, code)
        seconds = self._settings.job_seconds
        latest = now(connection) - timedelta(seconds=seconds)
        late = select(JOB.c.id).where(claim.is_held, JOB.c.started <= latest)
        if code == OUTAGE:
            jobs.put_back(connection, claim, None, IDLE)
        elif code is None or code < 0:
            jobs.lose(connection, claim.is_held)
        elif connection.scalar(late):
            reason = f"the evaluation took longer than {seconds:,.0f} s"
            jobs.end(connection, claim, "failed", reason)
        else:
            reason = f"the evaluation ended its process with the exit code {code}"
            jobs.end(connection, claim, "failed", reason)


@contextmanager
def outages_logged() -> Iterator[None]:
    """Go on without the database or the store; leases end by themselves."""
    try:
        yield
    except (SQLAlchemyError, OSError) as error:
        LOG.warning("the database or the store does not answer: %s", error)


def work(settings: Settings, count: int) -> None:
    """Evaluate what is requested, by some children, until the process is to stop."""
    logging.basicConfig(level=logging.INFO)
    cores = os.cpu_count() or 1
    os.environ.setdefault("POLARS_MAX_THREADS", str(max(1, cores // count)))
    stopping = stop_on_signals()
    engine = connect(settings)
    workers = [Worker(settings, engine) for _ in range(count)]
    swept = -SWEEP
    try:
        while not stopping.wait(WATCH):
            for place, worker in enumerate(workers):
                if worker.has_ended():
                    workers[place] = Worker(settings, engine)
            if time.monotonic() - swept > SWEEP:
                swept = time.monotonic()
                with outages_logged():
                    sweep(engine, settings)
    finally:
        for worker in workers:
            worker.process.terminate()
        until = time.monotonic() + PATIENCE
        for worker in workers:
            worker.stop(until)
