"""Dask: a cluster of this machine, or one that runs somewhere else."""

from __future__ import annotations

import logging
import pickle
import secrets
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from ipaddress import ip_address
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import BeforeValidator, Field

import evalkit
from evalkit.catalog import described
from evalkit.errors import EvalkitError
from evalkit.places import is_remote
from evalkit_engines_dask.dispatch import Dispatcher, Task
from evalkit_engines_dask.engine import Engine
from evalkit_engines_dask.local import local_cluster
from evalkit_engines_dask.store import attempt, save


def _quantities(value: Any) -> Any:
    """Read `gpu=1`, or a list of such texts."""
    texts = [value] if isinstance(value, str) else value
    if isinstance(texts, list) and all(isinstance(text, str) for text in texts):
        return dict(text.partition("=")[::2] for text in texts)
    return value


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
            description="Address of a scheduler to join, such as tls://HOST:8786. "
            "Default: start workers on this machine.",
        )
        workers: int | None = Field(
            None, ge=1, description="Workers to start. Default: the number of cores."
        )
        store: str = Field(
            "",
            description="Folder or URI that the driver and all workers can write. "
            "Required with `scheduler`. Default: a temporary folder.",
        )
        parts: int | None = Field(
            None,
            ge=1,
            description="Parts that examples are scored in. Default: by their size and "
            "the workers.",
        )
        bucketed: bool = Field(
            False,
            description="Whether file K of N of data and of predictions holds the ids "
            "of bucket K, so that they are read where they lie.",
        )
        insecure: bool = Field(
            False, description="Whether to join a remote scheduler without TLS."
        )
        resources: Annotated[dict[str, float], BeforeValidator(_quantities)] = Field(
            {}, description="Dask resources that a scoring task needs, such as gpu=1."
        )
        memory: str | None = Field(
            None,
            description="Memory at which a started worker is ended, such as 2GB. "
            "Default: no limit.",
        )
        wait: float = Field(
            30.0,
            gt=0,
            allow_inf_nan=False,
            description="Seconds to wait for a scheduler, and for its workers.",
        )

    def __init__(
        self, parameters: Parameters | None = None, *, client: Any = None, **values: Any
    ) -> None:
        self.parameters = parameters or self.Parameters(**values)
        self.resources = self.parameters.resources
        self.parts = self.parameters.parts
        self.bucketed = self.parameters.bucketed
        self.store = self.parameters.store
        self._given = client
        self._tasks: Dispatcher | None = None
        self._stack = ExitStack()

    @property
    def workers(self) -> int:  # type: ignore[override]
        """Number of workers that run tasks."""
        return self._tasks.workers if self._tasks else self.parameters.workers or 1

    @property
    def is_running(self) -> bool:  # type: ignore[override]
        """Whether it was entered."""
        return self._tasks is not None

    @property
    def lost(self) -> int:  # type: ignore[override]
        """Number of workers that were lost so far."""
        return self._tasks.lost if self._tasks else 0

    def __enter__(self) -> Self:
        """Start or join the workers, and check them."""
        try:
            self._start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def _start(self) -> None:
        given, stack, client = self.parameters, self._stack, self._given
        if client is not None:
            _refuse_open(client.scheduler.address, given.insecure)
        address, folder = given.scheduler, given.store
        if client is None and not address:
            cluster = local_cluster(given.workers, given.memory)
            address, folder = stack.enter_context(cluster)
        elif not folder:
            raise EvalkitError("a scheduler needs a store, which all workers can write")
        elif given.workers or given.memory:
            raise EvalkitError("workers and memory are those of the scheduler")
        self.store = given.store or folder
        if not is_remote(self.store):
            self.store = str(Path(self.store).resolve())
        client = client or self._connect(address)
        token = secrets.token_hex(16)
        name = save(self.store, attempt("check"), token)
        self._tasks = Dispatcher(client, (self.store, name), token, given.wait)
        stack.callback(self._tasks.end)
        self._tasks.start(given.workers or 1)

    def _connect(self, address: str) -> Any:
        address = address if "://" in address else f"tcp://{address}"
        _refuse_open(address, self.parameters.insecure)
        import distributed
        from distributed.utils import silence_logging_cmgr

        self._stack.enter_context(silence_logging_cmgr(logging.CRITICAL))
        try:
            client = distributed.Client(  # type: ignore[no-untyped-call]
                address, timeout=self.parameters.wait, set_as_default=False
            )
        except Exception as error:  # of sockets, of certificates, of Dask
            text = f"scheduler {address}: cannot connect: {described(error)}"
            if address.startswith("tls:"):
                text += ". Dask's configuration names the certificates (comm.tls)"
            raise EvalkitError(text) from error
        self._stack.callback(client.close, timeout=2)
        return client

    def __exit__(self, *_: object) -> None:
        """Leave the workers, and end those that were started."""
        self._tasks = None
        self._stack.close()

    def submit(
        self,
        function: Callable[..., Any],
        arguments: tuple[Any, ...],
        name: str,
        resources: Mapping[str, float],
    ) -> Task:
        """Start a call on any worker, as soon as one is free."""
        try:
            request = pickle.dumps((function, arguments))
        except Exception as error:  # an argument may raise anything
            text = f"{name}: cannot be sent to a worker: {described(error)}"
            raise EvalkitError(text) from error
        task = Task(name, request, resources)
        self._running().submit(task)
        return task

    def gather(
        self, tasks: Sequence[Task], done: Callable[[int, Any], None]
    ) -> list[Any]:
        """Wait for tasks, and return their values in order."""
        places = {id(task): place for place, task in enumerate(tasks)}
        values: list[Any] = [None] * len(tasks)
        ended = [task for task in tasks if task.is_done]
        running = self._running()
        try:
            while places:
                task = ended.pop() if ended else running.step()
                place = places.pop(id(task), None)
                if task is not None and place is not None:
                    if task.error is not None:
                        raise task.error
                    values[place] = task.value
                    done(place, task.value)
        except BaseException:
            self.cancel(tasks)
            raise
        return values

    def cancel(self, tasks: Sequence[Task]) -> None:
        """Stop tasks and forget them."""
        for task in tasks:
            self._running().cancel(task)

    def _running(self) -> Dispatcher:
        if self._tasks is None:
            raise EvalkitError("the engine is not started: use it in a with statement")
        return self._tasks


def _refuse_open(address: str, insecure: bool) -> None:
    """Refuse a scheduler that anybody in the network could speak to."""
    scheme, _, place = address.partition("://")
    host = place.rpartition(":")[0].strip("[]") or place
    is_loopback = host == "localhost" or scheme == "inproc"
    with suppress(ValueError):
        is_loopback = is_loopback or ip_address(host).is_loopback
    if scheme != "tls" and not is_loopback and not insecure:
        raise EvalkitError(
            f"scheduler {address}: refused without TLS, because whoever reaches a "
            "scheduler runs code on its workers. Use a tls:// address, or "
            "insecure=true in a network that you trust"
        )
