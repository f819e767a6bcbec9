"""Finds a publisher's files: in the user's folder, the cache, or by fetching them."""

from __future__ import annotations

import hashlib
import os
import sys
from pathlib import Path

from evalkit.base.terms import Source
from evalkit.errors import DataError

DATA_FOLDER_VARIABLE = "EVALKIT_DATA_DIR"
CACHE_FOLDER_VARIABLE = "EVALKIT_CACHE_DIR"
OFFLINE_VARIABLE = "EVALKIT_OFFLINE"

_FALSE = {"", "0", "false", "no", "off"}


def is_offline() -> bool:
    """Tell whether `EVALKIT_OFFLINE` forbids the network."""
    return os.environ.get(OFFLINE_VARIABLE, "").strip().lower() not in _FALSE


def cache_folder() -> Path:
    """Return the folder that fetched files are kept in (`EVALKIT_CACHE_DIR`)."""
    chosen = os.environ.get(CACHE_FOLDER_VARIABLE)
    if chosen:
        return Path(chosen)
    import pooch

    return Path(pooch.os_cache("evalkit"))


def locate(dataset: str, filename: str, source: Source) -> Path:
    """Find a file of a data set.

    Looks in `EVALKIT_DATA_DIR/<dataset>/`, then in the cache, else fetches it with
    a progress bar, unless `EVALKIT_OFFLINE` is set. A file in the user's own folder
    is taken as it is; one in the cache must have the declared SHA-256.

    Args:
        dataset: Name of the data set.
        filename: Name of the file there.
        source: Where it comes from.

    Returns:
        The path of the local copy.

    Raises:
        DataError: It is nowhere to be had, or its SHA-256 is not the declared one.
    """
    data_folder = os.environ.get(DATA_FOLDER_VARIABLE)
    if data_folder:
        own = Path(data_folder) / dataset / filename
        if own.is_file():
            return own
    cached = cache_folder() / dataset / filename
    if cached.is_file():
        return _checked(cached, source)
    if is_offline():
        raise DataError(_how_to_provide(dataset, filename, source, "it is not there"))
    return _fetch(dataset, filename, source, cached)


def _checked(path: Path, source: Source) -> Path:
    if source.sha256:
        found = sha256_of(path)
        if found != source.sha256:
            raise DataError(
                f"{path}: its SHA-256 is {found}, declared is {source.sha256}; it is "
                f"not the publisher's file. Replace it with the one from {source.url}"
            )
    return path


def _fetch(dataset: str, filename: str, source: Source, cached: Path) -> Path:
    import pooch

    pooch.get_logger().setLevel("WARNING")
    try:
        pooch.retrieve(
            source.url,
            known_hash=source.sha256 and f"sha256:{source.sha256}",
            fname=cached.name,
            path=cached.parent,
            downloader=pooch.HTTPDownloader(progressbar=sys.stderr.isatty(), timeout=60)
            if source.url.startswith(("http://", "https://"))
            else None,
        )
    except Exception as error:
        reason = f"fetching it failed: {type(error).__name__}: {error}"
        raise DataError(_how_to_provide(dataset, filename, source, reason)) from error
    return cached


def _how_to_provide(dataset: str, filename: str, source: Source, reason: str) -> str:
    folder = os.environ.get(DATA_FOLDER_VARIABLE)
    wanted = Path(folder) / dataset / filename if folder else None
    place = (
        f"put it at {wanted}"
        if wanted
        else f"set {DATA_FOLDER_VARIABLE} to a folder FOLDER and put it at "
        f"FOLDER/{dataset}/{filename}"
    )
    offline = (
        f", or unset {OFFLINE_VARIABLE} to have it fetched" if is_offline() else ""
    )
    return (
        f"data set {dataset} needs the file {filename} ({reason}). Get it from "
        f"{source.url} and {place}{offline}"
    )


def sha256_of(path: Path) -> str:
    """Compute the SHA-256 of a file, as hex digits."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
