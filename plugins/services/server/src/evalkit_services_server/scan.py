"""The scan: datasets that are registered get to the store and into the database.

A dataset that is not in the store is sent there, by its own `load` if it is one of
Dynabench's, else by `publish`. It then gets a row, and the row requests evaluations of
all models of its task. A version that has a row is never requested again.
"""

from __future__ import annotations

import json
import logging
import re
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from sqlalchemy import Connection, Engine, delete, select

from evalkit import Dataset
from evalkit.catalog import BoundDataset, Registry, Resolver
from evalkit.errors import EvalkitError, ObjectExistsError
from evalkit.places import join, local_file
from evalkit_commands_publish import Publication, prepare_dataset, publish
from evalkit_services_server.database import insert, now, reading, writing
from evalkit_services_server.datasets import (
    file_name,
    is_sent_by_load,
    registered,
    sha256_of,
)
from evalkit_services_server.requests import request_all
from evalkit_services_server.rounds import round_to_join
from evalkit_services_server.settings import Settings
from evalkit_services_server.tables import BOARDS, DATASET, SCAN, TASK
from evalkit_services_server.tasks import task_id

LOG = logging.getLogger(__name__)

ADDED, PRESENT, CHANGED = "added", "present", "changed"
REFUSED, SKIPPED = "refused", "skipped"


class ScanOutcome(NamedTuple):
    """What the scan did with one dataset."""

    name: str
    outcome: str
    """`added`; `present`; `changed`: the content of a version that has a row is
    another; `refused`: it could not be loaded or sent; `skipped`: its task is not on
    this server."""
    reason: str | None = None


def scan(engine: Engine, settings: Settings) -> list[ScanOutcome]:
    """Scan the registered datasets; one that fails does not stop the others.

    Returns:
        An outcome for each, which the table of scans keeps, too.
    """
    outcomes = []
    for name, source, reason in registered(settings):
        if source is None:
            outcome = ScanOutcome(name, REFUSED, reason)
        else:
            outcome = add_dataset(engine, settings, name, source)
        outcomes.append(outcome)
        with writing(engine) as connection:
            connection.execute(delete(SCAN).where(SCAN.c.name == name))
            row = {**outcome._asdict(), "at": now(connection)}
            connection.execute(SCAN.insert().values(row))
    return outcomes


def scan_and_log(engine: Engine, settings: Settings) -> None:
    """Scan the registered datasets, and log those that are refused or changed."""
    for outcome in scan(engine, settings):
        if outcome.outcome in (REFUSED, CHANGED):
            LOG.warning("dataset %s: %s: %s", *outcome)


def add_dataset(
    engine: Engine, settings: Settings, name: str, source: str | Dataset
) -> ScanOutcome:
    """Send one dataset to the store, add its row, and request its evaluations.

    Args:
        engine: The database.
        settings: They name the store.
        name: The name of its row, with parameters.
        source: What `evalkit.evaluate` takes.

    Returns:
        What was done.
    """
    resolver = Resolver(Registry())
    try:
        bound = resolver.dataset(source)
        code = resolver.task(bound).component.name
        with reading(engine) as connection:
            if not connection.scalar(select(TASK.c.id).where(TASK.c.code == code)):
                reason = f"its task {code} is not on this server"
                return ScanOutcome(name, SKIPPED, reason)
        with tempfile.TemporaryDirectory(prefix="evalkit-scan-") as staging:
            return _send(engine, settings, name, bound, Path(staging))
    except (EvalkitError, OSError) as error:
        return ScanOutcome(name, REFUSED, str(error))


def _send(
    engine: Engine, settings: Settings, name: str, bound: BoundDataset, staging: Path
) -> ScanOutcome:
    publication = prepare_dataset(bound, settings.store, staging, name=file_name(name))
    fingerprint = sha256_of(publication.path)
    of_version = DATASET.c.name == name, DATASET.c.version == bound.version
    with reading(engine) as connection:
        known = connection.scalar(select(DATASET.c.fingerprint).where(*of_version))
    if known not in (None, fingerprint):
        reason = (
            f"version {bound.version} has other content than when it was added. Scores "
            "stay those of the stored content. Raise the version to evaluate the other"
        )
        return ScanOutcome(name, CHANGED, reason)
    if is_sent_by_load(bound.plugin):
        uri = str(bound.call("load", split=bound.default_split))
    else:
        uri = send(publication, bound.version)
    if known is not None:
        return ScanOutcome(name, PRESENT)
    row = {
        "name": name,
        "version": bound.version,
        "fingerprint": fingerprint,
        "uri": uri,
        "languages": [*bound.languages],
        "description": bound.description or "",
        "source_url": bound.source_url,
        "warning": bound.content_warning,
        "access": settings.access,
        "board": _board(bound.plugin),
    }
    with writing(engine) as connection:
        task = task_id(connection, publication.facts["task"])
        joined = round_to_join(connection, task, bound.round_id)
        added = add_row(connection, {**row, "task_id": task, "round_id": joined})
    return ScanOutcome(name, ADDED if added else PRESENT)


def _board(dataset: object) -> str:
    """Return where scores are shown, which Dynabench calls the `access_type`."""
    given = getattr(dataset, "access_type", None)
    board = str(getattr(given, "value", given))
    return board if board in BOARDS else "scoring"


def add_row(connection: Connection, values: Mapping[str, Any]) -> int | None:
    """Add the row of a dataset that is in the store, and request its evaluations.

    Returns:
        The id of the row; None if the version has one already.
    """
    row = insert(connection, DATASET).values(**values, added=now(connection))
    made = row.on_conflict_do_nothing(index_elements=["name", "version"])
    found: int | None = connection.scalar(made.returning(DATASET.c.id))
    if found is not None:
        request_all(connection, DATASET.c.id == found)
    return found


def send(publication: Publication, version: str) -> str:
    """Publish a version of a dataset beside other versions, and return where it is.

    Raises:
        ObjectExistsError: Other content of the same version is there.
        StorageError: It cannot be written.
    """
    try:
        return publish(publication).uri
    except ObjectExistsError:
        place = join(publication.folder, f"{publication.name}.manifest.json")
        manifest = local_file(place)
        if manifest is None or json.loads(manifest.read_bytes())["version"] == version:
            raise
    suffix = re.sub("[^a-zA-Z0-9._-]", "-", version)
    return publish(publication._replace(name=f"{publication.name}.{suffix}")).uri
