"""Perturbed datasets, which a host adds from a file that `evalkit perturb` wrote."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sqlalchemy import Engine

from evalkit.errors import EvalkitError
from evalkit_commands_publish import prepare_dataset
from evalkit_services_server.database import reading, writing
from evalkit_services_server.datasets import (
    file_name,
    newest_version,
    sha256_of,
    stored_dataset,
)
from evalkit_services_server.scan import ADDED, PRESENT, ScanOutcome, add_row, send
from evalkit_services_server.settings import Settings

INHERITED = "task_id", "round_id", "access", "board", "languages", "warning"


def add_perturbed(
    engine: Engine, settings: Settings, path: str, original: str, prefix: str
) -> ScanOutcome:
    """Send perturbed examples to the store, and request evaluations of all models.

    Other content is a new version. The prefix is the family of the perturbations, which
    the task has as a delta metric.

    Raises:
        EvalkitError: The original is not on this server, the examples are not of it,
            or they cannot be sent.
    """
    with reading(engine) as connection:
        row = newest_version(connection, original)
    if row is None:
        raise EvalkitError(f"dataset {original!r} is not on this server")
    if row["parent_id"] is not None:
        raise EvalkitError(f"dataset {original!r} is perturbed already")
    name = f"{prefix}-{original}"
    perturbed = stored_dataset(settings, original, path, name)
    kept = stored_dataset(settings, original, row["uri"])
    with tempfile.TemporaryDirectory(prefix="evalkit-perturbed-") as folder:
        staging = Path(folder)
        (staging / "original").mkdir()
        first = prepare_dataset(kept, settings.store, staging / "original")
        sent = prepare_dataset(perturbed, settings.store, staging, name=file_name(name))
        _check_originals(path, sent.path, original, first.path)
        fingerprint = sha256_of(sent.path)
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
