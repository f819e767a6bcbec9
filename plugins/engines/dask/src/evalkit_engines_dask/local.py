"""A cluster of this machine: one process that holds the scheduler and its workers.

The driver starts it as a program of its own, so that neither the driver's main module
runs again in a worker nor Dask's settings and threads reach the driver. It ends with
the driver, however that ends, and its workers end with it.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from contextlib import suppress
from typing import Any

from evalkit.errors import EvalkitError

ONE_THREAD = dict.fromkeys(
    (
        "POLARS_MAX_THREADS",
        "RAYON_NUM_THREADS",
        "ARROW_NUM_THREADS",
        "OMP_NUM_THREADS",
        "OPENBLAS_NUM_THREADS",
        "MKL_NUM_THREADS",
        "NUMEXPR_NUM_THREADS",
        "VECLIB_MAXIMUM_THREADS",
    ),
    "1",
)
"""Variables that keep a library from starting a thread for each core."""

_START = "import sys; sys.path[:] = {path!r}; import {module}; {module}.serve()"

_GRACE = 5.0
"""Seconds that the cluster gets to end."""


class LocalCluster:
    """A scheduler and workers of this machine, on the loopback address.

    Args:
        workers: Number of workers. None: as many as cores.
        memory: Memory at which a worker is ended, such as `2GB`. None: no limit.
    """

    def __init__(self, workers: int | None, memory: str | None) -> None:
        self.folder = tempfile.mkdtemp(prefix="evalkit-dask-")
        options = {"workers": workers, "memory": memory, "folder": self.folder}
        self._process = subprocess.Popen(
            [sys.executable, "-c", _START.format(path=sys.path, module=__name__)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, **ONE_THREAD},
            start_new_session=True,  # an interrupt reaches the driver only
        )
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(options).encode() + b"\n")
        self._process.stdin.flush()

    def address(self) -> str:
        """Wait for the scheduler, and return its address.

        Raises:
            EvalkitError: The cluster did not start.
        """
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise EvalkitError(
                "the local cluster did not start (exit code "
                f"{self._process.wait(_GRACE)}). Its error stands above"
            )
        return line.decode().strip()

    def is_alive(self) -> bool:
        """Tell whether the process of the scheduler is alive."""
        return self._process.poll() is None

    def end(self) -> None:
        """End all processes, and remove the folder."""
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait(_GRACE)
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                stream.close()
        shutil.rmtree(self.folder, ignore_errors=True)


def serve() -> None:
    """Run a cluster in this process until the driver is gone."""
    options = json.loads(sys.stdin.readline())
    replies = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what a plugin prints must not fill the pipe to the driver
    folder = options["folder"]
    try:
        with _cluster(options["workers"], options["memory"], folder) as cluster:
            print(cluster.scheduler_address, file=replies, flush=True)
            sys.stdin.read()
            _kill_children()
            shutil.rmtree(folder, ignore_errors=True)
            os.killpg(0, signal.SIGKILL)
    except BrokenPipeError:  # the driver ended while this started
        shutil.rmtree(folder, ignore_errors=True)


def _cluster(workers: int | None, memory: str | None, folder: str) -> Any:
    import logging

    import dask
    import distributed

    dask.config.set(
        {
            "distributed.scheduler.worker-ttl": None,
            "distributed.worker.memory.target": False,
            "distributed.worker.memory.spill": False,
            "distributed.worker.memory.pause": False,
            "distributed.worker.profile.enabled": False,
        }
    )
    return distributed.LocalCluster(  # type: ignore[no-untyped-call]
        n_workers=workers,
        threads_per_worker=1,
        memory_limit=memory or 0,
        host="127.0.0.1",
        dashboard_address=None,
        local_directory=folder,
        silence_logs=logging.CRITICAL,
    )


def _kill_children() -> None:
    import multiprocessing

    for process in multiprocessing.active_children():
        process.kill()
