"""Keeps replies, so that nothing is asked twice, also by other processes.

A key holds all that a request says. What a program, a function or other code on this
machine answers depends on more, so that it is never kept.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import sqlite3
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
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

_SETTINGS = ("auto_vacuum=INCREMENTAL", "journal_mode=WAL", "synchronous=NORMAL")

_SCHEMA = (
    "CREATE TABLE IF NOT EXISTS replies (key TEXT PRIMARY KEY, reply TEXT NOT NULL, "
    "used REAL NOT NULL) WITHOUT ROWID",
    "CREATE INDEX IF NOT EXISTS replies_used ON replies (used)",
)

_USED_SECONDS = 3600.0
"""How exactly it is known when a reply was used last."""

# how often the size is looked at, and after how many bytes at the latest
_CHECKS, _MOST_UNCHECKED = 20, 16 * 2**20


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
    """Hash the files whose paths are values of a row."""
    return [
        sha256_of(Path(text))
        for value in row.values()
        for text in (value if isinstance(value, list) else [value])
        if isinstance(text, str) and text.startswith(os.sep) and names_file(text)
    ]


class ReplyCache:
    """The replies of this machine.

    What was used longest ago is removed where all of it takes more than the limit.

    Attributes:
        path: The file.
        lost: How many replies were removed that were used since it was opened.
        changed: How many were not as they were kept; they are asked for anew.
    """

    def __init__(self, folder: Path | None = None, limit: float | None = None) -> None:
        folder = cache_folder() if folder is None else folder
        self.path, self.lost, self.changed = folder / FILE, 0, 0
        self._limit = size_limit() if limit is None else limit
        self._opened = time.time()
        self._unchecked = math.inf
        self._touched: list[str] = []
        self._lock = threading.Lock()
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._connection = sqlite3.connect(
                self.path, timeout=_BUSY_SECONDS, check_same_thread=False
            )
            for setting in _SETTINGS:
                self._connection.execute(f"PRAGMA {setting}")
            for statement in _SCHEMA:
                self._connection.execute(statement)
            self._connection.commit()
        except (OSError, sqlite3.Error) as error:
            raise self._failure("opened", error) from error

    @property
    def notices(self) -> tuple[str, ...]:
        """What a user should know of it."""
        found = []
        if self.lost:
            found.append(
                f"the cache of replies is full: {self.lost:,} of these are not kept "
                "any more (EVALKIT_REPLIES_SIZE)"
            )
        if self.changed:
            found.append(
                f"{self.path}: replies that are not as they were kept, and were asked "
                f"for anew: {self.changed:,}"
            )
        return tuple(found)

    def get(self, key: str) -> str | None:
        """Return what is kept; None where nothing is."""
        return self.get_all([key]).get(key)

    def get_all(self, keys: Iterable[str]) -> dict[str, str]:
        """Return what is kept."""
        found = {}
        with self._lock:
            try:
                for key in keys:
                    row = self._connection.execute(
                        "SELECT reply, used FROM replies WHERE key = ?", [key]
                    ).fetchone()
                    if row is None:
                        continue
                    reply = _unsealed(key, str(row[0]))
                    if reply is None:
                        self.changed += 1
                        continue
                    found[key] = reply
                    if row[1] < self._opened - _USED_SECONDS:
                        self._touched.append(key)
            except sqlite3.Error as error:
                raise self._failure("read", error) from error
        return found

    def put_all(self, replies: Mapping[str, str]) -> None:
        """Keep replies: all of them, or none."""
        now = time.time()
        rows = [(key, _sealed(key, reply), now) for key, reply in replies.items()]
        with self._lock:
            try:
                with self._connection:
                    self._connection.executemany(
                        "INSERT OR REPLACE INTO replies VALUES (?, ?, ?)", rows
                    )
                self._unchecked += sum(len(key) + len(reply) for key, reply, _ in rows)
                if self._unchecked >= min(_MOST_UNCHECKED, self._limit / _CHECKS):
                    self._note_use()
                    self._shrink()
                    self._unchecked = 0
            except sqlite3.Error as error:
                raise self._failure("written", error) from error

    def _note_use(self) -> None:
        """Note of what was read that it was used."""
        noted, self._touched = self._touched, []
        now = time.time()
        with self._connection:
            self._connection.executemany(
                "UPDATE replies SET used = ? WHERE key = ?",
                [(now, key) for key in noted],
            )

    def _shrink(self) -> None:
        """Remove what was used longest ago, until the rest fits."""
        if self._size() <= self._limit:
            return
        count = self._number("SELECT count(*) FROM replies")
        at_once = max(1, count // _CHECKS)
        oldest = "SELECT key, used FROM replies ORDER BY used LIMIT ?"
        while self._size() > self._limit:
            found = self._connection.execute(oldest, [at_once]).fetchall()
            if not found:
                break
            self.lost += sum(used >= self._opened for _, used in found)
            with self._connection:
                self._connection.executemany(
                    "DELETE FROM replies WHERE key = ?", [[key] for key, _ in found]
                )
        self._connection.execute("PRAGMA incremental_vacuum").fetchall()

    def _size(self) -> int:
        """Return how many bytes are taken by replies."""
        pages = self._number("PRAGMA page_count") - self._number(
            "PRAGMA freelist_count"
        )
        return pages * self._number("PRAGMA page_size")

    def _number(self, statement: str) -> int:
        return int(self._connection.execute(statement).fetchone()[0])

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            with suppress(sqlite3.Error):  # no reply is lost when it seems older
                self._note_use()
            self._connection.close()

    def _failure(self, what: str, error: Exception) -> StorageError:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        return StorageError(
            f"{self.path}: the cache of replies cannot be {what}: {reason}. "
            "EVALKIT_CACHE_DIR names another folder, and --no-cache uses none"
        )


def _sealed(key: str, reply: str) -> str:
    """Put a digest before a reply, so that a later change is seen."""
    said = f"{key} {reply}".encode("utf-8", "surrogatepass")
    return f"{hashlib.sha256(said).hexdigest()} {reply}"


def _unsealed(key: str, kept: str) -> str | None:
    """Return the reply as it was kept; None where it was changed since."""
    reply = kept.partition(" ")[2]
    return reply if kept == _sealed(key, reply) else None


def size_limit() -> float:
    """Return the maximum size of all replies in bytes."""
    text = os.environ.get("EVALKIT_REPLIES_SIZE", "").strip() or "10"
    with suppress(ValueError):
        if 0 <= (gib := float(text)) < math.inf:
            return gib * (1 << 30)
    raise StorageError(f"EVALKIT_REPLIES_SIZE: must be a number of GiB, got {text!r}")


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
