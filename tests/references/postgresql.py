"""A PostgreSQL server of one test or benchmark, on loopback, in a folder of its own."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4


def has_postgresql() -> bool:
    """Tell whether this machine can run one."""
    return shutil.which("initdb") is not None and shutil.which("pg_ctl") is not None


class Cluster:
    """A server that can be stopped and started again.

    Args:
        folder: An empty folder.
    """

    def __init__(self, folder: Path) -> None:
        self._data, self._log = folder / "data", folder / "log"
        with socket.create_server(("127.0.0.1", 0)) as free:
            self._port = free.getsockname()[1]
        if os.getuid() == 0:  # which PostgreSQL refuses
            shutil.chown(folder, "nobody")
        self._run("initdb", "--auth=trust", "--username=evalkit", "--no-sync")

    @property
    def url(self) -> str:
        """SQLAlchemy's address of the first database."""
        return f"postgresql+psycopg://evalkit@127.0.0.1:{self._port}/postgres"

    def add_database(self) -> str:
        """Add an empty database, and return its address."""
        from sqlalchemy import create_engine, text

        name = f"d{uuid4().hex}"
        engine = create_engine(self.url, isolation_level="AUTOCOMMIT")
        with engine.connect() as connection:
            connection.execute(text(f"CREATE DATABASE {name}"))
        engine.dispose()
        return self.url.replace("/postgres", f"/{name}")

    def start(self) -> None:
        """Start the server, and wait until it answers."""
        options = f"-p {self._port} -c listen_addresses=127.0.0.1 -k '' -F"
        self._run("pg_ctl", f"--log={self._log}", f"--options={options}", "-w", "start")

    def stop(self, mode: str = "immediate") -> None:
        """Stop the server; `immediate` is as if it crashed."""
        self._run("pg_ctl", f"--mode={mode}", "-w", "stop")

    def _run(self, program: str, *arguments: str) -> None:
        path = shutil.which(program)
        assert path is not None, f"{program}: not installed"
        user = ["setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups"]
        prefix = user if os.getuid() == 0 else []
        command = [*prefix, path, f"--pgdata={self._data}", *arguments]
        subprocess.run(
            command, check=True, cwd="/", stdout=subprocess.DEVNULL, timeout=120
        )


@contextmanager
def running_cluster() -> Iterator[Cluster]:
    """Yield a server that runs, and end it."""
    with tempfile.TemporaryDirectory(prefix="evalkit-postgresql-") as name:
        cluster = Cluster(Path(name))
        cluster.start()
        try:
            yield cluster
        finally:
            cluster.stop()
