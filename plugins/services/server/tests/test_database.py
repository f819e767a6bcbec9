"""Backups of the database."""

from pathlib import Path
from threading import Event
from typing import Any

import pytest
from sqlalchemy import text

from evalkit.errors import EvalkitError
from evalkit_services_server.backups import backup, restore
from evalkit_services_server.evaluation import evaluate_job
from evalkit_services_server.tables import DATASET, JOB, METADATA, RUN, SUBMISSION


def test_a_backup_is_restored(world: Any, tmp_path: Path) -> None:
    settings, folder = world.settings, tmp_path / "backup"
    world.submit(world.add_model("vader"), world.predictions["vader"])
    assert evaluate_job(world.claim(), settings, world.engine, Event()) == "done"
    world.submit(world.add_model("afinn"), world.predictions["afinn"])
    assert backup(world.engine, folder) == 4
    with pytest.raises(EvalkitError, match="the database has tables"):
        restore(world.engine, folder)
    rows = {table: world.rows(table) for table in (DATASET, SUBMISSION, JOB, RUN)}
    with world.engine.begin() as connection:
        METADATA.drop_all(connection)
        connection.execute(text("DROP TABLE alembic_version"))
    assert restore(world.engine, folder) == []
    assert {table: world.rows(table) for table in rows} == rows
    assert evaluate_job(world.claim(), settings, world.engine, Event()) == "done"
