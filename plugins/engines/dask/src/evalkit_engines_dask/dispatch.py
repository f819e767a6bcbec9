"""Hands tasks to the workers of a Dask scheduler, one at a time to each.

Dask counts the death of a worker against all tasks that wait there, and lets workers
that join later run tasks at once. Here a worker is checked before its first task, holds
one task, and its death counts against that task only.
"""

from __future__ import annotations

import pickle
import secrets
import time
import warnings
from collections import deque
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from typing import Any

from evalkit.catalog import described
from evalkit.errors import EvalkitError
from evalkit_engines_dask.tasks import LostWorkerError
from evalkit_engines_dask.workers import check, describe, differences, run

ALLOWED_FAILURES = 2
"""Workers that a task may lose before it fails."""

# seconds: until a wait notices an interrupt, between two looks at the workers, for a
# reply whose worker may be gone, and until a silent scheduler is lost
_POLL, _LOOK, _FETCH, _SILENCE = 0.2, 0.5, 5.0, 10.0

_NEW, _CHECKED, _REFUSED = "new", "checked", "refused"


@dataclass(eq=False)
class Task:
    """A call on a worker."""

    name: str
    request: bytes
    resources: Mapping[str, float] = field(default_factory=dict)
    worker: _Worker | None = None
    future: Any = None
    losses: int = 0
    is_done: bool = False
    value: Any = None
    error: EvalkitError | None = None


@dataclass(eq=False)
class _Worker:
    name: str
    address: str
    resources: Mapping[str, float]
    state: str = _NEW
    task: Task | None = None

    def fits(self, task: Task) -> bool:
        have, needed = self.resources, task.resources
        return all(have.get(name, 0) >= needed[name] for name in needed)


