"""Backups: a dump of the database, and a manifest of what it needs of the store.

Files of the store never change. A copy of the store that was made after the dump holds
all that the dump names; the manifest says whether it does.
"""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import cast

from sqlalchemy import Connection, Engine, inspect, select

from evalkit.errors import EvalkitError, StorageError
from evalkit.places import join, local
from evalkit_services_server.database import migrate, reading
from evalkit_services_server.datasets import sha256_of
from evalkit_services_server.tables import DATASET, RUN, SUBMISSION

DUMP, MANIFEST = "database.dump", "store.json"


def backup(engine: Engine, folder: Path) -> int:
    """Write a backup to a new folder, and return the number of files in the manifest.

    The server and its workers may run meanwhile.
    """
    try:
        folder.mkdir(parents=True)
    except FileExistsError as error:
        raise StorageError(f"{folder}: exists already. Name a new folder") from error
    with reading(engine) as connection:  # rows that are there now are in the dump
        files = {uri: sha256_of(local(uri)) for uri in needed_files(connection)}
    _dump(engine, folder / DUMP)
    (folder / MANIFEST).write_text(json.dumps(files, indent=2), encoding="utf-8")
    return len(files)


def restore(engine: Engine, folder: Path) -> list[str]:
    """Restore a backup into an empty database, and say what is wrong with the store."""
    if not (folder / DUMP).is_file() or not (folder / MANIFEST).is_file():
        raise EvalkitError(f"{folder}: not a backup ({DUMP} or {MANIFEST} is missing)")
    with engine.connect() as connection:
        if inspect(connection).get_table_names():
            raise EvalkitError("the database has tables. Restore into an empty one")
    _load(engine, folder / DUMP)
    migrate(engine)
    files: dict[str, str] = json.loads((folder / MANIFEST).read_bytes())
    return [wrong for uri, sha256 in files.items() if (wrong := _fault(uri, sha256))]


def needed_files(connection: Connection) -> Iterator[str]:
    """Yield the files of the store that rows name; of a run, its `run.json`."""
    yield from connection.scalars(select(DATASET.c.uri))
    yield from connection.scalars(select(SUBMISSION.c.uri))
    for folder in connection.scalars(select(RUN.c.folder)):
        yield join(folder, "run.json")


def _fault(uri: str, sha256: str) -> str | None:
    """Say what is wrong with a file, or with those that a run's record lists."""
    from evalkit.runs import find_damage

    try:
        path = local(uri)
        if sha256_of(path) != sha256:
            return f"{uri}: differs from when the backup was made"
        is_run = uri.endswith("/run.json")
        damage = find_damage(local(uri.removesuffix("/run.json"))) if is_run else []
    except (EvalkitError, OSError) as error:
        return f"{uri}: {getattr(error, 'strerror', None) or error}"
    return damage[0] if damage else None


def _dump(engine: Engine, path: Path) -> None:
    if engine.dialect.name == "sqlite":
        with closing(engine.raw_connection()) as connection:
            connection.cursor().execute("VACUUM INTO ?", [str(path)])
    else:
        _run("pg_dump", engine, "--format=custom", "--no-owner", f"--file={path}")


def _load(engine: Engine, path: Path) -> None:
    if engine.dialect.name == "sqlite":
        with (
            closing(sqlite3.connect(path)) as dump,
            closing(engine.raw_connection()) as connection,
        ):
            dump.backup(cast(sqlite3.Connection, connection.driver_connection))
    else:
        options = "--no-owner", "--exit-on-error", "--single-transaction"
        _run("pg_restore", engine, *options, str(path))


def _run(program: str, engine: Engine, *arguments: str) -> None:
    """Run a program of PostgreSQL, which takes the password by the environment."""
    url = engine.url.set(drivername="postgresql", password=None)
    secret = {"PGPASSWORD": str(engine.url.password)} if engine.url.password else {}
    command = [program, f"--dbname={url.render_as_string()}", *arguments]
    try:
        ended = subprocess.run(
            command, env={**os.environ, **secret}, capture_output=True, text=True
        )
    except FileNotFoundError as error:
        raise EvalkitError(f"{program}: not installed on this machine") from error
    if ended.returncode:
        raise EvalkitError(f"{program}: {ended.stderr.strip()}")
