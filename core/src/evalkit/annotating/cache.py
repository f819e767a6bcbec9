"""Keeps what annotators said, so that nothing is asked twice.

An entry is a file whose name is a hash of all that the answer depends on. It is written
beside its place and moved there in one step, so that several processes may share a
folder, and it begins with a hash of what follows, so that damage is noticed.
"""

from __future__ import annotations

import hashlib
import json
import uuid
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from evalkit.annotating.answers import Answer, kind_of
from evalkit.plugins.bound import BoundAnnotator
from evalkit.plugins.provenance import describe_component, resources_of
from evalkit.plugins.sources import cache_folder

FOLDER = "annotations"
"""The folder in `EVALKIT_CACHE_DIR`."""

_KEPT: Mapping[str, Any] = {
    "values": dict,
    "text": str | None,
    "cost": float | None,
    "seconds": float | None,
    "reason": str | None,
}
"""What an entry holds of an answer."""


class AnswerCache:
    """The answers that an annotator gave before.

    Args:
        annotator: The annotator.

    Attributes:
        damaged: How many entries could not be used.
        problem: Why entries could not be written; None where they could.
    """

    def __init__(self, annotator: BoundAnnotator) -> None:
        described = describe_component(annotator)
        model = annotator.parameters
        self._identity = {
            **{name: described[name] for name in ("id", "distribution", "version")},
            "source_sha256": described["source_sha256"],
            "annotator_version": annotator.version,
            "columns": list(annotator.columns),
            "parameters": None if model is None else model.model_dump(mode="json"),
            "resources": resources_of(annotator),
        }
        self._columns = annotator.columns or [""]
        self._folder = cache_folder() / FOLDER / annotator.component.name
        # code that is in no file may be other code the next time
        self._is_used = described["source_sha256"] is not None
        self.damaged = 0
        self.problem: str | None = None

    def key(self, row: Mapping[str, Any]) -> str:
        """Return the hash of a row and of all else that its answer depends on."""
        text = _to_json({"annotator": self._identity, "row": row})
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()

    def read(self, key: str) -> Answer | None:
        """Return what was said of a row; None where that is not known."""
        if not self._is_used:
            return None
        try:
            data = self._place(key).read_bytes()
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError:
            self.damaged += 1
            return None
        answer = self._read(data)
        self.damaged += answer is None
        return answer

    def _read(self, data: bytes) -> Answer | None:
        """Return the answer of an entry; None where it is none."""
        checksum, _, body = data.partition(b"\n")
        if hashlib.sha256(body).hexdigest().encode() != checksum:
            return None
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
        with suppress(OSError):
            self._place(self.key(row)).unlink(missing_ok=True)

    def write(self, key: str, answer: Answer) -> None:
        """Keep what was said of a row, where it would be said again."""
        if not (self._is_used and answer.is_final):
            return
        body = _to_json({name: getattr(answer, name) for name in _KEPT}).encode()
        place = self._place(key)
        staging = place.with_name(f".{key}-{uuid.uuid4().hex[:8]}.partial")
        try:
            place.parent.mkdir(parents=True, exist_ok=True)
            staging.write_bytes(
                hashlib.sha256(body).hexdigest().encode() + b"\n" + body
            )
            staging.replace(place)
        except OSError as error:
            with suppress(OSError):
                staging.unlink()
            self.problem = f"{place.parent}: {error.strerror or error}"

    def _place(self, key: str) -> Path:
        return self._folder / key[:2] / key


def _kind(value: Any) -> str | None:
    return "null" if value is None else kind_of(value)


def _to_json(value: Any) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=True, default=_tagged)


def _tagged(value: Any) -> dict[str, str]:
    """Write what JSON does not know so that it equals no other value."""
    return {"type": type(value).__qualname__, "value": repr(value)}
