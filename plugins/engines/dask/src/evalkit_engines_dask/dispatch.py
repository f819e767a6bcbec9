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
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from typing import Any

from evalkit.catalog import described
from evalkit.errors import EvalkitError
from evalkit_engines_dask.engine import Engine
from evalkit_engines_dask.store import attempt, save
from evalkit_engines_dask.tasks import LostWorkerError
from evalkit_engines_dask.workers import check, describe, run

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


class Dispatcher(Engine):
    """An engine on the workers of one scheduler; a subclass joins it."""

    def __init__(self) -> None:
        self._client: Any = None
        self._known: dict[str, _Worker] = {}
        self._waiting: deque[Task] = deque()
        self._ended: SimpleQueue[tuple[Task, Any]] = SimpleQueue()

    def _begin(self, client: Any, count: int, wait: float) -> None:
        """Wait until a number of workers, and all that are there, are checked."""
        self._client, self._wait = client, wait
        self.workers = self.lost = 0
        self._token, self._facts = secrets.token_hex(16), describe()
        self._place = self.store, save(self.store, attempt("check"), self._token)
        self._looked, self._had_worker = 0.0, time.monotonic()
        deadline = self._had_worker + wait
        while self.workers < count or self._in(_NEW):
            self._step()
            if self.workers and time.monotonic() > deadline:
                break
        self.is_running = True

    def _end(self) -> None:
        """Cancel all tasks."""
        self.is_running = False
        self.cancel([each.task for each in self._known.values() if each.task])
        Dispatcher.__init__(self)

    def _in(self, state: str) -> list[_Worker]:
        return [worker for worker in self._known.values() if worker.state == state]

    def submit(
        self,
        function: Callable[..., Any],
        arguments: tuple[Any, ...],
        name: str,
        resources: Mapping[str, float],
    ) -> Task:
        """Start a call on any worker, as soon as one is free."""
        if not self.is_running:
            raise EvalkitError("the engine is not started: use it in a with statement")
        try:
            task = Task(name, pickle.dumps((function, arguments)), resources)
        except Exception as error:  # an argument may raise anything
            text = f"{name}: cannot be sent to a worker: {described(error)}"
            raise EvalkitError(text) from error
        needed = " ".join(f"{each}={resources[each]:g}" for each in resources)
        if needed and not any(worker.fits(task) for worker in self._in(_CHECKED)):
            raise EvalkitError(
                f"{name}: no worker has the resources {needed}. Start workers with "
                f"`dask worker --resources '{needed}'`"
            )
        self._waiting.append(task)
        self._feed()
        return task

    def gather(
        self, tasks: Sequence[Task], done: Callable[[int, Any], None]
    ) -> list[Any]:
        """Wait for tasks, and return their values in order."""
        places = {id(task): place for place, task in enumerate(tasks)}
        ended = [task for task in tasks if task.is_done]
        try:
            while places:
                task = ended.pop() if ended else self._step()
                place = places.pop(id(task), None)
                if task is not None and place is not None:
                    if task.error is not None:
                        raise task.error
                    done(place, task.value)
        except BaseException:
            self.cancel(tasks)
            raise
        return [task.value for task in tasks]

    def cancel(self, tasks: Sequence[Task]) -> None:
        """Stop tasks and forget them."""
        for task in tasks:
            if task in self._waiting:
                self._waiting.remove(task)
            self._release(task)

    def _step(self) -> Task | None:
        """Wait a moment, and return a task that ended meanwhile."""
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
        if worker is None or worker.state != _NEW:
            return task
        self._admit(worker, task)
        return None

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
        self.workers = len(self._in(_CHECKED))
        for address, facts in found["workers"].items():
            if address not in self._known and facts["status"] == "running":
                name = f"worker {facts['name']} at {address}"
                worker = _Worker(name, address, facts["resources"])
                self._known[address] = worker
                request = pickle.dumps((check, self._place))
                self._send(Task(f"check of {name}", request), worker)
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
                    self._send(task, worker)

    def _send(self, task: Task, worker: _Worker) -> None:
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
        problems = [
            f"{name}: {facts.get(name, 'none')}, expected {expected or 'none'}"
            for name in {**self._facts, **facts}
            if (expected := self._facts.get(name)) != facts.get(name)
        ]
        if checking.error is not None:
            problems.append(str(checking.error))
        if token != self._token:
            problems.append(f"it cannot read the store: {token}")
        worker.state = _REFUSED if problems else _CHECKED
        self.workers += not problems
        if problems:
            text = f"{worker.name} gets no work: {'; '.join(problems)}"
            if not self.is_running:
                raise EvalkitError(text)
            warnings.warn(text, RuntimeWarning, stacklevel=2)
