"""The database: SQLite of one machine, or PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from importlib.resources import files
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event, inspect, text
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.schema import Table

from evalkit.errors import EvalkitError
from evalkit_services_server.settings import Settings


def connect(settings: Settings) -> Engine:
    """Return the pool of connections; one that is lost is replaced at its next use."""
    if not settings.is_sqlite:
        return create_engine(settings.database, pool_pre_ping=True)
    engine = create_engine(settings.database, connect_args={"timeout": 60})

    @event.listens_for(engine, "connect")
    def prepare(connection: Any, _record: Any) -> None:
        # BEGIN is ours, as the driver's would take the lock too late
        connection.isolation_level = None
        for setting in ("journal_mode=WAL", "foreign_keys=ON", "synchronous=FULL"):
            connection.execute(f"PRAGMA {setting}")

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        writes = connection.get_execution_options().get("writes", False)
        connection.exec_driver_sql(f"BEGIN {'IMMEDIATE' if writes else 'DEFERRED'}")

    return engine


@contextmanager
def writing(engine: Engine) -> Iterator[Connection]:
    """Open a transaction that writes; it is undone if the block raises."""
    writes = engine.connect().execution_options(writes=True)
    with writes as connection, connection.begin():
        yield connection


@contextmanager
def reading(engine: Engine) -> Iterator[Connection]:
    """Open a transaction that reads one state of the database."""
    with engine.connect() as connection, connection.begin():
        yield connection


def now(connection: Connection) -> datetime:
    """Return the time by the clock of the database, in UTC."""
    if connection.dialect.name == "sqlite":
        found = connection.scalar(text("SELECT strftime('%Y-%m-%dT%H:%M:%f', 'now')"))
        return datetime.fromisoformat(str(found)).replace(tzinfo=UTC)
    moment: datetime = connection.scalar(text("SELECT clock_timestamp()"))
    return moment.astimezone(UTC)


def insert(connection: Connection, table: Table) -> sqlite.Insert | postgresql.Insert:
    """Return an INSERT of the database's dialect, which knows ON CONFLICT."""
    if connection.dialect.name == "sqlite":
        return sqlite.insert(table)
    return postgresql.insert(table)


@contextmanager
def opened(creates: bool = False) -> Iterator[tuple[Engine, Settings]]:
    """Open the database at this version; refuse a missing one unless it is created."""
    engine = connect(settings := Settings())
    path = engine.url.database if settings.is_sqlite else None
    try:
        is_missing = path is not None and not Path(path).is_file()
        if not creates and (is_missing or not inspect(engine).has_table("task")):
            raise EvalkitError(
                f"{engine.url.render_as_string()}: not the database of a server. "
                "Set EVALKIT_SERVER_DATABASE, or change to the folder of the server"
            )
        migrate(engine)
        yield engine, settings
    finally:
        engine.dispose()


def migrate(engine: Engine) -> None:
    """Bring the tables to this version; one process at a time does it."""
    from alembic import command
    from alembic.config import Config

    folder = files("evalkit_services_server") / "migrations"
    config = Config()
    config.set_main_option("script_location", str(folder))
    with writing(engine) as connection:
        if connection.dialect.name == "postgresql":
            connection.execute(text("SELECT pg_advisory_xact_lock(738251)"))
        config.attributes["connection"] = connection
        command.upgrade(config, "head")
