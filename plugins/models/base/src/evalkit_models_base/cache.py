"""Keeps replies, so that nothing is asked twice, also by other processes.

A key holds all that a request says. What a program, a function or other code on this
machine answers depends on more, so that it is never kept.
"""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from evalkit.errors import StorageError
from evalkit.places import cache_folder
from evalkit.plugins.provenance import names_file, source_hash
from evalkit.plugins.sources import sha256_of
from evalkit_models_base.bound import BoundModel
from evalkit_models_base.questions import Question

FILE = "replies.sqlite"

_BUSY_SECONDS = 60.0

_SCHEMA = (
    "PRAGMA journal_mode=WAL",
    "PRAGMA synchronous=NORMAL",
    "CREATE TABLE IF NOT EXISTS replies (key TEXT PRIMARY KEY, reply TEXT NOT NULL) "
    "WITHOUT ROWID",
)


class Keys:
    """What replies of a model are kept by."""

    def __init__(self, model: BoundModel) -> None:
        self._model = model
        component = model.component
        self._code = [
            *(component.id, component.distribution, component.version, model.version),
            dict(model.changed_parameters),
            source_hash(type(model.plugin).__module__),
        ]

    def key(self, question: Question) -> str:
        """Return the key of a question.

        It holds the request as the service gets it, the files that the row names, the
        repetition, and the code that reads the reply.
        """
        request = self._model.describe_request(question.request)
        row = question.request if question.row is None else question.row
        files = _file_hashes(row) if isinstance(row, Mapping) else []
        parts = [self._code, request, files, question.replication]
        text = json.dumps(parts, sort_keys=True)
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _file_hashes(row: Mapping[str, Any]) -> list[str]:
    return [
        sha256_of(Path(text))
        for value in row.values()
        for text in (value if isinstance(value, list) else [value])
        if isinstance(text, str) and text.startswith(os.sep) and names_file(text)
    ]


class ReplyCache:
    """The replies of this machine, which several processes may share."""

    def __init__(self, folder: Path | None = None) -> None:
        folder = cache_folder() if folder is None else folder
        self.path = folder / FILE
        self._lock = threading.Lock()
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._connection = sqlite3.connect(
                self.path, timeout=_BUSY_SECONDS, check_same_thread=False
            )
            with self._connection:
                for statement in _SCHEMA:
                    self._connection.execute(statement)
        except (OSError, sqlite3.Error) as error:
            raise self._failure("opened", error) from error

    def get_all(self, keys: Iterable[str]) -> dict[str, str]:
        """Return the cached replies by key."""
        select = "SELECT key, reply FROM replies WHERE key = ?"
        with self._lock:
            try:
                rows = [self._connection.execute(select, [key]) for key in keys]
                return {key: reply for each in rows for key, reply in each}
            except sqlite3.Error as error:
                raise self._failure("read", error) from error

    def put_all(self, replies: Mapping[str, str]) -> None:
        """Cache all of some replies, or none of them."""
        insert = "INSERT OR REPLACE INTO replies VALUES (?, ?)"
        with self._lock:
            try:
                with self._connection:
                    self._connection.executemany(insert, replies.items())
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


@contextmanager
def closed_after(cache: ReplyCache | None) -> Iterator[None]:
    """Close a cache; and say of an interrupt what became of the replies so far."""
    try:
        yield
    except KeyboardInterrupt as error:
        kept = (
            "the replies so far are kept: the same command goes on where this stopped"
        )
        error.add_note("the replies so far are not kept" if cache is None else kept)
        raise
    finally:
        if cache is not None:
            cache.close()
