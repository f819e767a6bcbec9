"""Keeps what annotators said, so that nothing is asked twice.

Answers stand in segments: files of lines, of which each is the hash of a row, a hash
of the line, and what was said. A segment is written beside its place and moved there
in one step, so that a process that is killed leaves none by halves, and several may
share a folder; many segments are joined to one. Of several lines of a row the one in
the latest segment counts, by its name. Each annotator has a folder for its settings,
code and resources.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import time
import uuid
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from evalkit.catalog import describe_component
from evalkit.places import cache_folder
from evalkit.plugins.provenance import names_file
from evalkit.plugins.sources import sha256_of
from evalkit_annotators_columns.answers import Answer, kind_of
from evalkit_annotators_columns.bound import BoundAnnotator

FOLDER = "annotations"
"""The folder in `EVALKIT_CACHE_DIR`."""

KEPT_DAYS = 365
"""Days after which answers are deleted that no evaluation has asked for."""

MOST_SEGMENTS = 32
"""Segments of one annotator, after which they are joined."""

SECONDS = 1.0
"""Seconds of answers that a process that is killed may lose."""

_SUFFIX = ".answers"

_ATTEMPTS = 5
"""Times that segments are looked for while other processes join them."""

_KEPT: Mapping[str, Any] = {
    "values": dict,
    "text": str | None,
    "cost": float | None,
    "seconds": float | None,
    "reason": str | None,
}
"""What an entry holds of an answer."""


class _Entry(NamedTuple):
    body: str
    """The answer as it is written; "" where it is kept no longer."""
    answer: Answer | None


class AnswerCache:
    """The answers that an annotator gave before.

    Args:
        annotator: The annotator.

    Attributes:
        damaged: The files and lines of entries that could not be used.
        problem: Why entries could not be written; None where they could.
    """

    def __init__(self, annotator: BoundAnnotator) -> None:
        described = describe_component(annotator)
        model = annotator.parameters
        identity = {
            **{name: described[name] for name in ("id", "distribution", "version")},
            "source_sha256": described["source_sha256"],
            "annotator_version": annotator.version,
            "columns": list(annotator.columns),
            "parameters": None if model is None else model.model_dump(mode="json"),
            "resources": described["resources"],
        }
        self._columns = annotator.columns or [""]
        self._root = cache_folder() / FOLDER
        self._folder = self._root / annotator.component.name / _hash(identity)[:16]
        # code that is in no file may be other code the next time
        self._is_used = described["source_sha256"] is not None
        self._waiting: list[str] = []
        self._written = time.monotonic()
        self.damaged: list[str] = []
        self.problem: str | None = None

    def key(self, row: Mapping[str, Any]) -> str:
        """Return the hash of a row, and of the files that its fields name."""
        files = {
            text: sha256_of(Path(text))
            for value in row.get("fields", {}).values()
            for text in (value if isinstance(value, list) else [value])
            if isinstance(text, str) and text.startswith(os.sep) and names_file(text)
        }
        return _hash({**row, "files": files} if files else row)

    def read(self, keys: Collection[str]) -> dict[str, Answer]:
        """Return what was said of rows, by key, as far as it is known."""
        if not self._is_used:
            return {}
        paths, entries = self._load()
        if self.damaged or len(paths) > MOST_SEGMENTS:
            self._join(paths, entries)
        with suppress(OSError):
            os.utime(self._folder)
        _delete_unused(self._root)
        found = ((key, entries[key].answer) for key in keys if key in entries)
        return {key: answer for key, answer in found if answer is not None}

    def _load(self) -> tuple[list[Path], dict[str, _Entry]]:
        """Find all segments, and read what they hold by key."""
        for _ in range(_ATTEMPTS):
            entries: dict[str, _Entry] = {}
            self.damaged = []
            try:
                found = [*self._folder.iterdir()]
                paths = sorted(path for path in found if path.suffix == _SUFFIX)
            except OSError as error:
                if not isinstance(error, FileNotFoundError | NotADirectoryError):
                    self.damaged = [f"{self._folder}: {error.strerror or error}"]
                return [], {}
            for path in paths:
                try:
                    entries |= self._entries(path)
                except OSError as error:
                    self.damaged.append(f"{path}: {error.strerror or error}")
            if all(path.exists() for path in paths):
                break  # no other process has joined them meanwhile
        return paths, entries

    def _entries(self, path: Path) -> dict[str, _Entry]:
        """Read a segment.

        Raises:
            OSError: It cannot be read.
        """
        found = {}
        if path.exists() and not path.is_file():  # a pipe would never end
            raise OSError("is no file")
        lines = path.read_bytes().decode("utf-8", "replace").splitlines()
        for number, line in enumerate(lines or [""], start=1):
            key, _, rest = line.partition(" ")
            checksum, _, body = rest.partition(" ")
            answer = self._read(body)
            if checksum != _checksum(key, body) or (body and answer is None):
                self.damaged.append(f"{path}, line {number}")
            else:
                found[key] = _Entry(body, answer)
        return found

    def _read(self, body: str) -> Answer | None:
        """Return the answer of an entry; None where it is none."""
        try:
            found = json.loads(body)
            given = {name: found[name] for name in _KEPT}
        except (ValueError, LookupError, TypeError, RecursionError):
            return None
        if not all(isinstance(given[name], kind) for name, kind in _KEPT.items()):
            return None
        values = given["values"]
        columns = () if given["reason"] else self._columns
        if {*values} != {*columns} or None in map(_kind, values.values()):
            return None
        return Answer(**given, is_kept=True)

    def forget(self, row: Mapping[str, Any]) -> None:
        """Keep what was said of a row no longer."""
        if self._is_used:
            self._waiting.append(_line(self.key(row), ""))

    def write(self, key: str, answer: Answer) -> None:
        """Keep what was said of a row, where it would be said again."""
        if not (self._is_used and answer.is_final):
            return
        body = _to_json({name: getattr(answer, name) for name in _KEPT})
        self._waiting.append(_line(key, body))
        if time.monotonic() - self._written > SECONDS:
            self.flush()

    def flush(self) -> None:
        """Write what waits; an annotator that is quick gives many answers a second."""
        if self._waiting:
            self._write_segment(f"{time.time_ns():020d}", self._waiting)
        self._waiting = []
        self._written = time.monotonic()

    def _join(self, paths: Sequence[Path], entries: Mapping[str, _Entry]) -> None:
        """Write one segment in place of several, and without what is damaged."""
        lines = [_line(key, each.body) for key, each in entries.items() if each.answer]
        if paths:
            # of the time of the last one, as others may have been written since
            time_of_it = paths[-1].name.partition("-")[0]
            if not lines or self._write_segment(time_of_it, lines):
                for path in paths:
                    with suppress(OSError):
                        path.unlink()

    def _write_segment(self, time_of_it: str, lines: Sequence[str]) -> bool:
        place = self._folder / f"{time_of_it}-{uuid.uuid4().hex[:8]}{_SUFFIX}"
        staging = place.with_suffix(".partial")
        try:
            place.parent.mkdir(parents=True, exist_ok=True)
            staging.write_text("".join(lines), "utf-8")
            staging.replace(place)
        except OSError as error:
            with suppress(OSError):
                staging.unlink()
            self.problem = f"{place.parent}: {error.strerror or error}"
            return False
        return True


def _delete_unused(root: Path) -> None:
    """Delete the answers that nobody has asked for since `KEPT_DAYS`."""
    with suppress(OSError):
        for folder in root.glob("*/*"):
            if time.time() - folder.stat().st_mtime > KEPT_DAYS * 86_400:
                shutil.rmtree(folder, ignore_errors=True)


def _line(key: str, body: str) -> str:
    return f"{key} {_checksum(key, body)} {body}\n"


def _checksum(key: str, body: str) -> str:
    return hashlib.sha256(f"{key} {body}".encode()).hexdigest()[:16]


def _hash(value: Any) -> str:
    text = _to_json(value)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _kind(value: Any) -> str | None:
    return "null" if value is None else kind_of(value)


def _to_json(value: Any) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=True, default=_tagged)


def _tagged(value: Any) -> dict[str, str]:
    """Write what JSON does not know so that it equals no other value."""
    return {"type": type(value).__qualname__, "value": repr(value)}
