"""Batches that are under way, so that a process that was killed goes on with them."""

from __future__ import annotations

import json
import time
from contextlib import suppress
from pathlib import Path

from evalkit.errors import StorageError
from evalkit.places import cache_folder
from evalkit.reporting import new_file

FOLDER = "openai-batches"
"""The folder in `EVALKIT_CACHE_DIR`."""


_DAYS = 40
"""After so many a server has forgotten a batch, and so does evalkit."""


class Unfinished:
    """Names of batches, by what is asked in them; their replies are not kept here."""

    def __init__(self) -> None:
        self._folder = cache_folder() / FOLDER

    def find(self, key: str) -> str | None:
        """Return the name of a batch; None where none is under way."""
        try:
            said = json.loads(self._path(key).read_bytes())
        except (OSError, ValueError):
            return None
        name = said.get("batch") if isinstance(said, dict) else None
        return name if isinstance(name, str) else None

    def keep(self, key: str, batch: str) -> None:
        """Write a name down."""
        path = self._path(key)
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            self._forget_old()
            with new_file(path, overwrite=True) as hidden:
                hidden.write_text(json.dumps({"batch": batch}), encoding="utf-8")
        except OSError as error:
            raise StorageError(
                f"{path}: cannot be written, so that the batch {batch} would be "
                f"forgotten: {error.strerror}"
            ) from error

    def forget(self, key: str) -> None:
        """Forget a batch whose replies are kept elsewhere."""
        with suppress(OSError):
            self._path(key).unlink(missing_ok=True)

    def _forget_old(self) -> None:
        oldest = time.time() - _DAYS * 86_400
        for path in self._folder.glob("*.json"):
            with suppress(OSError):  # another process may have removed it
                if path.stat().st_mtime < oldest:
                    path.unlink()

    def _path(self, key: str) -> Path:
        return self._folder / f"{key}.json"
