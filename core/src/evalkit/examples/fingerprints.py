"""Identifies the data of a split by what it holds."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

import polars as pl
from polars.datatypes import DataTypeClass

from evalkit.base.terms import Source
from evalkit.errors import DataError
from evalkit.examples.loading import ExampleRows
from evalkit.plugins.bound import BoundDataset
from evalkit.plugins.sources import locate, sha256_of

_HASHED_ROWS = 65_536
"""Rows that are written as JSON at a time to be hashed."""


def fingerprint(
    dataset: BoundDataset, loaded: ExampleRows
) -> tuple[str, tuple[Mapping[str, str], ...], tuple[str, ...]]:
    """Identify the data.

    Args:
        dataset: The data set.
        loaded: Its rows.

    Returns:
        SHA-256 of the data, name and SHA-256 of each file that it came from, and
        notices about files that are not the published ones.

    Raises:
        DataError: A column of data that came from no file cannot be hashed.
    """
    sources: Mapping[str, Source] = dataset.sources
    notices: list[str] = []
    files: list[Mapping[str, str]] = []
    if loaded.path is not None:
        hashed = loaded.sha256.result() if loaded.sha256 else sha256_of(loaded.path)
        files.append({"name": loaded.path.name, "sha256": hashed})
    used = getattr(dataset.plugin, "located_files", None) or {
        filename: locate(dataset.component.name, filename, source)
        for filename, source in sources.items()
    }
    for filename, source in sources.items():
        if filename not in used:
            continue
        found = sha256_of(used[filename])
        files.append({"name": filename, "sha256": found})
        if source.sha256 and found != source.sha256:
            notices.append(
                f"{filename} is not the published file (its SHA-256 is {found[:12]}…)"
            )
    digest = hashlib.sha256()
    if files:
        digest.update(json.dumps(files, sort_keys=True).encode())
    else:
        _hash_frame(digest, dataset, loaded)
    return digest.hexdigest(), tuple(files), tuple(notices)


def _hash_frame(digest: Any, dataset: BoundDataset, loaded: ExampleRows) -> None:
    """Hash rows as JSON lines, which do not tell how a frame is laid out in memory."""
    given = loaded.frame if loaded.given is None else loaded.given
    for name, dtype in given.schema.items():
        if dtype == pl.Object:
            raise DataError(
                f"{loaded.source(dataset)}: the column {name!r} holds values of the "
                f"type {dtype}, by which data cannot be identified"
            )
    plain = given.with_columns(
        pl.col(pl.Binary).bin.encode("hex"),
        # JSON has no NaN or infinity
        pl.col(pl.Float32, pl.Float64).cast(pl.String),
        *(_texts(given[name]) for name in given.columns if _lacks_json(given[name])),
    )
    for part in plain.iter_slices(_HASHED_ROWS):
        digest.update(part.write_ndjson().encode())


def _lacks_json(column: pl.Series) -> bool:
    """Tell whether a column holds bytes within other values, which JSON has not."""
    return column.dtype.is_nested() and _holds_bytes(column.dtype)


def _holds_bytes(dtype: pl.DataType | DataTypeClass) -> bool:
    if isinstance(dtype, pl.List | pl.Array):
        return _holds_bytes(dtype.inner)
    if isinstance(dtype, pl.Struct):
        return any(_holds_bytes(field.dtype) for field in dtype.fields)
    return dtype == pl.Binary


def _texts(column: pl.Series) -> pl.Series:
    return pl.Series(column.name, [repr(value) for value in column.to_list()])
