"""Dask: workers of this machine, or those of a scheduler somewhere else."""

from __future__ import annotations

import logging
import pickle
import secrets
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path
from typing import Annotated, Any, Self
from urllib.parse import urlsplit

from pydantic import BeforeValidator, Field

import evalkit
from evalkit.catalog import described
from evalkit.errors import EvalkitError
from evalkit.places import is_remote
from evalkit_engines_dask.engine import Engine, LostWorkerError
from evalkit_engines_dask.local import local_cluster
from evalkit_engines_dask.store import save
from evalkit_engines_dask.workers import describe, run

_LOOK = 0.5  # seconds between two looks at the workers


def _quantities(value: Any) -> Any:
    """Read `gpu=1`, or a list of such texts."""
    texts = [value] if isinstance(value, str) else value
    is_text = isinstance(texts, list) and all(isinstance(each, str) for each in texts)
    return dict(each.partition("=")[::2] for each in texts) if is_text else value


@dataclass(eq=False)
class Call:
    """A call of a function, which waits or was sent to a worker."""

    name: str
    request: bytes
    resources: Mapping[str, float]
    future: Any = None


class Dask(Engine):
    """Runs tasks on Dask workers, one at a time on each.

    Args:
        parameters: Where the workers are. Default: made from `values`.
        client: Client of a cluster to use in place of `scheduler`.
        **values: Fields of `Parameters`.
    """

    class Parameters(evalkit.Parameters):
        """Where the workers are, and what they need."""

        scheduler: str = Field(
            "",
            description="Scheduler to join, tls://HOST:PORT. Default: start workers.",
        )
        workers: int | None = Field(
            None, ge=1, description="Workers to start. Default: the number of cores."
        )
        store: str = Field(
            "",
            description="Folder or URI that all can write. Required with `scheduler`. "
            "Default: a temporary folder.",
        )
        parts: int | None = Field(
            None, ge=1, description="Parts to score in. Default: by size and workers."
        )
        bucketed: bool = Field(
            False,
            description="Whether file K of N of data and predictions is bucket K.",
        )
        insecure: bool = Field(
            False, description="Whether to join a remote scheduler without TLS."
        )
        resources: Annotated[dict[str, float], BeforeValidator(_quantities)] = Field(
            {}, description="Dask resources that a scoring task needs, such as gpu=1."
        )
        wait: float = Field(
            30.0, gt=0, description="Seconds to wait for a scheduler or for workers."
        )

    def __init__(
        self, parameters: Parameters | None = None, *, client: Any = None, **values: Any
    ) -> None:
        self.parameters = given = parameters or self.Parameters(**values)
        self.resources, self.store = given.resources, given.store
        self.parts, self.bucketed = given.parts, given.bucketed
        self._given, self._stack = client, ExitStack()
        self._waiting, self._sent = deque[Call](), list[Call]()

    def __enter__(self) -> Self:
        """Start or join the workers, and wait for the first."""
        given = self.parameters
        if (self._given or given.scheduler) and (given.workers or not given.store):
            raise EvalkitError(
                "a scheduler has its workers, and needs a store that they can write"
            )
        with ExitStack() as self._stack:
            self._client = self._given or self._connect()
            _refuse_open(self._client.scheduler.address, given.insecure)
            self.lost, self._seen = 0, dict[str, Any]()
            self._looked, self._missing = 0.0, 0
            name = f"facts-{secrets.token_hex(16)}"
            if not is_remote(self.store):
                self.store = str(Path(self.store).resolve())
                self._stack.callback(Path(self.store, name).unlink, missing_ok=True)
            self._facts = self.store, save(self.store, name, describe())
            while not self._count({}):
                time.sleep(_LOOK)
            self._stack = self._stack.pop_all()
        self.is_running = True
        return self

    def __exit__(self, *_: object) -> None:
        """Leave the workers, and end those that were started."""
        self.is_running = False
        self.cancel(self._sent)
        self._stack.close()

    def _connect(self) -> Any:
        """Return a client of the scheduler, which may be started for it."""
        address, store = self.parameters.scheduler, self.parameters.store
        if not address:
            cluster = local_cluster(self.parameters.workers)
            address, self.store = self._stack.enter_context(cluster)
            self.store = store or self.store
        address = address if "://" in address else f"tcp://{address}"
        _refuse_open(address, self.parameters.insecure)
        import distributed
        from distributed.utils import silence_logging_cmgr

        self._stack.enter_context(silence_logging_cmgr(logging.CRITICAL))
        # a client that fails would be closed when Python collects it, by any thread
        client: Any = distributed.Client.__new__(distributed.Client)
        self._stack.callback(client.close, timeout=2)
        try:
            client.__init__(address, timeout=self.parameters.wait, set_as_default=False)
        except Exception as error:  # of sockets, of certificates, of Dask
            raise EvalkitError(
                f"scheduler {address}: cannot connect: {described(error)}. Dask's own "
                "configuration names the certificates of tls (comm.tls)"
            ) from error
        return client

    def submit(
        self,
        function: Callable[..., Any],
        arguments: tuple[Any, ...],
        name: str,
        resources: Mapping[str, float],
    ) -> Call:
        """Start a call on any worker, as soon as one is free."""
        if not self.is_running:
            raise EvalkitError("the engine is not started: use it in a with statement")
        try:
            task = Call(name, pickle.dumps((function, arguments)), resources)
        except Exception as error:  # an argument may raise anything
            raise EvalkitError(f"{name}: cannot be sent: {described(error)}") from error
        if resources and not self._count(resources):
            needed = " ".join(f"{each}={resources[each]:g}" for each in resources)
            raise EvalkitError(
                f"{name}: no worker has the resources {needed}. Start workers with "
                f"`dask worker --resources '{needed}'`"
            )
        self._waiting.append(task)
        self._send()
        return task

    def gather(
        self, tasks: Sequence[Call], done: Callable[[int, Any], None]
    ) -> list[Any]:
        """Wait for tasks, and return their values in order."""
        places = {task: place for place, task in enumerate(tasks)}
        values: list[Any] = [None] * len(tasks)
        try:
            while places:
                self._send()
                ended = [each for each in self._sent if each.future.done()]
                ended = [each for each in ended if each in places] or self._pause()
                for task in ended:
                    try:
                        value = self._value(task)
                    except TimeoutError:  # the worker that has it is gone
                        continue
                    self._sent.remove(task)
                    values[place := places.pop(task)] = value
                    done(place, value)
        except BaseException:
            self.cancel(tasks)
            raise
        return values

    def _pause(self) -> list[Call]:
        """Wait a moment, or until a task ends."""
        from distributed import CancelledError, wait

        self._count(self._sent[0].resources if self._sent else {})
        running = [task.future for task in self._sent if not task.future.done()]
        if not running:
            time.sleep(_LOOK)
        with suppress(TimeoutError, CancelledError), self._client.as_current():
            wait(running, _LOOK, return_when="FIRST_COMPLETED")  # type: ignore[no-untyped-call]
        return []

    def cancel(self, tasks: Sequence[Call]) -> None:
        """Stop tasks and forget them."""
        gone = set(tasks)
        self._waiting = deque(task for task in self._waiting if task not in gone)
        for task in gone.intersection(self._sent):
            self._sent.remove(task)
            with suppress(Exception):  # the scheduler may be gone
                task.future.cancel()

    def _send(self) -> None:
        """Give each worker one task, as its death counts against all that it holds."""
        running = sum(not task.future.done() for task in self._sent)
        while self._waiting and running < self._count(self._waiting[0].resources):
            task = self._waiting.popleft()
            needed = dict(task.resources) or None
            arguments = run, task.request, *self._facts
            task.future = self._client.submit(*arguments, resources=needed, pure=False)
            self._sent.append(task)
            running += 1

    def _value(self, task: Call) -> Any:
        """Return what a task returned, or raise what it raised, by its name."""
        from distributed import CancelledError
        from distributed.scheduler import KilledWorker

        try:
            return pickle.loads(task.future.result(timeout=5))
        except CancelledError as error:
            raise self._lost_scheduler(error) from error
        except EvalkitError:
            raise
        except KilledWorker as error:
            raise LostWorkerError(
                f"{task.name}: {error.allowed_failures + 1} workers died while they "
                f"ran it, {error.last_worker.name} last. They may need more memory"
            ) from error
        except Exception as error:
            if isinstance(error, TimeoutError) and task.future.status != "error":
                raise
            raise EvalkitError(f"{task.name}: {described(error)}") from error

    def _count(self, resources: Mapping[str, float]) -> int:
        """Return the number of workers that have resources."""
        if is_new := time.monotonic() - self._looked > _LOOK:
            self._look()
        able = [each for each in self._seen.values() if each["status"] == "running"]
        self.workers = len(able)
        for name, least in resources.items():
            able = [each for each in able if each["resources"].get(name, 0) >= least]
        self._missing = 0 if able else self._missing + is_new
        if self._missing * _LOOK > self.parameters.wait:
            lost = f" ({self.lost} lost)" if self.lost else ""
            raise EvalkitError(
                f"the scheduler at {self._client.scheduler.address} has had no worker"
                f"{lost} for {self.parameters.wait:g} s. Start workers, or wait longer "
                "with wait=SECONDS"
            )
        return len(able)

    def _look(self) -> None:
        """See which workers there are."""
        identity = self._client.scheduler.identity
        try:
            found = self._client.sync(identity, callback_timeout=10)["workers"]
        except Exception as error:  # of sockets, of Dask, and of its event loop
            raise self._lost_scheduler(error) from error
        # a worker that starts anew may have its address again, but not its folder
        folders = {worker["local_directory"] for worker in found.values()}
        known = {worker["local_directory"] for worker in self._seen.values()}
        self.lost += len(known - folders)
        self._seen, self._looked = found, time.monotonic()

    def _lost_scheduler(self, error: BaseException) -> EvalkitError:
        address = self._client.scheduler.address
        return EvalkitError(f"the scheduler at {address} is lost: {described(error)}")


def _refuse_open(address: str, insecure: bool) -> None:
    """Refuse a scheduler that anybody in the network could speak to."""
    url = urlsplit(address)
    is_safe = insecure or url.scheme in ("tls", "inproc") or url.hostname == "localhost"
    with suppress(ValueError):
        is_safe = is_safe or ip_address(url.hostname or "").is_loopback
    if not is_safe:
        raise EvalkitError(
            f"scheduler {address}: refused without TLS, because whoever reaches a "
            "scheduler runs code on its workers. Use a tls:// address, or "
            "insecure=true in a network that you trust"
        )
