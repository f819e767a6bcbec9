"""The processes that evaluate: children that serve jobs, and their parent.

A child is replaced after many jobs or a failure. The parent ends children that take
too long or too much memory. Whatever is killed, the lease of its job ends, and the job
is evaluated by another attempt.
"""

from __future__ import annotations

import faulthandler
import logging
import os
import signal
import socket
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from multiprocessing import get_context, parent_process
from multiprocessing.context import SpawnProcess
from threading import Event, Thread

import psutil
from sqlalchemy import Engine, select
from sqlalchemy.exc import SQLAlchemyError

from evalkit.errors import StorageError
from evalkit_services_server import jobs
from evalkit_services_server.database import connect, now, reading, writing
from evalkit_services_server.evaluation import evaluate_job
from evalkit_services_server.jobs import Claim
from evalkit_services_server.orphans import sweep
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
    end_with_parent(stopping)
    engine = connect(settings)
    for _ in range(MOST_JOBS):
        claim = next_job(engine, name, settings, stopping)
        if claim is None:
            return
        # ends this process even while what hangs lets no other thread run
        faulthandler.dump_traceback_later(settings.job_seconds + PATIENCE, exit=True)
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
        try:
            if claim := jobs.claim(engine, name, settings.lease):
                return claim
        except SQLAlchemyError as error:
            LOG.warning("the database does not answer: %s", error)
        stopping.wait(IDLE)
    return None


def stop_on_signals() -> Event:
    """Return an event that is set once the process is asked to stop."""
    stopping = Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stopping.set())
    return stopping


def end_with_parent(stopping: Event) -> None:
    """Stop this process, with all that it started, after its parent ended."""
    parent = parent_process()
    if parent is None:
        return
    os.setpgrp()  # so that what a plugin starts ends with it

    def watch() -> None:
        parent.join()
        stopping.set()
        time.sleep(PATIENCE)
        os.killpg(0, signal.SIGKILL)

    Thread(target=watch, daemon=True).start()


class Worker:
    """A child as its parent sees it."""

    def __init__(self, settings: Settings) -> None:
        self.name = f"{socket.gethostname()[:80]}-{uuid.uuid4().hex[:12]}"
        self.started = time.monotonic()
        self.process: SpawnProcess = get_context("spawn").Process(
            target=serve_jobs, args=(settings, self.name), name=self.name
        )
        self.process.start()

    def memory(self) -> int:
        """Return the bytes of memory that the child uses."""
        try:
            used: int = psutil.Process(self.process.pid).memory_info().rss
        except psutil.Error:
            return 0
        return used

    def kill(self) -> None:
        """End the child and all that it started."""
        assert self.process.pid is not None
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.kill()
        self.process.join()


class Crew:
    """The children of one parent."""

    def __init__(self, settings: Settings, engine: Engine, count: int) -> None:
        self._settings, self._engine = settings, engine
        self._workers = [Worker(settings) for _ in range(count)]
        self._timed = 0.0

    def look_after(self) -> None:
        """End children that exceed a limit, and replace those that ended."""
        limit = self._settings.job_bytes
        for worker in self._workers:
            if worker.memory() > limit:
                self._fail(worker, f"used more than {limit // MEBIBYTE:,} MiB")
        if time.monotonic() - self._timed > IDLE:
            self._timed = time.monotonic()
            self._end_late()
        for place, worker in enumerate(self._workers):
            rested = time.monotonic() - worker.started > IDLE
            if not worker.process.is_alive() and rested:
                self._bury(worker)
                self._workers[place] = Worker(self._settings)

    def stop(self) -> None:
        """Let all children give their jobs back, and end."""
        for worker in self._workers:
            worker.process.terminate()
        until = time.monotonic() + PATIENCE
        for worker in self._workers:
            worker.process.join(max(0.0, until - time.monotonic()))
            if worker.process.is_alive():
                worker.kill()
            with told_of_outage(), writing(self._engine) as connection:
                if claim := jobs.held_by(connection, worker.name):
                    jobs.put_back(connection, claim, None, 0.0)

    def _end_late(self) -> None:
        seconds = self._settings.job_seconds
        names = {worker.name: worker for worker in self._workers}
        is_ours = JOB.c.worker.in_(names), JOB.c.state == "running"
        late = select(JOB.c.worker, JOB.c.id).where(*is_ours)
        with told_of_outage(), reading(self._engine) as connection:
            latest = now(connection) - timedelta(seconds=seconds)
            found = connection.execute(late.where(JOB.c.started < latest)).all()
            for name, job_id in found:
                self._fail(names[name], f"took longer than {seconds:,.0f} s", job_id)

    def _fail(self, worker: Worker, what: str, job_id: int | None = None) -> None:
        """End a child, and its job unless it is another than the given one."""
        worker.kill()
        with told_of_outage(), writing(self._engine) as connection:
            claim = jobs.held_by(connection, worker.name)
            if claim is not None and job_id in (None, claim.job_id):
                jobs.end(connection, claim, "failed", f"the evaluation {what}")

    def _bury(self, worker: Worker) -> None:
        """Say what becomes of the job of a child that ended."""
        code = worker.process.exitcode
        with told_of_outage(), writing(self._engine) as connection:
            claim = jobs.held_by(connection, worker.name)
            if claim is None:
                return
            LOG.warning("job %s: its worker ended (exit code %s)", claim.name, code)
            if code == OUTAGE:
                jobs.put_back(connection, claim, None, IDLE)
            elif code is not None and code >= 0:
                reason = f"the evaluation ended its process with the exit code {code}"
                jobs.end(connection, claim, "failed", reason)
            else:
                jobs.lose(connection, claim.is_held)


@contextmanager
def told_of_outage() -> Iterator[None]:
    """Go on without the database or the store; leases end by themselves."""
    try:
        yield
    except (SQLAlchemyError, StorageError, OSError) as error:
        LOG.warning("the database or the store does not answer: %s", error)


def work(settings: Settings, count: int) -> None:
    """Evaluate what is requested, until the process is asked to stop.

    Args:
        settings: The database, the store and the limits.
        count: Number of children that evaluate side by side.
    """
    logging.basicConfig(level=logging.INFO)
    cores = os.cpu_count() or 1
    os.environ.setdefault("POLARS_MAX_THREADS", str(max(1, cores // count)))
    stopping = stop_on_signals()
    end_with_parent(stopping)
    engine = connect(settings)
    crew = Crew(settings, engine, count)
    swept = -SWEEP
    try:
        while not stopping.wait(WATCH):
            crew.look_after()
            if time.monotonic() - swept > SWEEP:
                swept = time.monotonic()
                with told_of_outage():
                    sweep(engine, settings)
    finally:
        crew.stop()
