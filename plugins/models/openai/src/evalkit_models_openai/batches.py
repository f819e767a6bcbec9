"""Files of requests that a server answers when it has time."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from threading import Event
from typing import TYPE_CHECKING, Any, NamedTuple

from pydantic_core import from_json

from evalkit.errors import StorageError
from evalkit.places import cache_folder
from evalkit.reporting import new_file
from evalkit_models_base import Request
from evalkit_models_openai.calls import call_of
from evalkit_models_openai.parameters import Api, ServerParameters
from evalkit_models_openai.refusals import Unusable

if TYPE_CHECKING:
    from openai import OpenAI
    from openai.types import Batch


ENDPOINTS: Mapping[Api, str] = {
    "chat": "/v1/chat/completions",
    "completions": "/v1/completions",
}


class Line(NamedTuple):
    """A request as it is sent."""

    name: str
    """Its place and a hash of it, so that no answer of another batch is taken for its
    own."""
    text: str


def line_of(place: int, request: Request, given: ServerParameters) -> Line:
    """Return the line of a request."""
    call = call_of(request, given)
    body = {**call, **call.pop("extra_body", {})}
    body.pop("extra_body", None)
    asked = json.dumps(body, sort_keys=True)
    name = f"{place}-{hashlib.sha256(asked.encode()).hexdigest()[:16]}"
    line = {"custom_id": name, "method": "POST", "url": ENDPOINTS[given.api]}
    return Line(name, json.dumps({**line, "body": body}))


def key_of(lines: Sequence[Line], url: str) -> str:
    """Return what a batch is known by: where it is asked, and all that is asked."""
    whole = "\n".join((url, *(line.text for line in lines)))
    return hashlib.sha256(whole.encode()).hexdigest()


class Outcome(NamedTuple):
    """What came of a request."""

    status: int | None
    """The status of its answer; None if it was not asked."""
    body: Any
    """The answer, or why there is none."""


class Ended(NamedTuple):
    """A batch that has ended."""

    name: str
    status: str
    outcomes: dict[str, list[Outcome]]
    """What came, by the name of the request."""
    broken: int
    """How many lines cannot be read, and so name no request."""


def _outcome(text: bytes) -> tuple[str, Outcome] | None:
    try:
        line = from_json(text, allow_inf_nan=False)
    except ValueError:
        return None
    if not isinstance(line, dict) or not isinstance(line.get("custom_id"), str):
        return None
    response = line.get("response")
    status = response.get("status_code") if isinstance(response, dict) else None
    is_answer = type(status) is int and not (status < 300 and line.get("error"))
    if isinstance(response, dict) and is_answer:
        return line["custom_id"], Outcome(status, response.get("body"))
    return line["custom_id"], Outcome(None, line.get("error"))


FOLDER = "openai-batches"
"""Folder in `EVALKIT_CACHE_DIR`; a file is named by the key of a batch under way."""

_DAYS = 40
"""Days after which a server has forgotten a batch, and so does evalkit."""

MOST_BYTES = 200_000_000
"""Maximum size of a file of requests."""

_ENDED = frozenset({"completed", "failed", "expired", "cancelled"})


class Patience(NamedTuple):
    """How long a batch is waited for."""

    poll_seconds: float
    hours: float
    stopped: Event
    """Set when nobody waits any more."""


class Batches:
    """Batches of a server; a killed process finds the one that is under way."""

    def __init__(self, client: OpenAI, endpoint: Any, patience: Patience) -> None:
        self._client, self._endpoint, self._patience = client, endpoint, patience
        self._folder = cache_folder() / FOLDER

    def run(self, key: str, lines: Sequence[Line], *, is_new: bool) -> Ended:
        """Have requests answered; goes on with a batch that is under way."""
        from openai import NotFoundError

        name = None if is_new else self._find(key)
        if name is not None:
            with suppress(NotFoundError):  # batches and files are removed after weeks
                return self._end(key, self._client.batches.retrieve(name))
        batch = self._begin(lines)
        self._keep(key, batch.id)
        return self._end(key, batch)

    def forget(self, key: str) -> None:
        """Forget a batch whose answers are kept elsewhere."""
        with suppress(OSError):
            (self._folder / f"{key}.json").unlink(missing_ok=True)

    def _end(self, key: str, batch: Batch) -> Ended:
        """Wait for a batch, and fetch what came."""
        ended = self._wait(batch)
        if ended.status == "failed":
            self.forget(key)
            raise Unusable(f"the batch {ended.id} has failed: {_why(ended)}")
        found, broken = dict[str, list[Outcome]](), 0
        for file in filter(None, (ended.output_file_id, ended.error_file_id)):
            content = self._client.files.content(file).content
            for line in filter(bytes.strip, content.splitlines()):
                read = _outcome(line)
                broken += read is None
                if read is not None:
                    found.setdefault(read[0], []).append(read[1])
        return Ended(ended.id, ended.status, found, broken)

    def _find(self, key: str) -> str | None:
        try:
            said = json.loads((self._folder / f"{key}.json").read_bytes())
        except (OSError, ValueError):
            return None
        name = said.get("batch") if isinstance(said, dict) else None
        return name if isinstance(name, str) else None

    def _keep(self, key: str, batch: str) -> None:
        path = self._folder / f"{key}.json"
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            oldest = time.time() - _DAYS * 86_400
            for other in self._folder.glob("*.json"):
                with suppress(OSError):  # another process may have removed it
                    if other.stat().st_mtime < oldest:
                        other.unlink()
            with new_file(path, overwrite=True) as hidden:
                hidden.write_text(json.dumps({"batch": batch}), encoding="utf-8")
        except OSError as error:
            raise StorageError(
                f"{path}: cannot be written, so that the batch {batch} would be "
                f"forgotten: {error.strerror}"
            ) from error

    def _begin(self, lines: Sequence[Line]) -> Batch:
        content = "".join(f"{line.text}\n" for line in lines).encode()
        if len(content) > MOST_BYTES:
            raise Unusable(
                f"a batch of {len(lines):,} requests has {len(content):,} bytes, and "
                f"may have {MOST_BYTES:,}: lower batch_requests",
                is_fatal=True,
            )
        file = ("requests.jsonl", content)
        sent = self._client.files.create(file=file, purpose="batch")
        return self._client.batches.create(
            input_file_id=sent.id, endpoint=self._endpoint, completion_window="24h"
        )

    def _wait(self, batch: Batch) -> Batch:
        """Look at a batch until it has ended, also where the network fails a while."""
        from openai import APIConnectionError, InternalServerError, RateLimitError

        # ValueError: no JSON, as of a proxy on the way
        passing = (APIConnectionError, InternalServerError, RateLimitError, ValueError)
        latest = time.monotonic() + self._patience.hours * 3600
        while batch.status not in _ENDED:
            if time.monotonic() > latest:
                raise Unusable(
                    f"the batch {batch.id} has not ended within "
                    f"{self._patience.hours:g} h; the same command goes on with it"
                )
            if self._patience.stopped.wait(self._patience.poll_seconds):
                raise Unusable(f"nobody waits for the batch {batch.id} any more")
            with suppress(*passing):
                seen = self._client.batches.retrieve(batch.id)
                batch = seen if getattr(seen, "status", None) else batch
        return batch


def _why(batch: Batch) -> str:
    """Return why a batch failed as a whole."""
    errors = (batch.errors.data if batch.errors else None) or []
    told = [
        (f"line {each.line}: " if each.line is not None else "")
        + (each.message or each.code or "no reason")
        for each in errors[:3]
    ]
    return "; ".join(told) or "the server says no reason"
