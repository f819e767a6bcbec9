"""The scan: datasets that are registered get to the store and into the database.

A dataset that is not in the store is sent there, by its own `load` if it is one of
Dynabench's, else by `publish`. It then gets a row, and the row requests evaluations of
all models of its task. A version that has a row is never requested again. A host adds
perturbed datasets from files that `evalkit perturb` wrote.
"""

from __future__ import annotations

import json
import logging
import re
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from sqlalchemy import Connection, Engine, delete, select

from evalkit import Dataset
from evalkit.catalog import BoundDataset, Registry, Resolver
from evalkit.errors import EvalkitError, ObjectExistsError
from evalkit.places import join, local_file
from evalkit_commands_publish import Publication, prepare_dataset, publish
from evalkit_services_server import datasets
from evalkit_services_server.database import insert, now, reading, writing
from evalkit_services_server.requests import end_outdated, request_all
from evalkit_services_server.settings import Settings
from evalkit_services_server.tables import BOARDS, DATASET, SCAN, TASK
from evalkit_services_server.tasks import round_to_join, task_id

LOG = logging.getLogger(__name__)

ADDED, PRESENT, CHANGED = "added", "present", "changed"
REFUSED, SKIPPED = "refused", "skipped"

INHERITED = "task_id", "round_id", "access", "board", "languages", "warning"
"""What perturbed examples have of their original."""


class ScanOutcome(NamedTuple):
    """What the scan did with one dataset."""

    name: str
    outcome: str
    """`added`; `present`; `changed`: the content of a version that has a row is
    another; `refused`: it could not be loaded or sent; `skipped`: its task is not on
    this server."""
    reason: str | None = None
    """Why, or what the host is to do next."""


def scan(engine: Engine, settings: Settings) -> list[ScanOutcome]:
    """Scan the registered datasets, and keep the outcomes in the table of scans.

    One that fails does not stop the others.
    """
    outcomes = [
        ScanOutcome(name, REFUSED, str(source))
        if isinstance(source, EvalkitError)
        else add_dataset(engine, settings, name, source)
        for name, source in datasets.registered(settings).items()
    ]
    with writing(engine) as connection:
        connection.execute(delete(SCAN))
        at = now(connection)
        rows = [{**outcome._asdict(), "at": at} for outcome in outcomes]
        if rows:
            connection.execute(SCAN.insert(), rows)
    return outcomes


def scan_and_log(engine: Engine, settings: Settings) -> None:
    """Scan the registered datasets, and log what is added, refused or changed."""
    for name, outcome, reason in scan(engine, settings):
        if outcome not in (PRESENT, SKIPPED):
            level = logging.INFO if outcome == ADDED else logging.WARNING
            why = f": {reason}" if reason else ""
            LOG.log(level, "dataset %s: %s%s", name, outcome, why)


