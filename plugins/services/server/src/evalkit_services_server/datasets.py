"""Datasets that are registered, and those that the store has."""

from __future__ import annotations

import hashlib
import os
import re
import sys
from collections.abc import Iterator
from copy import copy
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple, cast

from sqlalchemy import ColumnElement, Connection, RowMapping, func, select

from evalkit import Dataset, Registry, find_components
from evalkit.catalog import Resolver, data_path
from evalkit_services_server.settings import Settings
from evalkit_services_server.tables import DATASET


class Registered(NamedTuple):
    """A dataset that is registered."""

    name: str
    source: str | Dataset | None
    """What `evalkit.evaluate` takes; None if the registration is refused."""
    reason: str | None = None
    """Why it is refused."""


def registered(settings: Settings) -> list[Registered]:
    """Return the datasets that are registered, each name once, without loading them.

    Of two with one name, it is the one of a function that the settings name.
    """
    if settings.store.startswith("s3://"):
        bucket = settings.store.removeprefix("s3://").partition("/")[0]
        os.environ.setdefault("EVALKIT_S3_BUCKET", bucket)
    installed = (each.name for each in find_components().of_kind("datasets"))
    found = {name: Registered(name, name) for name in installed}
    for place in settings.datasets:
        found |= {each.name: each for each in _of_function(place)}
    return list(found.values())


def _of_function(place: str) -> Iterator[Registered]:
    """Yield what `module:load_datasets` returns, or why it is refused."""
    module, _, attribute = place.partition(":")
    sys.path.append(str(Path.cwd()))  # as `python -m` finds a module
    try:
        datasets = getattr(import_module(module), attribute or "load_datasets")()
    except Exception as error:
        yield Registered(place, None, f"{type(error).__name__}: {error}")
        return
    finally:
        sys.path.pop()
    if not isinstance(datasets, dict):
        reason = f"must return a dict of datasets by name, got {type(datasets)}"
        yield Registered(place, None, reason)
        return
    for key, dataset in datasets.items():
        refusal = _refusal(key, dataset)
        yield Registered(str(key), None if refusal else dataset, refusal)


def _refusal(key: Any, dataset: Any) -> str | None:
    if not isinstance(key, str) or not re.fullmatch("[a-z0-9-]{1,62}", key):
        return f"name {key!r} may contain lower case letters, digits and dashes only"
    if isinstance(dataset, type):
        return f"{dataset.__name__} is a class, expected an instance of it"
    own = getattr(dataset, "name", None)
    return None if own == key else f"key {key!r} must equal the dataset's name {own!r}"


def stored_dataset(
    settings: Settings, known: str, uri: str, name: str | None = None
) -> Dataset:
    """Return a dataset with its own converters and labels that reads from the store.

    It is registered as `known`, with parameters, and runs call it `name`.
    """
    sources = {each.name: each.source for each in registered(settings)}
    bound = Resolver(Registry()).dataset(sources.get(known) or known)
    stored: Any = copy(bound.plugin)
    path, shown = data_path(uri), file_name(name or known)
    vars(stored).update(name=shown, adapters=(), load=lambda split: path)
    return cast(Dataset, stored)


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
