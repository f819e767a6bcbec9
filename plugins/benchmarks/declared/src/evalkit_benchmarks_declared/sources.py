"""Stored rows of a benchmark's data: files, the hub, or a function."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path, PurePath
from typing import Any, NamedTuple

from evalkit.catalog import local_path
from evalkit.errors import DataError
from evalkit.examples.datasets import DATA_FOLDER_VARIABLE
from evalkit.places import is_remote, names_below, refuse_offline
from evalkit.plugins.sources import sha256_of
from evalkit.reading.formats import Format
from evalkit_adapters_rows import file_rows
from evalkit_benchmarks_declared.schema import Data

_FORMATS = {
    "parquet": Format.PARQUET,
    "jsonl": Format.JSON_LINES,
    "json": Format.JSON_ARRAY,
    "csv": Format.CSV,
    "tsv": Format.TSV,
    "arrow": Format.ARROW,
}


Rows = Callable[[str], Iterable[Mapping[str, Any]]]
"""Function of a stored split that gives stored rows."""


class StoredRow(NamedTuple):
    """A row as it is stored, and where."""

    place: str
    values: Mapping[str, Any]


def splits_of(data: Data) -> dict[str, list[str]]:
    """Return the stored splits of each split."""
    names = data.path if isinstance(data.path, Mapping) else ["test"]
    splits = data.splits or {name: name for name in names}
    return {name: _listed(stored) for name, stored in splits.items()}


def _listed(texts: str | list[str]) -> list[str]:
    return [texts] if isinstance(texts, str) else texts


def default_split(data: Data) -> str:
    """Return the split that is evaluated unless another is named."""
    splits = [*splits_of(data)]
    name = data.split or ("test" if "test" in splits else splits[0])
    if name not in splits:
        known = ", ".join(splits)
        raise DataError(f"data.split: unknown split {name!r}. Splits: {known}")
    return name


def stored_rows(
    data: Data, folder: Path, split: str, rows: Rows | None = None
) -> Iterator[StoredRow]:
    """Read the rows of a split; those of `rows` replace the data's own source."""
    for stored in splits_of(data)[split]:
        if rows is not None:
            yield from _numbered(f"split {stored!r}", rows(stored))
        else:
            for path in _files(data, folder, stored):
                yield from _rows_of_file(path, _FORMATS.get(data.format or ""))


def _numbered(place: str, rows: Iterable[Mapping[str, Any]]) -> Iterator[StoredRow]:
    for number, row in enumerate(rows, start=1):
        yield StoredRow(f"{place}: row {number}", row)


def _rows_of_file(path: Path, kind: Format | None) -> Iterator[StoredRow]:
    for row in file_rows(path, kind):
        place = f"{path}:{row.line}"
        if row.values is None or row.problem is not None:
            rule = row.problem.rule if row.problem else "cannot be read"
            raise DataError(f"{place}: {rule}")
        yield StoredRow(place, row.values)


def _files(data: Data, folder: Path, split: str) -> Iterator[Path]:
    if data.hub is not None:
        yield from hub_files(data.hub, split, data.config, data.revision)
        return
    paths = data.path if isinstance(data.path, Mapping) else {split: data.path or ""}
    several = {stored for each in splits_of(data).values() for stored in each}
    if paths is not data.path and "{split}" not in paths[split] and len(several) > 1:
        raise DataError("data.path: must name {split}, as there are several splits")
    if split not in paths:
        raise DataError(f"data.path: no split {split!r}. Splits: {', '.join(paths)}")
    for name in _listed(paths[split]):
        name = name.replace("{split}", split)
        path = local_path(name) if is_remote(name) else folder / name
        if not path.is_file():
            raise DataError(f"data.path: {path}: file not found")
        hashes = data.sha256
        expected = hashes.get(name, "") if isinstance(hashes, Mapping) else hashes
        sha256 = None if expected is None else sha256_of(path)
        if sha256 != expected:
            raise DataError(
                f"data.sha256: {path}: must be {expected or 'declared'}, got {sha256}"
            )
        yield path


def hub_file(hub: str, name: str, revision: str | None = None) -> Path:
    """Return a file of the hub; a copy in `EVALKIT_DATA_DIR/hub/…` is taken first."""
    copy = Path(os.environ.get(DATA_FOLDER_VARIABLE, ""), "hub", hub, name)
    if DATA_FOLDER_VARIABLE in os.environ and copy.is_file():
        return copy
    return local_path(f"hf://datasets/{hub}@{revision or 'main'}/{name}")


def hub_files(
    hub: str, split: str, config: str | None = None, revision: str | None = None
) -> list[Path]:
    """Find the files of a split of a dataset on the hub.

    A copy in `EVALKIT_DATA_DIR/hub/OWNER/NAME/[CONFIG/]SPLIT.jsonl` is taken first.
    Without a revision, the files are the hub's own conversion to Parquet.
    """
    own = Path(os.environ.get(DATA_FOLDER_VARIABLE, ""), "hub", hub, config or "")
    copies = [own / f"{split}.{suffix}" for suffix in _FORMATS]
    for path in copies if DATA_FOLDER_VARIABLE in os.environ else ():
        if path.is_file():
            return [path]
    uri = f"hf://datasets/{hub}@{revision or 'refs/convert/parquet'}"
    refuse_offline(uri)
    names = [name for name in names_below(uri) if _is_of(name, split, config, revision)]
    if not names:
        where = f"{uri}, configuration {config or 'default'}"
        raise DataError(f"data.hub: {where}: no files of the split {split!r}")
    if len({(PurePath(name).parent, PurePath(name).suffix) for name in names}) > 1:
        raise DataError(f"data.hub: several files: {', '.join(names)}. Name config")
    return [local_path(f"{uri}/{name}") for name in names]


def _is_of(name: str, split: str, config: str | None, revision: str | None) -> bool:
    """Tell whether a file of a hub's dataset is of a split."""
    *folders, file = name.split("/")
    if file.rpartition(".")[2] not in _FORMATS:
        return False
    if revision is None:
        return folders[:2] == [config or "default", split]
    words = [*folders, *re.split(r"[-.]", file), *re.split(r"[^A-Za-z0-9]+", name)]
    return split in words and (config is None or config in words)