def add_dataset(
    engine: Engine, settings: Settings, name: str, source: str | Dataset
) -> ScanOutcome:
    """Send one dataset to the store, add its row, and request its evaluations.

    The name has its parameters, and the source is what `evalkit.evaluate` takes.
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
    publication = prepare_dataset(
        bound, settings.store, staging, name=datasets.file_name(name)
    )
    fingerprint = datasets.sha256_of(publication.path)
    of_version = DATASET.c.name == name, DATASET.c.version == bound.version
    with reading(engine) as connection:
        known = connection.scalar(select(DATASET.c.fingerprint).where(*of_version))
    if known not in (None, fingerprint):
        reason = (
            f"version {bound.version} has other content than when it was added. Scores "
            "stay those of the stored content. Raise the version to evaluate the other"
        )
        return ScanOutcome(name, CHANGED, reason)
    if hasattr(bound.plugin, "_get_data_s3_path"):  # as Dynabench's datasets have
        uri = str(bound.call("load", split=bound.default_split))
    else:
        uri = send(publication, bound.version)
    if known is not None:
        return ScanOutcome(name, PRESENT)
    row: dict[str, Any] = dict(name=name, version=bound.version, uri=uri)
    row |= dict(fingerprint=fingerprint, languages=[*bound.languages])
    row |= dict(description=bound.description or "", source_url=bound.source_url)
    row |= dict(warning=bound.content_warning)
    # Dynabench calls the place of a dataset on the leaderboard its `access_type`
    given = getattr(bound.plugin, "access_type", None)
    board = str(getattr(given, "value", given))
    with writing(engine) as connection:
        former = datasets.newest_version(connection, name)
        row["access"] = former["access"] if former else settings.access
        own = board if board in BOARDS else "scoring"
        row["board"] = former["board"] if former else own
        row["task_id"] = task_id(connection, publication.facts["task"])
        row["round_id"] = round_to_join(connection, row["task_id"], bound.round_id)
        added = add_row(connection, row)
        outdated = end_outdated(connection, name) if added else []
    again = f"perturb it again, as {', '.join(outdated)} is of its former version"
    return ScanOutcome(name, ADDED if added else PRESENT, again if outdated else None)


def add_row(connection: Connection, values: Mapping[str, Any]) -> bool:
    """Add the row of a version, unless it has one, and request its evaluations."""
    row = insert(connection, DATASET).values(**values, added=now(connection))
    made = row.on_conflict_do_nothing(index_elements=["name", "version"])
    key = connection.scalar(made.returning(DATASET.c.id))
    if key is not None:
        request_all(connection, DATASET.c.id == key)
    return key is not None


def send(publication: Publication, version: str) -> str:
    """Publish a version of a dataset beside other versions, and return where it is."""
    try:
        return publish(publication).uri
    except ObjectExistsError:
        place = join(publication.folder, f"{publication.name}.manifest.json")
        manifest = local_file(place)
        if manifest is None or json.loads(manifest.read_bytes())["version"] == version:
            raise
    suffix = re.sub("[^a-zA-Z0-9._-]", "-", version)
    return publish(publication._replace(name=f"{publication.name}.{suffix}")).uri


def add_perturbed(
    engine: Engine, settings: Settings, path: str, original: str, prefix: str
) -> ScanOutcome:
    """Send perturbed examples to the store, and request evaluations of all models.

    Other content is a new version. The prefix is the family of the perturbations, which
    the task has as a delta metric.
    """
    with reading(engine) as connection:
        row = datasets.newest_version(connection, original)
    if row is None:
        raise EvalkitError(f"dataset {original!r} is not on this server")
    if row["parent_id"] is not None:
        raise EvalkitError(f"dataset {original!r} is perturbed already")
    name = f"{prefix}-{original}"
    perturbed = datasets.stored_dataset(settings, original, path, name)
    kept = datasets.stored_dataset(settings, original, row["uri"])
    with tempfile.TemporaryDirectory(prefix="evalkit-perturbed-") as folder:
        staging = Path(folder)
        (staging / "original").mkdir()
        first = prepare_dataset(kept, settings.store, staging / "original")
        sent = prepare_dataset(
            perturbed, settings.store, staging, name=datasets.file_name(name)
        )
        _check_originals(path, sent.path, original, first.path)
        fingerprint = datasets.sha256_of(sent.path)
        version = f"{row['version']}-{fingerprint[:8]}"
        sent = sent._replace(facts={**sent.facts, "version": version})
        uri = send(sent, version)
    values = {
        **{key: row[key] for key in INHERITED},
        **dict(parent_id=row["id"], perturbation=prefix, name=name, version=version),
        **dict(fingerprint=fingerprint, uri=uri),
    }
    with writing(engine) as connection:
        added = add_row(connection, values)
    return ScanOutcome(name, ADDED if added else PRESENT)


def _check_originals(path: str, perturbed: Path, name: str, original: Path) -> None:
    """Refuse perturbed examples whose original is missing or of another dataset."""
    known = {example["uid"] for example in _read(original)}
    for number, example in enumerate(_read(perturbed), 1):
        if example.get("input_id") not in known:
            raise EvalkitError(
                f"{path}: row {number} (uid {example['uid']!r}): input_id is "
                f"{example.get('input_id')!r}, expected the uid of an example of {name}"
            )


def _read(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8") as lines:
        yield from map(json.loads, lines)
