"""Identifies the data of a split by what it holds."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import polars as pl

from evalkit.base.columns import all_named
from evalkit.base.terms import Source
from evalkit.errors import DataError
from evalkit.examples.datasets import locate
from evalkit.examples.rows import ExampleRows
from evalkit.places.names import FetchedPath
from evalkit.plugins.bound import BoundDataset
from evalkit.plugins.sources import sha256_of
from evalkit.reading.digests import file_digest
from evalkit.reading.steady_files import file_hashes, joined_digest

_HASHED_ROWS = 65_536
"""Rows that are written as JSON at a time to be hashed."""


class DataIdentity(NamedTuple):
    """What tells whether data is the same."""

    sha256: str
    """Of the digests of the files that it came from; of rows that came from none."""
    files: tuple[Mapping[str, str], ...]
    """Name and digest by blocks of each file."""
    notices: tuple[str, ...]
    """Which files are not the published ones."""
    rows_sha256: str | None = None
    """SHA-256 of the rows, where they did not come as a file; whatever held them, and
    in whatever order a row has its keys."""
    attached_sha256: str | None = None
    """SHA-256 of the files that rows name; None where they name none."""
    limit: int | None = None
    """How many examples the data set was asked for; None for all."""
    permanent: str | None = None
    """A URI that names the fetched file whatever is written later; None where it was
    not fetched, or its store has no such ones."""

    @property
    def key(self) -> str:
        """All of it in one text."""
        of_files = self.sha256 if self.files or self.rows_sha256 is None else None
        parts = of_files, self.rows_sha256, self.attached_sha256
        return "-".join(part for part in parts if part is not None)


def fingerprint(dataset: BoundDataset, loaded: ExampleRows) -> DataIdentity:
    """Identify the data."""
    sources: Mapping[str, Source] = dataset.sources
    notices: list[str] = []
    files: list[Mapping[str, str]] = []
    if loaded.path is not None:
        hashes = loaded.hashes
        files += hashes.result() if hashes else file_hashes(loaded.path)
    used = getattr(dataset.plugin, "located_files", None) or {
        filename: locate(dataset.component.name, filename, source)
        for filename, source in sources.items()
    }
    for filename, source in sources.items():
        if filename not in used:
            continue
        found = file_digest(used[filename])
        files.append({"name": filename, "sha256": found})
        if source.sha256 and found != source.sha256:
            found = sha256_of(used[filename])  # not by blocks
        if source.sha256 and found != source.sha256:
            notices.append(
                f"{filename} is not the published file (its SHA-256 is {found[:12]}…)"
            )
    sha256 = joined_digest([file["sha256"] for file in files])
    rows = None
    if loaded.path is None:
        rows = hash_frame(_by_name(_identifying(dataset, loaded), loaded))
        sha256 = sha256 if files else rows
    return DataIdentity(
        sha256,
        tuple(files),
        tuple(notices),
        rows,
        loaded.attached_sha256,
        loaded.limit,
        loaded.path.permanent if isinstance(loaded.path, FetchedPath) else None,
    )


def _identifying(dataset: BoundDataset, loaded: ExampleRows) -> pl.DataFrame:
    """Return the columns by which data is identified, which must have plain values."""
    frame = loaded.frame if loaded.given is None else loaded.given
    if loaded.identifying is not None:
        present = [name for name in frame.columns if name in loaded.identifying]
        frame = frame.select(all_named(present))
    for name, dtype in frame.schema.items():
        if dtype == pl.Object:
            raise DataError(
                f"{loaded.source(dataset)}: the column {name!r} holds values of the "
                f"type {dtype}, by which data cannot be identified"
            )
    return frame


def _by_name(frame: pl.DataFrame, loaded: ExampleRows) -> pl.DataFrame:
    """Return columns that do not tell what held them: in order, objects as JSON."""
    columns = []
    for name in sorted(frame.columns):
        column = frame[name]
        if column.null_count() == len(column):
            continue  # a row without the key says as much
        values: Sequence[Any] | None = None
        if column.dtype == pl.String:
            values = loaded.nested.get(name)
        elif _holds(column.dtype, pl.Struct):
            values = column.to_list()
        if values is not None:
            texts = [
                None
                if value is None
                else json.dumps(_without_nulls(value), sort_keys=True, default=str)
                for value in values
            ]
            column = pl.Series(name, texts, dtype=pl.String)
        columns.append(column)
    return pl.DataFrame(columns)


def _holds(dtype: Any, kind: type[pl.DataType]) -> bool:
    """Tell whether values are of a type, or hold others that are."""
    inner = [dtype.inner] if isinstance(dtype, pl.List | pl.Array) else []
    if isinstance(dtype, pl.Struct):
        inner = [field.dtype for field in dtype.fields]
    return dtype == kind or any(_holds(each, kind) for each in inner)


def _without_nulls(value: Any) -> Any:
    """Leave out what an object lacks, which a column of objects holds as null."""
    if isinstance(value, Mapping):
        return {
            str(key): _without_nulls(item)
            for key, item in value.items()
            if item is not None
        }
    is_list = isinstance(value, list | tuple)
    return [_without_nulls(item) for item in value] if is_list else value


def hash_frame(frame: pl.DataFrame) -> str:
    """Hash rows as JSON lines, which do not tell how a frame is laid out in memory."""
    digest = hashlib.sha256()
    plain = frame.with_columns(
        pl.col(pl.Binary).bin.encode("hex"),
        *(
            pl.Series(name, [repr(value) for value in frame[name].to_list()])
            # bytes within other values, which JSON has not
            if dtype.is_nested() and _holds(dtype, pl.Binary)
            else frame[name].cast(_with_texts(dtype))
            for name, dtype in frame.schema.items()
            if dtype != pl.Binary
        ),
    )
    for part in plain.iter_slices(_HASHED_ROWS):
        digest.update(part.write_ndjson().encode())
    return digest.hexdigest()


def _with_texts(dtype: Any) -> Any:
    """Put texts in the place of floats, as JSON has no NaN or infinity."""
    if isinstance(dtype, pl.Struct):
        return pl.Struct([pl.Field(f.name, _with_texts(f.dtype)) for f in dtype.fields])
    if isinstance(dtype, pl.List):
        return pl.List(_with_texts(dtype.inner))
    if isinstance(dtype, pl.Array):
        return pl.Array(_with_texts(dtype.inner), dtype.shape[0])
    return pl.String if dtype.is_float() else dtype
