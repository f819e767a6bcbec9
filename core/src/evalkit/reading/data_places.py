"""Where a user says that examples are: a file, or a folder that has one."""

from __future__ import annotations

from pathlib import Path

from evalkit.errors import DataError
from evalkit.reading.formats import MANIFEST_FILE, has_data_suffix
from evalkit.reading.given_rows import local_path
from evalkit.storage.fetched import FetchedPath
from evalkit.storage.places import is_remote, join, uri_of

_NAMED = 10
"""Files that a message names."""


def data_path(name: str | Path) -> Path:
    """Return the path of what a user names as examples.

    Of a folder in a store no more is fetched than its one file of data, or all of it
    where it is a data set with a manifest: what a hub keeps may be large.

    Args:
        name: A path, or a URI such as `hf://datasets/OWNER/NAME`.

    Raises:
        DataError: A folder has several files of data, or none.
        PluginError: The plugin of the URI's scheme is broken.
        StorageError: The URI cannot be fetched, or there is nothing.
    """
    if isinstance(name, FetchedPath) or not is_remote(str(name)):
        return local_path(name)
    from evalkit.storage.fetching import fetch_file, names_below

    uri = uri_of(name)
    found = fetch_file(uri)
    if found is not None:
        return found
    names = names_below(uri)
    if not names or MANIFEST_FILE in names:
        return local_path(uri)  # says that there is nothing
    files = [each for each in names if has_data_suffix(each)]
    if len(files) != 1:
        raise DataError(f"{uri}: {_which(files, len(names))}")
    return local_path(join(uri, files[0]))


def _which(files: list[str], count: int) -> str:
    """Say which file of a folder to name."""
    if not files:
        return f"is a folder of {count:,} files, none of which is read as data"
    more = f" and {len(files) - _NAMED:,} more" if len(files) > _NAMED else ""
    return (
        f"is a folder with {len(files):,} files of data; name one of them: "
        f"{', '.join(files[:_NAMED])}{more}"
    )
