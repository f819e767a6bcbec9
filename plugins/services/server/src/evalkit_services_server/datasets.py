"""Datasets that are registered, and those that the store has."""

from __future__ import annotations

import hashlib
import os
import re
import sys
from copy import copy
from importlib import import_module
from pathlib import Path
from typing import Any, cast

from sqlalchemy import ColumnElement, Connection, RowMapping, Select, func, select

from evalkit import Dataset, Registry, find_components
from evalkit.catalog import Resolver, data_path
from evalkit.errors import EvalkitError
from evalkit_services_server.settings import Settings
from evalkit_services_server.tables import DATASET, ROUND, TASK

Source = str | Dataset | EvalkitError
"""What `evalkit.evaluate` takes, or why a registration is refused."""


def registered(settings: Settings) -> dict[str, Source]:
    """Return the datasets that are registered, by name, without loading them.

    Of two with one name, it is the one of a function that the settings name.
    """
    if settings.store.startswith("s3://"):
        bucket = settings.store.removeprefix("s3://").partition("/")[0]
        os.environ.setdefault("EVALKIT_S3_BUCKET", bucket)
    installed = (each.name for each in find_components().of_kind("datasets"))
    found: dict[str, Source] = {name: name for name in installed}
    for place in settings.datasets:
        found |= _of_function(place)
    return found


def _of_function(place: str) -> dict[str, Source]:
    """Return what `module:load_datasets` returns, or why it is refused."""
    module, _, attribute = place.partition(":")
    sys.path.append(str(Path.cwd()))  # as `python -m` finds a module
    try:
        datasets = getattr(import_module(module), attribute or "load_datasets")()
    except Exception as error:
        return {place: EvalkitError(f"{type(error).__name__}: {error}")}
    finally:
        sys.path.pop()
    if not isinstance(datasets, dict):
        reason = f"must return a dict of datasets by name, got {type(datasets)}"
        return {place: EvalkitError(reason)}
    return {str(key): _checked(key, dataset) for key, dataset in datasets.items()}


def _checked(key: Any, dataset: Any) -> Source:
    own = getattr(dataset, "name", None)
    if not isinstance(key, str) or not re.fullmatch("[a-z0-9-]{1,62}", key):
        why = f"name {key!r} may contain lower case letters, digits and dashes only"
    elif isinstance(dataset, type):
        why = f"{dataset.__name__} is a class, expected an instance of it"
    elif own != key:
        why = f"key {key!r} must equal the dataset's name {own!r}"
    else:
        return cast(Dataset, dataset)
    return EvalkitError(why)


def stored_dataset(
    settings: Settings, known: str, uri: str, name: str | None = None
) -> Dataset:
    """Return a dataset with its own converters and labels that reads from the store.

    It is registered as `known`, with parameters, and runs call it `name`.
    """
    source = registered(settings).get(known, known)
    if isinstance(source, EvalkitError):
        raise source
    stored: Any = copy(Resolver(Registry()).dataset(source).plugin)
    path, shown = data_path(uri), file_name(name or known)
    vars(stored).update(name=shown, adapters=(), load=lambda split: path)
    return cast(Dataset, stored)


def with_rounds() -> Select[Any]:
    """Select the datasets, with their task and round."""
    number = func.coalesce(ROUND.c.number, 0).label("round")
    more = TASK.c.component, ROUND.c.state.label("round_state")
    rows = select(DATASET, TASK.c.code.label("task"), number, *more)
    joined = DATASET.join(TASK).outerjoin(ROUND, ROUND.c.id == DATASET.c.round_id)
    return rows.select_from(joined)


def newest_of(task: int) -> Select[Any]:
    """Select the newest version of each dataset of a task, with its round."""
    newest = select(func.max(DATASET.c.id)).where(DATASET.c.task_id == task)
    rows = with_rounds().where(DATASET.c.id.in_(newest.group_by(DATASET.c.name)))
    return rows.order_by("round", DATASET.c.name)


def newest_version(connection: Connection, name: str) -> RowMapping | None:
    """Return the row of the newest version of a dataset."""
    versions = select(DATASET).where(DATASET.c.name == name)
    newest = versions.order_by(DATASET.c.id.desc()).limit(1)
    return connection.execute(newest).mappings().first()


def of_one_access(dataset: int) -> ColumnElement[bool]:
    """Choose a dataset with its versions and all that they were perturbed to."""
    original, own = DATASET.alias(), DATASET.alias()
    joined = own.outerjoin(original, original.c.id == own.c.parent_id)
    name = select(func.coalesce(original.c.name, own.c.name)).select_from(joined)
    name = name.where(own.c.id == dataset)
    versions = select(original.c.id).where(original.c.name == name.scalar_subquery())
    return DATASET.c.id.in_(versions) | DATASET.c.parent_id.in_(versions)


def file_name(name: str) -> str:
    """Return a dataset's name with parameters in the form of a name without."""
    return re.sub("[^a-z0-9]+", "-", name.lower()).strip("-")


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of a file, as hex digits."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
