"""Where a user says that examples are: a file, its shards, or a folder that has one."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from fnmatch import fnmatchcase
from glob import glob
from pathlib import Path, PurePosixPath
from typing import Any

from evalkit.base.wording import first_of
from evalkit.errors import DataError
from evalkit.places.names import FetchedPath, is_remote, join, uri_of
from evalkit.reading.formats import (
    MANIFEST_FILE,
    has_data_suffix,
    is_data_set,
    model_name,
)
from evalkit.reading.given_rows import local_path
from evalkit.reading.sharded import ShardedPath, by_split, refuse_incomplete

_DESCRIPTION = ".manifest.json"
"""What `evalkit publish` puts behind the name of the file that it describes."""

_NAMED = 10
"""Files that a message names."""


def data_path(name: str | Path) -> Path:
    """Return the path of what a user names as examples.

    Of a folder in a store no more is fetched than its one file of data, or the shards
    of its one split, or all of it where it is a data set with a manifest: what a hub
    keeps may be large.

    Args:
        name: A path, or a URI such as `hf://datasets/OWNER/NAME`; or a pattern of
            names, in which `*` stands for no slash.

    Raises:
        DataError: A folder has several files of data, or none; a pattern stands for
            none, or a shard is missing.
        PluginError: The plugin of the URI's scheme is broken.
        StorageError: The URI cannot be fetched, or there is nothing.
    """
    if isinstance(name, FetchedPath):
        return name
    if not is_remote(str(name)):
        return _of_this_machine(Path(name))
    from evalkit.places.access import local_file, names_below

    uri = uri_of(name)
    fetched = local_file(uri)
    if fetched is not None:
        return fetched
    scheme, _, place = uri.partition("://")
    bucket, _, key = place.partition("/")
    below, pattern = _parted(key)
    folder = f"{scheme}://{bucket}/{below}"
    names = names_below(folder)
    if pattern:
        depth = pattern.count("/")  # with as many, `*` stands for none
        names = [n for n in names if n.count("/") == depth and fnmatchcase(n, pattern)]
    elif not names or MANIFEST_FILE in names:
        return local_path(uri)  # says that there is nothing
    files = _of_data(names)
    if not pattern and len(by_split(files)) != 1:
        raise DataError(f"{uri}: {_which(files, len(names))}")
    return _chosen(uri, folder, files)


def shards_named(name: Any) -> Any:
    """Return the shards that a pattern of file names stands for, or else the name."""
    if not isinstance(name, str | Path) or not _parted(str(name))[1]:
        return name
    return name if os.path.lexists(name) else data_path(name)


def loaded_path(loaded: Any) -> Path | None:
    """Return the file or the shards that a data set loaded; None for another thing."""
    if isinstance(loaded, str | Path):
        return data_path(loaded)
    is_list = isinstance(loaded, list | tuple) and len(loaded) > 0
    if not is_list or not all(isinstance(each, Path) for each in loaded):
        return None
    names = [os.fspath(path.absolute()) for path in loaded]
    return _chosen(f"the {len(names):,} files that were loaded", "/", names)


def _of_this_machine(path: Path) -> Path:
    """Return a path, or the shards that it stands for."""
    text = os.fspath(path)
    if _parted(text)[1] and not os.path.lexists(path):
        found = glob(text)  # noqa: PTH207 - a path's own refuses "a**b"
        return _chosen(text, "", [each for each in found if has_data_suffix(each)])
    names: list[str] = []
    with suppress(OSError):  # who reads it says why
        if path.is_dir() and not is_data_set(path):
            names = _of_data([each.name for each in path.iterdir()])
    # a folder of anything else may be what an adapter reads
    is_split = len(names) > 1 and len(by_split(names)) == 1
    return _chosen(text, text, names) if is_split else path


def _of_data(names: Sequence[str]) -> list[str]:
    """Return the names of files that hold rows, not of what is said about these."""
    files = [each for each in names if has_data_suffix(each)]
    paths = [PurePosixPath(e) for e in files if not e.endswith(_DESCRIPTION)]
    described = {str(path.with_name(model_name(Path(path)))) for path in paths}
    return [each for each in files if each.removesuffix(_DESCRIPTION) not in described]


def _parted(text: str) -> tuple[str, str]:
    """Return the folder that a pattern begins in, and the rest: "" for no pattern."""
    parts = text.split("/")
    is_plain = [not any(each in part for each in "*?[") for part in parts]
    count = [*is_plain, False].index(False)
    return "/".join(parts[:count]), "/".join(parts[count:])


def _chosen(place: str, folder: str, names: Sequence[str]) -> Path:
    """Return the path of files that were chosen; of a store they are fetched."""
    if not names:
        raise DataError(f"{place}: no file of data has such a name")
    refuse_incomplete(place, names)
    if len(names) == 1:
        is_here = not is_remote(folder)
        return Path(folder, names[0]) if is_here else local_path(join(folder, names[0]))
    below, inner = names[0].rpartition("/")[0], [n.rpartition("/")[2] for n in names]
    if not is_remote(folder):
        return ShardedPath.of(Path(folder, below), inner)
    from evalkit.places.access import local_folder, nothing_at

    place = join(folder, below).rstrip("/")
    fetched = local_folder(place, set(inner).__contains__)
    return ShardedPath.of(fetched or nothing_at(place), inner)


def _which(files: list[str], count: int) -> str:
    """Say which file of a folder to name."""
    if not files:
        return f"is a folder of {count:,} files, none of which is read as data"
    return (
        f"is a folder with {len(files):,} files of data; name one of them, or those "
        "of one split by a pattern such as test-*.parquet: "
        f"{first_of([*by_split(files)], _NAMED)}"
    )
