"""Where files of data sets are kept on this machine, and whether others are fetched."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from pathlib import Path

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


def hash_files(files: Sequence[Path]) -> dict[str, str]:
    """Hash files by their places to the first one."""
    places = {os.path.relpath(each, files[0].parent): each for each in files}
    return {name.replace(os.sep, "/"): sha256_of(each) for name, each in places.items()}


def sha256_of(path: Path) -> str:
    """Compute the SHA-256 of a file, as hex digits."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
