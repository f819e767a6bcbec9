"""A model whose requests are answered in batches, within a day."""

from __future__ import annotations

import json
import sys
from asyncio import CancelledError
from collections.abc import Sequence
from functools import partial
from threading import Event
from typing import TYPE_CHECKING, Any

from pydantic import Field

from evalkit.errors import EvalkitError
from evalkit.reporting import count_of
from evalkit_models_base import Model, Reply, Request
from evalkit_models_base.services import public_url
from evalkit_models_openai.batches import (
    ENDPOINTS,
    Batches,
    Ended,
    Line,
    Outcome,
    Patience,
    key_of,
    line_of,
)
from evalkit_models_openai.calls import described_request, read_reply, sent_to
from evalkit_models_openai.credentials import Access, connect, endpoint
from evalkit_models_openai.model import ABILITIES
from evalkit_models_openai.parameters import ServerParameters, check_address
from evalkit_models_openai.refusals import (
    Asked,
    Failure,
    Unusable,
    connection_reply,
    failure_of,
    status_reply,
)

if TYPE_CHECKING:
    from openai import OpenAI

_SECONDS = 120.0
"""How long a single answer of the server is waited for."""

_MOST_BYTES = 2 * 2**30
"""Maximum size of the file of all replies."""

_ENDS = (EvalkitError, OSError, KeyboardInterrupt, CancelledError)
"""What ends the work; others may be handled where nobody looks."""


class OpenAIBatch(Model):
    """Has requests answered by the batch API of a server of the OpenAI protocol.

    Requests are uploaded as a file, and their answers fetched when the batch has ended,
    within a day. Answers are joined to requests by their ids. A process that was killed
    goes on with its batch when the same command is given again.
    """

    abilities = ABILITIES["chat"]
    concurrency = 1
    uses_network = True

    class Parameters(ServerParameters):
        """Which model, where, and how long it is waited for."""

        batch_requests: int = Field(
            default=10_000,
            ge=1,
            le=50_000,
            exclude=True,
            description="Most requests of a batch.",
        )
        poll_seconds: float = Field(
            default=30.0,
            gt=0,
            allow_inf_nan=False,
            exclude=True,
            description="How often a batch is looked at.",
        )
        hours: float = Field(
            default=25.0,
            gt=0,
            allow_inf_nan=False,
            exclude=True,
            description="How long a batch is waited for.",
        )

    def __init__(self, parameters: Parameters) -> None:
        check_address(parameters)
        self.parameters: OpenAIBatch.Parameters = parameters
        self.abilities = ABILITIES[parameters.api]
        self.context_length = parameters.context_length
        self.kind = parameters.kind
        self.batch_requests = parameters.batch_requests
        self._stopped = Event()
        self._collected: set[str] = set()
        self._access: Access | None = None
        self._client: OpenAI | None = None

    def generate(self, requests: Sequence[Request]) -> list[Reply]:
        """Answer requests, in one batch."""
        from openai import APIConnectionError, APIStatusError

        try:
            access = self._connected()
            lines = [
                line_of(place, request, self.parameters)
                for place, request in enumerate(requests)
            ]
        except Unusable as error:
            return [error.as_reply()] * len(requests)
        try:
            return self._answered(requests, lines, access)
        except Unusable as error:
            reply = Reply(error=access.clean(error.reason), is_fatal=True)
        except APIStatusError as error:
            reply = status_reply(failure_of(error), self._asked(access))
        except APIConnectionError as error:
            reply = connection_reply(error, public_url(access.url), access.clean)
        return [reply] * len(requests)

    def describe(self) -> dict[str, Any]:
        """Say which model is asked, and where."""
        url = public_url(endpoint(self.parameters.base_url)).rstrip("/")
        return {"name": self.parameters.model, "base_url": url}

    def describe_request(self, request: Request) -> dict[str, Any]:
        """Return what the server gets."""
        return described_request(request, self.parameters)

    def close(self) -> None:
        """Forget the batches whose replies are kept, and close the connections.

        Where the work ends with an error, such as that of a full disk, replies may not
        be kept: the same command fetches them again then.
        """
        self._stopped.set()
        if self._client is not None and self._access is not None:
            if not isinstance(sys.exc_info()[1], _ENDS):
                for key in self._collected:
                    self._batches().forget(key)
            self._client.close()
            self._access.redacts.end()
        self._client = self._access = None

    def _answered(
        self, requests: Sequence[Request], lines: Sequence[Line], access: Access
    ) -> list[Reply]:
        """Wait for a batch, and read what came."""
        key = key_of(lines, str(sent_to(access.url)))
        ended = self._batches().run(key, lines, is_new=key in self._collected)
        strange = ended.outcomes.keys() - {line.name for line in lines}
        if strange:  # nothing of it is sure
            self._batches().forget(key)
            raise Unusable(
                f"the batch {ended.name} answers {min(strange)!r}, which was not "
                "asked; the same command asks all of it anew"
            )
        replies = [
            self._reply(request, ended.outcomes.get(line.name, []), ended, access)
            for request, line in zip(requests, lines, strict=True)
        ]
        if all(reply.error is not None for reply in replies):
            self._batches().forget(key)  # the same command asks them anew
        self._collected.add(key)
        return replies

    def _reply(
        self,
        request: Request,
        outcomes: Sequence[Outcome],
        ended: Ended,
        access: Access,
    ) -> Reply:
        """Return the reply to one request, which is not asked again by itself."""
        where = f"the batch {ended.name} ({ended.status})"
        if not outcomes:
            unread = f", and {count_of(ended.broken, 'line')} of its output cannot be "
            unread = unread + "read, where it may stand" if ended.broken else ""
            return Reply(error=f"{where} has no answer to this request{unread}")
        if len(outcomes) > 1:
            count = len(outcomes)
            return Reply(error=f"{where} has {count} answers to this request")
        (outcome,) = outcomes
        if outcome.status is None:
            said = access.clean(outcome.body)
            return Reply(error=f"{where} did not ask this: {said}")
        if not 200 <= outcome.status < 300:
            body = outcome.body
            told = body.get("error", body) if isinstance(body, dict) else body
            reply = status_reply(Failure(outcome.status, told), self._asked(access))
        else:
            try:
                content = json.dumps(outcome.body).encode()
                reply = read_reply(content, request, access.clean)
            except Unusable as error:
                reply = error.as_reply()
        return reply.model_copy(update={"is_retriable": False, "retry_after": None})

    def _asked(self, access: Access) -> Asked:
        url, model = public_url(access.url), self.parameters.model
        return Asked(url, model, access.key_from, False, access.clean)

    def _connected(self) -> Access:
        """Return how the server is reached; read when it is asked first."""
        if self._client is None or self._access is None:
            from openai import OpenAI

            from evalkit_models_base.clients import Client

            self._access = connect(self.parameters)
            self._client = self._access.client(
                OpenAI, partial(Client, most_bytes=_MOST_BYTES), _SECONDS
            )
            self._stopped.clear()
        return self._access

    def _batches(self) -> Batches:
        assert self._client is not None  # it is made with the access
        given = self.parameters
        patience = Patience(given.poll_seconds, given.hours, self._stopped)
        return Batches(self._client, ENDPOINTS[given.api], patience)
