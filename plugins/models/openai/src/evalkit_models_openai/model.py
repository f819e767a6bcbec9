"""A model behind a server of the OpenAI protocol."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

from evalkit_models_base import Model, Reply, Request
from evalkit_models_base.services import Cleaner, public_url
from evalkit_models_openai.calls import call_of, described_request, read_reply
from evalkit_models_openai.credentials import Access, connect, endpoint
from evalkit_models_openai.parameters import Api, OpenAIParameters, check_address
from evalkit_models_openai.refusals import (
    Asked,
    Unusable,
    connection_reply,
    failure_of,
    status_reply,
)

if TYPE_CHECKING:
    from openai import AsyncOpenAI

ABILITIES: Mapping[
    Api, tuple[Literal["text", "chat", "logprobs", "continuations"], ...]
]
ABILITIES = {
    "chat": ("chat", "logprobs"),
    "completions": ("text", "logprobs", "continuations"),
}


class OpenAI(Model):
    """Asks a server that speaks the OpenAI protocol, hosted or local.

    Log-probabilities of given continuations come from `completions` with `echo`; a
    server that does not honour it is refused, as is one that tells fewer alternatives
    to a token than asked for. The key is read from the environment when the server is
    asked first.
    """

    abilities = ABILITIES["chat"]
    concurrency = 16
    batch_requests = 1
    uses_network = True

    Parameters = OpenAIParameters

    def __init__(self, parameters: OpenAIParameters) -> None:
        check_address(parameters)
        self.parameters: OpenAIParameters = parameters
        self.abilities = ABILITIES[parameters.api]
        self.context_length = parameters.context_length
        self.kind = parameters.kind
        self.concurrency = parameters.concurrency
        self._client: AsyncOpenAI | None = None
        self._access: Access | None = None
        self._has_answered = False

    async def ask(self, request: Request) -> Reply:
        """Ask the server once."""
        from openai import APIConnectionError, APIStatusError, APITimeoutError

        clean, key_from = Cleaner([]), None
        try:
            client, access = self._connected()
            clean, key_from = access.clean, access.key_from
            reply = read_reply(await self._send(client, request), request, clean)
            self._has_answered = True
            return reply
        except Unusable as error:
            return error.as_reply()
        except APIStatusError as error:
            name, has_answered = self.parameters.model, self._has_answered
            asked = Asked(self._url(), name, key_from, has_answered, clean)
            return status_reply(failure_of(error), asked)
        except APITimeoutError:
            return Reply(
                error=f"no connection to {self._url()} in time", is_retriable=True
            )
        except APIConnectionError as error:
            return connection_reply(error, self._url(), clean)

    def describe(self) -> dict[str, Any]:
        """Say which model is asked, and where."""
        return {"name": self.parameters.model, "base_url": self._url().rstrip("/")}

    def describe_request(self, request: Request) -> dict[str, Any]:
        """Return what the server gets."""
        return described_request(request, self.parameters)

    async def close(self) -> None:
        """Close the connections."""
        client, self._client = self._client, None
        if client is not None:
            await client.close()
        if self._access is not None:
            self._access.redacts.end()

    def _url(self) -> str:
        """Return the address without credentials."""
        return public_url(endpoint(self.parameters.base_url))

    def _connected(self) -> tuple[AsyncOpenAI, Access]:
        """Return the client; made when it is asked first, as it reads the key."""
        if self._client is None or self._access is None:
            from openai import AsyncOpenAI

            from evalkit_models_base.clients import AsyncClient

            if self._access is not None:
                self._access.redacts.end()
            self._access = connect(self.parameters)
            self._client = self._access.client(AsyncOpenAI, AsyncClient)
        return self._client, self._access

    async def _send(self, client: AsyncOpenAI, request: Request) -> bytes:
        call = call_of(request, self.parameters)
        chats = self.parameters.api == "chat"
        resource: Any = client.chat.completions if chats else client.completions
        raw = await resource.with_raw_response.create(**call)
        return bytes(raw.http_response.content)
