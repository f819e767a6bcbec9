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
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from typing import Any, Literal

from evalkit.catalog import described
from evalkit.errors import EvalkitError
from evalkit_engines_dask.tasks import LostWorkerError
from evalkit_engines_dask.workers import check, describe, differences, run, value_of

ALLOWED_FAILURES = 2
"""Workers that a task may lose before it fails."""

_POLL = 0.2
"""Seconds after which a wait for tasks notices an interrupt."""

_LOOK = 0.5
"""Seconds between two looks at the list of workers."""

_FETCH = 5.0
"""Seconds after which a reply that does not come is looked for again."""

_SILENCE = 10.0
"""Seconds after which a scheduler that does not answer is lost."""


@dataclass(eq=False)
class Task:
    """A call on a worker."""

    name: str
    request: bytes
    resources: Mapping[str, float] = field(default_factory=dict)
    losses: int = 0
    future: Any = None
    reply: bytes | None = None
    error: EvalkitError | None = None

    @property
    def is_done(self) -> bool:
        """Whether there is a reply or an error."""
        return self.reply is not None or self.error is not None

    def value(self) -> Any:
        """Return the value, or raise the error."""
        if self.error is not None:
            raise self.error
        assert self.reply is not None
        return value_of(self.reply, self.name)


@dataclass(eq=False)
class _Worker:
    name: str
    resources: Mapping[str, float]
    checking: Task
    state: Literal["new", "checked", "refused"] = "new"
    task: Task | None = None

    def fits(self, task: Task) -> bool:
        needed = task.resources
        return all(self.resources.get(name, 0) >= needed[name] for name in needed)


