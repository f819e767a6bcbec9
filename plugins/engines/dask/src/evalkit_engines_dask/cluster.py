"""Dask: a cluster of this machine, or one that runs somewhere else."""

from __future__ import annotations

import logging
from contextlib import ExitStack, suppress
from ipaddress import ip_address
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import BeforeValidator, Field

import evalkit
from evalkit.catalog import described
from evalkit.errors import EvalkitError
from evalkit.places import is_remote
from evalkit_engines_dask.dispatch import Dispatcher
from evalkit_engines_dask.local import local_cluster


def _quantities(value: Any) -> Any:
    """Read `gpu=1`, or a list of such texts."""
    texts = [value] if isinstance(value, str) else value
    if isinstance(texts, list) and all(isinstance(text, str) for text in texts):
        return dict(text.partition("=")[::2] for text in texts)
    return value


class Dask(Dispatcher):
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
            None, description="Memory limit of each started worker, such as 2GB."
        )
        wait: float = Field(
            30.0,
            gt=0,
            allow_inf_nan=False,
            description="Seconds to wait for a scheduler or for workers.",
        )

    def __init__(
        self, parameters: Parameters | None = None, *, client: Any = None, **values: Any
    ) -> None:
        super().__init__()
        self.parameters = parameters or self.Parameters(**values)
        self.resources = self.parameters.resources
        self.parts = self.parameters.parts
        self.bucketed = self.parameters.bucketed
        self.store = self.parameters.store
        self._given, self._stack = client, ExitStack()

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
        stack.callback(self._end)
        self._begin(client, given.workers or 1, given.wait)

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
        self._stack.close()


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