class Dispatcher:
    """Runs tasks on the workers of one scheduler.

    Args:
        client: Client of the scheduler.
        place: Store and name of the token that workers must read.
        token: The token.
        wait: Seconds to wait for a worker while there is none.

    Attributes:
        lost: Number of workers that are gone.
    """

    def __init__(
        self, client: Any, place: tuple[str, str], token: str, wait: float
    ) -> None:
        self.lost = 0
        self._client, self._wait = client, wait
        self._place, self._token, self._facts = place, token, describe()
        self._known: dict[str, _Worker] = {}
        self._waiting: deque[Task] = deque()
        self._ended: SimpleQueue[tuple[Task, Any]] = SimpleQueue()
        self._is_started, self._looked = False, 0.0
        self._had_worker = time.monotonic()

    @property
    def workers(self) -> int:
        """Number of workers that get tasks."""
        return len(self._in(_CHECKED))

    def _in(self, state: str) -> list[_Worker]:
        return [worker for worker in self._known.values() if worker.state == state]

    def start(self, count: int) -> None:
        """Wait until a number of workers, and all that are there, are checked."""
        deadline = time.monotonic() + self._wait
        while self.workers < count or self._in(_NEW):
            self.step()
            if self.workers and time.monotonic() > deadline:
                break
        self._is_started = True

    def submit(self, task: Task) -> None:
        """Run a task as soon as a worker is free."""
        needed = " ".join(f"{name}={task.resources[name]:g}" for name in task.resources)
        if needed and not any(worker.fits(task) for worker in self._in(_CHECKED)):
            raise EvalkitError(
                f"{task.name}: no worker has the resources {needed}. Start workers "
                f"with `dask worker --resources '{needed}'`"
            )
        self._waiting.append(task)
        self._feed()

    def cancel(self, task: Task) -> None:
        """Stop a task and forget it."""
        if task in self._waiting:
            self._waiting.remove(task)
        self._release(task)

    def end(self) -> None:
        """Cancel all tasks."""
        for worker in self._known.values():
            if worker.task is not None:
                self._release(worker.task)

    def step(self) -> Task | None:
        """Wait a moment, and return a task that ended meanwhile.

        Raises:
            EvalkitError: The scheduler, or all workers, are gone.
        """
        if time.monotonic() - self._looked > _LOOK:
            self._look()
        self._feed()
        try:
            task, future = self._ended.get(timeout=_POLL)
        except Empty:
            return None
        if future is not task.future:  # an attempt that was given up
            return None
        if future is not None:
            self._fetch(task)
        if not task.is_done:
            return None
        worker = task.worker
        self._release(task)
        if worker is not None and worker.state == _NEW:
            self._admit(worker, task)
            return None
        return task

    def _look(self) -> None:
        """See which workers came and went."""
        scheduler = self._client.scheduler
        try:
            found = self._client.sync(scheduler.identity, callback_timeout=_SILENCE)
        except Exception as error:  # of sockets, of Dask, and of its event loop
            raise EvalkitError(
                f"the scheduler at {scheduler.address} is lost: {described(error)}"
            ) from error
        for address in [each for each in self._known if each not in found["workers"]]:
            worker = self._known.pop(address)
            self.lost += worker.state != _REFUSED
            if worker.task is not None:
                self._repeat(worker.task, worker)
        for address, facts in found["workers"].items():
            if address not in self._known and facts["status"] == "running":
                name = f"worker {facts['name']} at {address}"
                worker = _Worker(name, address, facts["resources"])
                self._known[address] = worker
                request = pickle.dumps((check, self._place))
                self._begin(Task(f"check of {name}", request), worker)
        self._looked = now = time.monotonic()
        if self.workers or self._in(_NEW):
            self._had_worker = now
        elif now - self._had_worker > self._wait:
            lost = f" ({self.lost} lost)" if self.lost else ""
            raise EvalkitError(
                f"the scheduler at {scheduler.address} has had no worker{lost} for "
                f"{self._wait:g} s. Start workers, or wait longer with wait=SECONDS"
            )

    def _repeat(self, task: Task, worker: _Worker) -> None:
        """Run a task again whose worker is gone, or fail it."""
        self._release(task)
        if worker.state == _NEW:
            return
        task.losses += 1
        if task.losses <= ALLOWED_FAILURES:
            self._waiting.appendleft(task)
            return
        task.is_done = True
        task.error = LostWorkerError(
            f"{task.name}: {task.losses} workers died while they ran it, the last was "
            f"{worker.name}. They may need more memory"
        )
        self._ended.put((task, None))

    def _feed(self) -> None:
        """Give each free worker a task."""
        for worker in self._in(_CHECKED):
            if worker.task is None:
                task = next(filter(worker.fits, self._waiting), None)
                if task is not None:
                    self._waiting.remove(task)
                    self._begin(task, worker)

    def _begin(self, task: Task, worker: _Worker) -> None:
        task.worker, worker.task = worker, task
        task.future = self._client.submit(
            run,
            task.request,
            key=f"{task.name}-{secrets.token_hex(8)}",
            workers=[worker.address],
            resources=dict(task.resources) or None,
            pure=False,
        )
        task.future.add_done_callback(lambda ended: self._ended.put((task, ended)))

    def _release(self, task: Task) -> None:
        """Part a task and its worker."""
        if task.worker is not None:
            task.worker.task = None
        future, task.future, task.worker = task.future, None, None
        if future is not None and not task.is_done:
            with suppress(Exception):  # the scheduler may be gone
                future.cancel()

    def _fetch(self, task: Task) -> None:
        """Take the reply of a task that ended."""
        from distributed import CancelledError
        from distributed.scheduler import KilledWorker

        assert task.worker is not None
        try:
            task.value, error = pickle.loads(task.future.result(timeout=_FETCH))
        except TimeoutError:  # the worker that holds it may be gone
            self._looked = 0.0
            self._ended.put((task, task.future))
            return
        except (CancelledError, KilledWorker):  # its worker or scheduler started anew
            self._looked = 0.0
            self._repeat(task, task.worker)
            return
        except Exception as failure:  # a worker cannot import `run`, for example
            error = failure
        task.is_done = True
        if error is not None and not isinstance(error, EvalkitError):
            task.error = EvalkitError(f"{task.name}: {described(error)}")
            task.error.__cause__ = error
        else:
            task.error = error

    def _admit(self, worker: _Worker, checking: Task) -> None:
        """Give a worker tasks, or refuse it with what differs."""
        facts, token = checking.value or (self._facts, self._token)
        problems = differences(self._facts, facts)
        if checking.error is not None:
            problems.append(str(checking.error))
        if token != self._token:
            problems.append(f"it cannot read the store: {token}")
        worker.state = _REFUSED if problems else _CHECKED
        if problems:
            text = f"{worker.name} gets no work: {'; '.join(problems)}"
            if not self._is_started:
                raise EvalkitError(text)
            warnings.warn(text, RuntimeWarning, stacklevel=2)
