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
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from evalkit.errors import StorageError
from evalkit.places import cache_folder
from evalkit.plugins.provenance import names_file, source_hash
from evalkit.plugins.sources import sha256_of
from evalkit_models_base.model import BoundModel
from evalkit_models_base.questions import Question
from evalkit_models_base.requests import InputReply, Reply, Request, plain

FILE = "replies.sqlite"

_BUSY_SECONDS = 60.0

_SCHEMA = (
    "PRAGMA journal_mode=WAL",
    "PRAGMA synchronous=NORMAL",
    "CREATE TABLE IF NOT EXISTS replies (key TEXT PRIMARY KEY, reply TEXT NOT NULL) "
    "WITHOUT ROWID",
)


class ReplyCache:
    """The replies of a model on this machine, which several processes may share."""

    def __init__(self, model: BoundModel) -> None:
        folder, component = cache_folder(), model.component
        self._model, self.path = model, folder / FILE
        self._code = [
            *(component.id, component.distribution, component.version, model.version),
            dict(model.changed_parameters),
            source_hash(type(model.plugin).__module__),
        ]
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

    def get_all(self, questions: Mapping[str, Question]) -> dict[str, Reply]:
        """Return the cached replies by key, without those that answer another."""
        select = "SELECT key, reply FROM replies WHERE key = ?"
        with self._lock:
            try:
                rows = [self._connection.execute(select, [key]) for key in questions]
                texts = {key: reply for each in rows for key, reply in each}
            except sqlite3.Error as error:
                raise self._failure("read", error) from error
        found = {key: _read(text) for key, text in texts.items()}
        return {
            key: reply
            for key, reply in found.items()
            if reply is not None and _answers(reply, questions[key].request)
        }

    def keep(
        self, replies: Mapping[str, Reply], questions: Mapping[str, Question]
    ) -> dict[str, Reply]:
        """Keep replies, and return those that stand.

        If two processes send the same request at once, this is the first reply, so
        that a repeated run finds what this one did.
        """
        given = {key: reply for key, reply in replies.items() if reply.error is None}
        before = self.get_all({key: questions[key] for key in given})
        texts = dict[str, str]()
        for key in given.keys() - before.keys():
            with suppress(TypeError, ValueError):  # who writes it to a file says so
                texts[key] = given[key].model_dump_json(
                    exclude_defaults=True, fallback=plain
                )
        insert = "INSERT OR REPLACE INTO replies VALUES (?, ?)"
        with self._lock:
            try:
                with self._connection:
                    self._connection.executemany(insert, texts.items())
            except sqlite3.Error as error:
                raise self._failure("written", error) from error
        return {**replies, **before}

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


def _file_hashes(row: Mapping[str, Any]) -> Iterable[str]:
    return [
        sha256_of(Path(text))
        for value in row.values()
        for text in (value if isinstance(value, list) else [value])
        if isinstance(text, str) and text.startswith(os.sep) and names_file(text)
    ]


def _read(text: str) -> Reply | None:
    """Return a kept reply; None if it was written otherwise."""
    kind = InputReply if '"response":' in text else Reply
    with suppress(ValidationError):
        return kind.model_validate_json(text)
    return None


def _answers(reply: Reply, asked: Request | Mapping[str, Any]) -> bool:
    if reply.error is not None:
        return False
    if not isinstance(asked, Request):
        return isinstance(reply, InputReply)
    counts = (len(reply.completions), len(reply.continuations))
    return counts == (asked.texts, len(asked.continuations))
