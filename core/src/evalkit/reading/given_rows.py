"""What a caller gives in Python: a path or a URI, a table, or rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from evalkit.base.failures import hook_failures
from evalkit.base.progress import Progress
from evalkit.base.violations import shorten
from evalkit.base.wording import first_of
from evalkit.errors import DataError, EvalkitError, StorageError
from evalkit.places.names import FetchedPath, is_remote, join, uri_of
from evalkit.reading.sharded import ShardedPath

_NO_ROWS = (bytes, bytearray, memoryview, Mapping)
"""What can be iterated over, but not for rows."""

_NAMED = 10
"""Files that a message names."""


def local_path(
    name: str | Path, progress: Progress = lambda _text, _share: None
) -> Path:
    """Return the path of what a user names as a file or folder to be read.

    Of a URI such as `s3://bucket/file` that is its copy in the cache, which calls
    itself by the URI.

    Raises:
        PluginError: The plugin of the URI's scheme is broken.
        StorageError: The URI cannot be fetched, or there is nothing.
    """
    if isinstance(name, FetchedPath) or not is_remote(str(name)):
        return Path(name) if isinstance(name, str) else name
    from evalkit.places.access import local

    return local(name, progress)


def local_file(
    name: str | Path, progress: Progress = lambda _text, _share: None
) -> Path:
    """Return the path of one file, as `local_path` does; fetch no folder.

    Raises:
        DataError: The URI is of a folder.
        PluginError: The plugin of its scheme is broken.
        StorageError: It cannot be fetched, or there is nothing.
    """
    path = file_at(name, progress)
    uri = getattr(path, "uri", "")
    if not uri or path.exists():
        return path
    from evalkit.places.access import missing, names_below

    names = names_below(uri)
    if not names:
        raise StorageError(missing(uri))
    raise DataError(
        f"{uri}: is a folder, not a file; name one of its files: "
        f"{first_of(names, _NAMED)}"
    )


def file_at(name: str | Path, progress: Progress = lambda _text, _share: None) -> Path:
    """Return a path; of a URI that of one object, whether it is there or not."""
    if isinstance(name, FetchedPath) or not is_remote(str(name)):
        return local_path(name)
    from evalkit.places.access import local_file, nothing_at

    return local_file(name, progress) or nothing_at(uri_of(name))


def path_beside(path: Path, name: str) -> Path:
    """Return the path of a file in the folder of another one; fetch it beside a URI."""
    uri = getattr(path, "uri", "")
    if not uri:
        return path.with_name(name)
    return file_at(join(uri.rpartition("/")[0], name))


def rows_of(
    predictions: Any,
    what: str = "predictions",
    progress: Progress = lambda _text, _share: None,
    *,
    may_be_folder: bool = False,
) -> str | Path | pl.DataFrame | Sequence[Mapping[str, Any]]:
    """Return predictions as a path, a polars data frame or a list."""
    if isinstance(predictions, ShardedPath):
        return predictions
    if isinstance(predictions, str | Path):
        return (local_path if may_be_folder else local_file)(predictions, progress)
    if isinstance(predictions, pl.LazyFrame) or hasattr(
        predictions, "__arrow_c_stream__"
    ):
        try:
            if isinstance(predictions, pl.LazyFrame):
                return predictions.collect()
            return pl.DataFrame(_with_index(predictions))
        except hook_failures() as error:
            raise DataError(
                f"the table of {what} cannot be read: {type(error).__name__}: {error}"
            ) from error
    if isinstance(predictions, _NO_ROWS) or not isinstance(predictions, Iterable):
        raise EvalkitError(
            f"{what} must be a path, a polars, pandas or Arrow table, or an iterable "
            f"of dicts, are {shorten(predictions)}"
        )
    return list(predictions)


def _with_index(table: Any) -> Any:
    """Make columns of those parts of pandas' index whose names no column has."""
    names = getattr(getattr(table, "index", None), "names", None)
    if names is None or not hasattr(table, "reset_index"):
        return table
    others = [name for name in names if name is not None and name not in table.columns]
    return table.reset_index(level=others) if others else table
