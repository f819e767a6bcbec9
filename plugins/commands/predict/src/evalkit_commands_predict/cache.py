"""Keeps replies, so that nothing is asked twice, also by other processes."""

from __future__ import annotations

import hashlib
import json
import sqlite3
import threading
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from evalkit import Request
from evalkit.errors import StorageError

FILE = "replies.sqlite"
"""The file in `EVALKIT_CACHE_DIR`."""

_BUSY_SECONDS = 60.0

_SCHEMA = """
CREATE TABLE IF NOT EXISTS replies (
    key TEXT PRIMARY KEY, reply TEXT NOT NULL, used REAL NOT NULL
) WITHOUT ROWID
"""


def reply_key(
    model: Mapping[str, Any], request: Request | Mapping[str, Any], replication: str
) -> str:
    """Return what a reply is kept by.

    Args:
        model: What tells the model from others, without credentials.
        request: What it is asked: a request, or the input of a task.
        replication: Name of the repetition; "" where there is one only.
    """
    asked = (
        request.model_dump(mode="json")
        if isinstance(request, Request)
        else {"input": request}
    )
    said = json.dumps([model, asked, replication], sort_keys=True, default=str)
    return hashlib.sha256(said.encode("utf-8", "surrogatepass")).hexdigest()


class ReplyCache:
    """The replies of this machine.

    Args:
        folder: The folder of the cache.

    Raises:
        StorageError: It cannot be opened.
    """

    def __init__(self, folder: Path) -> None:
        self.path = folder / FILE
        self._lock = threading.Lock()
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._connection = sqlite3.connect(
                self.path, timeout=_BUSY_SECONDS, check_same_thread=False
            )
            self._connection.execute("PRAGMA journal_mode=WAL")
            self._connection.execute("PRAGMA synchronous=NORMAL")
            self._connection.execute(_SCHEMA)
            self._connection.commit()
        except (OSError, sqlite3.Error) as error:
            raise self._failure("opened", error) from error

    def get_all(self, keys: Iterable[str]) -> dict[str, str]:
        """Return what is kept.

        Args:
            keys: As `reply_key` makes them.

        Returns:
            The replies that are there, by their keys.

        Raises:
            StorageError: The cache cannot be read.
        """
        found = {}
        with self._lock:
            try:
                for key in keys:
                    row = self._connection.execute(
                        "SELECT reply FROM replies WHERE key = ?", [key]
                    ).fetchone()
                    if row is not None:
                        found[key] = str(row[0])
            except sqlite3.Error as error:
                raise self._failure("read", error) from error
        return found

    def put_all(self, replies: Mapping[str, str]) -> None:
        """Keep replies: all of them, or none.

        Args:
            replies: The replies, as JSON, by keys as `reply_key` makes them.

        Raises:
            StorageError: They cannot be written.
        """
        now = time.time()
        rows = [(key, reply, now) for key, reply in replies.items()]
        with self._lock:
            try:
                with self._connection:
                    self._connection.executemany(
                        "INSERT OR REPLACE INTO replies VALUES (?, ?, ?)", rows
                    )
            except sqlite3.Error as error:
                raise self._failure("written", error) from error

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._connection.close()

    def _failure(self, what: str, error: Exception) -> StorageError:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        return StorageError(
            f"{self.path}: the cache of replies cannot be {what}: {reason}. "
            "EVALKIT_CACHE_DIR names another folder, and --no-cache uses none"
        )


def cache_folder() -> Path:
    """Return the folder of `EVALKIT_CACHE_DIR`."""
    from evalkit.storage import ObjectCache

    return ObjectCache().root
