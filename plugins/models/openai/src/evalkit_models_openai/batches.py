"""Files of requests that a server answers when it has time."""

from __future__ import annotations

from collections.abc import Sequence
from threading import Event
from time import monotonic
from typing import TYPE_CHECKING, Any, NamedTuple

from evalkit_models_openai.batch_lines import Line, Outcome, read_outcomes
from evalkit_models_openai.unfinished import Unfinished
from evalkit_models_openai.unusable import Unusable

if TYPE_CHECKING:
    from openai import OpenAI
    from openai.types import Batch

MOST_BYTES = 200_000_000
"""How large a file of requests may be."""

_ENDED = frozenset({"completed", "failed", "expired", "cancelled"})


class Ended(NamedTuple):
    """A batch that has ended.

    Attributes:
        name: What the server calls it.
        status: How it ended.
        outcomes: What came, by the name of the request.
        broken: How many lines of it cannot be read.
    """

    name: str
    status: str
    outcomes: dict[str, list[Outcome]]
    broken: int


class Patience(NamedTuple):
    """How long a batch is waited for.

    Attributes:
        poll_seconds: How often it is looked at.
        hours: After how long it is given up, for this time.
        stopped: Set when nobody waits any more.
    """

    poll_seconds: float
    hours: float
    stopped: Event


class Batches:
    """Batches of a server."""

    def __init__(self, client: OpenAI, endpoint: Any, patience: Patience) -> None:
        self._client, self._endpoint, self._patience = client, endpoint, patience
        self._unfinished = Unfinished()

    def run(self, key: str, lines: Sequence[Line], *, is_new: bool) -> Ended:
        """Have requests answered; goes on with a batch that is under way."""
        from openai import NotFoundError

        found = None if is_new else self._found(key)
        if found is not None:
            try:
                return self._ended(key, found)
            except NotFoundError:  # files are removed after some weeks
                pass
        return self._ended(key, self._kept(key, lines))

    def _kept(self, key: str, lines: Sequence[Line]) -> Batch:
        """Begin a batch, and write down that it is under way."""
        batch = self._begun(lines)
        self._unfinished.keep(key, batch.id)
        return batch

    def _ended(self, key: str, batch: Batch) -> Ended:
        """Wait for a batch, and fetch what came."""
        ended = self._waited_for(batch)
        if ended.status == "failed":
            self._unfinished.forget(key)
            raise Unusable(f"the batch {ended.id} has failed: {_why(ended)}")
        files = (ended.output_file_id, ended.error_file_id)
        contents = [self._client.files.content(each).content for each in files if each]
        return Ended(ended.id, ended.status, *read_outcomes(contents))

    def forget(self, key: str) -> None:
        """Forget a batch whose answers are kept elsewhere."""
        self._unfinished.forget(key)

    def _found(self, key: str) -> Batch | None:
        """Return the batch that is under way; None where the server knows none."""
        from openai import NotFoundError

        name = self._unfinished.find(key)
        if name is None:
            return None
        try:
            return self._client.batches.retrieve(name)
        except NotFoundError:
            return None

    def _begun(self, lines: Sequence[Line]) -> Batch:
        content = "".join(f"{line.text}\n" for line in lines).encode()
        if len(content) > MOST_BYTES:
            raise Unusable(
                f"a batch of {len(lines):,} requests has {len(content):,} bytes, and "
                f"may have {MOST_BYTES:,}: lower batch_requests",
                is_fatal=True,
            )
        sent = self._client.files.create(
            file=("requests.jsonl", content), purpose="batch"
        )
        return self._client.batches.create(
            input_file_id=sent.id, endpoint=self._endpoint, completion_window="24h"
        )

    def _waited_for(self, batch: Batch) -> Batch:
        """Look at a batch until it has ended, also where the network fails a while."""
        from openai import APIConnectionError, InternalServerError, RateLimitError

        latest = monotonic() + self._patience.hours * 3600
        while batch.status not in _ENDED:
            if monotonic() > latest:
                raise Unusable(
                    f"the batch {batch.id} has not ended within "
                    f"{self._patience.hours:g} h; the same command goes on with it"
                )
            if self._patience.stopped.wait(self._patience.poll_seconds):
                raise Unusable(f"nobody waits for the batch {batch.id} any more")
            try:
                seen = self._client.batches.retrieve(batch.id)
            except (APIConnectionError, InternalServerError, RateLimitError):
                continue
            except ValueError:  # no JSON, as of a proxy on the way
                continue
            if getattr(seen, "status", None):
                batch = seen
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
