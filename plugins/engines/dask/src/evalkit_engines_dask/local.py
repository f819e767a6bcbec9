"""A cluster of this machine, in a process that ends with the driver, however it ends.

So a worker does not run the driver's main module, nor has the driver Dask's settings.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from evalkit.errors import EvalkitError

_LIBRARIES = ("POLARS_MAX", "RAYON_NUM", "OMP_NUM", "OPENBLAS_NUM", "MKL_NUM")
_ONE_THREAD = {f"{library}_THREADS": "1" for library in _LIBRARIES}
_QUIET = "ignore::UserWarning:multiprocessing.resource_tracker"  # of killed workers
_START = "import sys; sys.path[:] = {!r}; import {} as local; local.serve(*{!r})"


@contextmanager
def local_cluster(workers: int | None) -> Iterator[tuple[str, str]]:
    """Run workers; give the address of their scheduler, and a temporary folder."""
    folder = tempfile.mkdtemp(prefix="evalkit-dask-")
    code = _START.format([*map(str, sys.path)], __name__, (workers, folder))
    process = subprocess.Popen(
        [sys.executable, "-W", _QUIET, "-c", code],
        stdin=subprocess.PIPE,  # its end tells the cluster that the driver is gone
        stdout=subprocess.PIPE,
        env={**os.environ, **_ONE_THREAD},
        start_new_session=True,  # an interrupt reaches the driver only
    )
    try:
        import distributed  # noqa: F401 - meanwhile

        assert process.stdout is not None
        address = process.stdout.readline().decode().strip()
        if not address:
            raise EvalkitError("the local cluster did not start. See the error above")
        yield address, folder
    finally:
        with suppress(subprocess.TimeoutExpired):
            process.communicate(timeout=5)  # which closes its standard input
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)  # what a killed scheduler left
        process.wait()
        shutil.rmtree(folder, ignore_errors=True)


def serve(workers: int | None, folder: str) -> None:
    """Run a cluster in this process until the driver is gone."""
    import logging
    import multiprocessing

    import dask
    import distributed

    replies = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what a plugin prints must not fill the pipe to the driver
    settings = {
        "distributed.deploy.lost-worker-timeout": "1 day",  # or nothing restarts it
        # its limit for giving memory back costs half of a worker's time
        "distributed.nanny.pre-spawn-environ": {},
        "distributed.scheduler.allowed-failures": 2,
        "distributed.scheduler.http.routes": [],
        "distributed.scheduler.worker-saturation": 1.0,
        "distributed.scheduler.worker-ttl": None,  # a worker may be busy for long
        "distributed.worker.http.routes": [],
        "distributed.worker.profile.enabled": False,
        "temporary-directory": folder,
    }
    dask.config.set(settings)
    cluster = distributed.LocalCluster(  # type: ignore[no-untyped-call]
        n_workers=workers,
        threads_per_worker=1,
        memory_limit=0,  # and so nothing is spilled
        host="127.0.0.1",
        dashboard_address=None,
        scheduler_kwargs={"dashboard_address": "127.0.0.1:0"},  # of its HTTP server
        local_directory=folder,
        silence_logs=logging.CRITICAL,
    )
    with suppress(BrokenPipeError):  # the driver is gone already
        print(cluster.scheduler_address, file=replies, flush=True)
    sys.stdin.read()
    for worker in multiprocessing.active_children():
        worker.kill()
        worker.join()
    shutil.rmtree(folder, ignore_errors=True)
    os.killpg(0, signal.SIGTERM)  # which the tracker ignores
