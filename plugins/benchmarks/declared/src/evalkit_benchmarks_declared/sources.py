"""Stored rows of a benchmark's data: files, the hub, or a function."""

from __future__ import annotations

import importlib
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from evalkit.catalog import local_path, run_file
from evalkit.errors import DataError, PluginLoadError
from evalkit.examples.datasets import DATA_FOLDER_VARIABLE
from evalkit.places import is_remote, names_below
from evalkit.plugins.sources import sha256_of
from evalkit_adapters_rows import file_rows
from evalkit_benchmarks_declared.schema import Data, Generator

TEST = "test"
"""Name of the split where a file names none."""

_CONVERTED = "refs/convert/parquet"
"""Branch of the hub with every dataset as Parquet files."""

_SUFFIXES = ("parquet", "jsonl", "json", "csv", "tsv", "arrow")


class StoredRow(NamedTuple):
    """A row as it is stored, and where."""

    place: str
    values: Mapping[str, Any]


def splits_of(data: Data) -> dict[str, list[str]]:
    """Return the stored splits of each split."""
    if data.splits is not None:
        return {
            name: [stored] if isinstance(stored, str) else list(stored)
            for name, stored in data.splits.items()
        }
    names = list(data.path) if isinstance(data.path, Mapping) else [TEST]
    return {name: [name] for name in names}


def default_split(data: Data) -> str:
    """Return the split that is evaluated unless another is named.

    Raises:
        DataError: `split` is none of the splits.
    """
    splits = [*splits_of(data)]
    name = data.split or (TEST if TEST in splits else splits[0])
    if name not in splits:
        raise DataError(
            f"data.split: unknown split {name!r}. Splits: {', '.join(splits)}"
        )
    return name


def stored_rows(
    data: Data,
    folder: Path,
    split: str,
    rows: Callable[[str], Iterable[Mapping[str, Any]]] | None = None,
) -> Iterator[StoredRow]:
    """Read the rows of a split, before anything changes them.

    Args:
        data: What the file says of its data.
        folder: Folder of the file.
        split: The split.
        rows: Function of a stored split that replaces the data's own source.

    Yields:
        The rows, those of several stored splits one after another.

    Raises:
        DataError: They cannot be read.
    """
    for stored in splits_of(data)[split]:
        if rows is not None:
            yield from _numbered(f"split {stored!r}", rows(stored))
        elif data.generator is not None:
            function = _function(data.generator, folder)
            arguments = data.generator.arguments
            made = function(stored, **arguments)
            yield from _numbered(data.generator.function, made)
        else:
            for path in _files(data, folder, stored):
                yield from _rows_of_file(path)


def _numbered(place: str, rows: Iterable[Mapping[str, Any]]) -> Iterator[StoredRow]:
    for number, row in enumerate(rows, start=1):
        yield StoredRow(f"{place}: row {number}", row)


def _rows_of_file(path: Path) -> Iterator[StoredRow]:
    for row in file_rows(path):
        if row.values is None or row.problem is not None:
            rule = row.problem.rule if row.problem else "cannot be read"
            raise DataError(f"{path}:{row.line}: {rule}")
        yield StoredRow(f"{path}:{row.line}", row.values)


def _function(generator: Generator, folder: Path) -> Callable[..., Any]:
    module, _, name = generator.function.rpartition(":")
    try:
        if module.endswith(".py"):
            owner: Any = run_file(folder / module)
        else:
            owner = importlib.import_module(module)
        function = getattr(owner, name)
    except (ImportError, AttributeError) as error:
        raise PluginLoadError(f"data.generator.function: {error}") from error
    if not callable(function):
        raise PluginLoadError(f"data.generator.function: {name} is not callable")
    return function  # type: ignore[no-any-return]


def _paths(data: Data, split: str) -> list[str]:
    if isinstance(data.path, Mapping):
        if split not in data.path:
            known = ", ".join(data.path)
            raise DataError(
                f"data.path: no file of the split {split!r}. Splits: {known}"
            )
        paths = data.path[split]
        found = [paths] if isinstance(paths, str) else list(paths)
    else:
        found = [data.path or ""]
    return [path.replace("{split}", split) for path in found]


def _files(data: Data, folder: Path, split: str) -> Iterator[Path]:
    if data.hub is not None:
        yield from hub_files(data.hub, split, data.config, data.revision)
        return
    for name in _paths(data, split):
        path = local_path(name) if is_remote(name) else folder / name
        if not path.is_file():
            raise DataError(f"data.path: {path}: file not found")
        _check_sha256(data, name, path)
        yield path


def _check_sha256(data: Data, name: str, path: Path) -> None:
    expected = data.sha256 if isinstance(data.sha256, str) else None
    if isinstance(data.sha256, Mapping):
        expected = data.sha256.get(name)
    if expected is None:
        return
    found = sha256_of(path)
    if found != expected.lower():
        raise DataError(f"data.sha256: {path}: SHA-256 must be {expected}, got {found}")


def hub_files(
    hub: str, split: str, config: str | None = None, revision: str | None = None
) -> list[Path]:
    """Find the files of a split of a dataset on the hub.

    A copy in `EVALKIT_DATA_DIR/hub/OWNER/NAME/[CONFIG/]SPLIT.jsonl` (or `.parquet` …)
    is taken first. Without a revision, the files are those of the hub's own conversion
    to Parquet; with one, the dataset's files whose name has the split.

    Args:
        hub: `OWNER/NAME`.
        split: The stored split.
        config: The configuration.
        revision: Commit or tag.

    Returns:
        Paths of local copies.

    Raises:
        DataError: There are no such files.
        StorageError: The hub cannot be read.
    """
    root = os.environ.get(DATA_FOLDER_VARIABLE)
    if root:
        own = Path(root) / "hub" / hub / (config or "")
        copies = [own / f"{split}.{suffix}" for suffix in _SUFFIXES]
        found = [path for path in copies if path.is_file()]
        if found:
            return found[:1]
    uri = f"hf://datasets/{hub}@{revision or _CONVERTED}"
    names = [name for name in names_below(uri) if _is_of(name, split, config, revision)]
    if not names:
        where = f"{uri}, configuration {config or 'default'}"
        raise DataError(f"data.hub: {where}: no files of the split {split!r}")
    return [local_path(f"{uri}/{name}") for name in names]


def _is_of(name: str, split: str, config: str | None, revision: str | None) -> bool:
    *folders, file = name.split("/")
    if file.rpartition(".")[2] not in _SUFFIXES:
        return False
    if revision is None:
        return folders[:2] == [config or "default", split]
    words = re.split(r"[^A-Za-z0-9]+", name)
    has_split = split in folders or split in re.split(r"[-.]", file) or split in words
    return has_split and (
        config is None or config in folders or file.startswith(config)
    )