class Dispatcher:
    """Runs tasks on the workers of one scheduler.

    Args:
        client: Client of the scheduler.
        place: Path or URI of the token that workers must read.
        token: The token.
        wait: Seconds to wait for a worker while there is none.
        is_alive: Tells whether the scheduler's process is alive, if that is known.

    Attributes:
        lost: Number of checked workers that are gone.
    """

    def __init__(
        self,
        client: Any,
        place: str,
        token: str,
        wait: float,
        is_alive: Callable[[], bool] = lambda: True,
    ) -> None:
        self.lost = 0
        self._client, self._is_alive = client, is_alive
        self._place, self._token, self._facts = place, token, describe()
        self._known: dict[str, _Worker] = {}
        self._waiting: deque[Task] = deque()
        self._ended: SimpleQueue[tuple[Task, Any]] = SimpleQueue()
        self._looked, self._wait = 0.0, wait
        self._had_worker = time.monotonic()

    @property
    def workers(self) -> int:
        """Number of workers that get tasks."""
        return len(self._in_state("checked"))

    def _in_state(self, state: str) -> list[_Worker]:
        return [each for each in self._known.values() if each.state == state]

    def start(self, count: int) -> None:
        """Wait until a number of workers, and all that are there, are checked.

        Args:
            count: Number of workers.

        Raises:
            EvalkitError: A worker differs from the driver, or there are too few.
        """
        deadline = time.monotonic() + self._wait
        with warnings.catch_warnings():
            warnings.simplefilter("error", RuntimeWarning)
            while self.workers < count or self._in_state("new"):
                try:
                    self.step()
                except RuntimeWarning as warning:
                    raise EvalkitError(str(warning)) from None
                if time.monotonic() > deadline:
                    if self.workers:
                        return
                    raise EvalkitError(self._no_worker())

    def submit(self, task: Task) -> None:
        """Run a task as soon as a worker is free.

        Args:
            task: The task.

        Raises:
            EvalkitError: No worker has its resources.
        """
        if not any(worker.fits(task) for worker in self._in_state("checked")):
            needed = " ".join(f"{k}={task.resources[k]:g}" for k in task.resources)
            if needed:
                raise EvalkitError(
                    f"{task.name}: no worker has the resources {needed}. Start workers "
                    f"with `dask worker --resources '{needed}'`"
                )
        self._waiting.append(task)
        self._feed()

    def cancel(self, task: Task) -> None:
        """Stop a task and forget it.

        Args:
            task: The task.
        """
        if task in self._waiting:
            self._waiting.remove(task)
        self._release(task)

    def end(self) -> None:
        """Cancel all tasks."""
        for worker in self._known.values():
            for task in (worker.checking, worker.task):
                if task is not None:
                    with suppress(Exception):  # the scheduler may be gone
                        self._release(task)

    def step(self) -> Task | None:
        """Wait a moment.

        Returns:
            A task that ended meanwhile; None if there is none.

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
        self._fetch(task)
        worker = next((w for w in self._known.values() if w.checking is task), None)
        if worker is not None and task.is_done:
            self._admit(worker)
        return task if task.is_done and worker is None else None

    def _look(self) -> None:
        """See which workers came and went."""
        present = self._present()
        for address in [each for each in self._known if each not in present]:
            self._lose(self._known.pop(address))
        for address, facts in present.items():
            if address not in self._known and facts["status"] == "running":
                name = f"worker {facts['name']} at {address}"
                checking = Task(
                    f"check of {name}", pickle.dumps((check, (self._place,)))
                )
                worker = _Worker(name, facts["resources"], checking)
                self._known[address] = worker
                self._begin(checking, address)
        self._looked = now = time.monotonic()
        if self.workers or self._in_state("new"):
            self._had_worker = now
        elif now - self._had_worker > self._wait:
            raise EvalkitError(self._no_worker())

    def _present(self) -> Mapping[str, Mapping[str, Any]]:
        try:
            if not self._is_alive():
                raise OSError("its process ended")
            found = self._client.sync(
                self._client.scheduler.identity, callback_timeout=_SILENCE
            )
        except Exception as error:  # of sockets, of Dask, and of its event loop
            raise EvalkitError(
                f"the scheduler at {self._client.scheduler.address} is lost: "
                f"{described(error)}"
            ) from error
        workers: Mapping[str, Mapping[str, Any]] = found["workers"]
        return workers

    def _no_worker(self) -> str:
        lost = f" ({self.lost} lost)" if self.lost else ""
        return (
            f"the scheduler at {self._client.scheduler.address} has no worker{lost} "
            f"after {self._wait:g} s. Start workers, or wait longer with wait=SECONDS"
        )

    def _lose(self, worker: _Worker) -> None:
        """Give the task of a worker that is gone to another one."""
        self.lost += worker.state == "checked"
        self._release(worker.checking)
        if worker.task is not None:
            self._repeat(worker.task, worker.name)

    def _release(self, task: Task) -> None:
        for worker in self._known.values():
            if worker.task is task:
                worker.task = None
        future, task.future = task.future, None
        if future is not None and not task.is_done:
            future.cancel()

    def _feed(self) -> None:
        """Give each free worker a task."""
        for address, worker in self._known.items():
            if not self._waiting:
                return
            if worker.state == "checked" and worker.task is None:
                fitting = filter(worker.fits, self._waiting)
                worker.task = next(fitting, None)
                if worker.task is not None:
                    self._waiting.remove(worker.task)
                    self._begin(worker.task, address)

    def _begin(self, task: Task, address: str) -> None:
        task.future = self._client.submit(
            run,
            task.request,
            key=f"{task.name}-{secrets.token_hex(8)}",
            workers=[address],
            allow_other_workers=False,
            resources=dict(task.resources) or None,
            pure=False,
        )
        task.future.add_done_callback(lambda ended: self._ended.put((task, ended)))

    def _fetch(self, task: Task) -> None:
        """Take the reply of a task that ended, and free its worker."""
        if not task.is_done:
            from distributed.scheduler import KilledWorker

            future = task.future
            try:
                if future.status == "cancelled":  # the scheduler started anew
                    self._looked = 0.0
                    self._repeat(task, "the scheduler")
                    return
                task.reply = future.result(timeout=_FETCH)
            except TimeoutError:  # the worker that holds it may be gone
                self._looked = 0.0
                self._ended.put((task, future))
                return
            except KilledWorker as error:
                task.losses += error.allowed_failures + 1
                task.error = _killed(task, error.last_worker.address)
            except Exception as error:  # a worker cannot import `run`, for example
                task.error = EvalkitError(f"{task.name}: {described(error)}")
        self._release(task)

    def _repeat(self, task: Task, lost: str) -> None:
        """Run a task again whose worker is gone, or fail it."""
        task.losses += 1
        self._release(task)
        if task.losses <= ALLOWED_FAILURES:
            self._waiting.appendleft(task)
        else:
            task.error, task.future = _killed(task, lost), object()
            self._ended.put((task, task.future))

    def _admit(self, worker: _Worker) -> None:
        """Give a worker tasks, or refuse it with what differs."""
        try:
            facts, token = worker.checking.value()
        except EvalkitError as error:
            problems = [str(error)]
        else:
            problems = differences(self._facts, facts)
            if token != self._token:
                problems.append(f"it cannot read the store at {self._place}: {token}")
        worker.state = "refused" if problems else "checked"
        if problems:
            text = f"{worker.name} gets no work: {'; '.join(problems)}"
            warnings.warn(text, RuntimeWarning, stacklevel=2)


def _killed(task: Task, last: str) -> LostWorkerError:
    return LostWorkerError(
        f"{task.name}: {task.losses} workers died while they ran it, the last was "
        f"{last}. They may need more memory"
    )
