"""A model behind a server of the OpenAI protocol."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field, field_validator

import evalkit
from evalkit.errors import PluginContractError
from evalkit.services import Cleaner, Redacts, is_address, is_public, public_url
from evalkit_models_openai.calls import (
    OWN_FIELDS,
    LimitField,
    Settings,
    chat_call,
    echo_call,
    text_call,
)
from evalkit_models_openai.credentials import (
    KEY_VARIABLE,
    PLACEHOLDER,
    endpoint,
    is_hosted,
    read_key,
    secrets_of,
)
from evalkit_models_openai.extras import read_extra_body
from evalkit_models_openai.unusable import Unusable

if TYPE_CHECKING:
    from openai import AsyncOpenAI

_CONNECT_SECONDS = 30.0

_LOGGERS = (
    *("httpx2", "openai", "openai._base_client", "openai._response"),
    *("openai._legacy_response", "httpcore2.connection", "httpcore2.http11"),
    *("httpcore2.http2", "httpcore2.proxy", "httpcore2.socks"),
)
"""What the client writes into."""

Api = Literal["chat", "completions"]

_ABILITIES: Mapping[
    Api, tuple[Literal["text", "chat", "logprobs", "continuations"], ...]
]
_ABILITIES = {
    "chat": ("chat", "logprobs"),
    "completions": ("text", "logprobs", "continuations"),
}


class OpenAI(evalkit.Model):
    """Asks a server that speaks the OpenAI protocol, hosted or local.

    Log-probabilities of given continuations come from `completions` with `echo`; a
    server that does not honour it is refused, as is one that tells fewer alternatives
    to a token than asked for. The key is read from the environment when the server is
    asked first.
    """

    abilities = _ABILITIES["chat"]
    concurrency = 16
    batch_requests = 1
    uses_network = True

    class Parameters(evalkit.Parameters):
        """Which model, where, and how it is called."""

        model: str = Field(min_length=1, description="Name of the model.")
        base_url: str | None = Field(
            default=None,
            exclude=True,
            description="Address, such as http://127.0.0.1:8080/v1; by default "
            "OPENAI_BASE_URL, else OpenAI's.",
        )
        api: Api = Field(
            default="chat", description="chat, or completions for texts to continue."
        )
        api_key_variable: str | None = Field(
            default=None,
            pattern=r"^[A-Za-z_][A-Za-z0-9_]*$",
            exclude=True,
            description="NAME of the environment variable that holds the key; by "
            "default OPENAI_API_KEY for OpenAI's own servers and that of "
            "OPENAI_BASE_URL, and none for others.",
        )
        context_length: int | None = Field(
            default=None, ge=1, description="Most tokens of a request and its reply."
        )
        concurrency: int = Field(
            default=16, ge=1, exclude=True, description="Most requests at once."
        )
        limit_field: LimitField | None = Field(
            default=None,
            description="What the limit of tokens is called in a chat; by default "
            "max_completion_tokens at OpenAI's own servers, else max_tokens.",
        )
        sends_temperature: bool = Field(
            default=True,
            description="false for models that take no temperature.",
        )
        reasoning_effort: str | None = Field(
            default=None, description="How much is thought, as the model names it."
        )
        extra_body: Mapping[str, Any] = Field(
            default={},
            description="Further fields of each request: JSON, or a file of it.",
        )

        @field_validator("extra_body", mode="before")
        @classmethod
        def _read_extra_body(cls, given: Any) -> Any:
            return read_extra_body(given)

        @field_validator("extra_body")
        @classmethod
        def _leaves_own_fields(cls, given: Mapping[str, Any]) -> Mapping[str, Any]:
            own = sorted({*OWN_FIELDS, "reasoning_effort"} & set(given))
            if own:
                raise ValueError(f"{own[0]!r} is set by the request or a parameter")
            return given

    def __init__(self, parameters: Parameters) -> None:
        url = parameters.base_url
        if url is not None and not is_address(url):
            raise PluginContractError(
                "models/openai: base_url is no address of http or https"
            )
        if url is not None and not is_public(url):
            # it would be in files and messages
            raise PluginContractError(
                "models/openai: base_url holds a password or query; put the key into "
                "an environment variable and name it with api_key_variable, or the "
                "address into OPENAI_BASE_URL"
            )
        self.parameters: OpenAI.Parameters = parameters
        self.abilities = _ABILITIES[parameters.api]
        self.context_length = parameters.context_length
        self.concurrency = parameters.concurrency
        self._client: AsyncOpenAI | None = None
        self._clean = Cleaner([])
        self._redacts: Redacts | None = None
        self._key_from: str | None = None
        self._has_answered = False

    async def ask(self, request: evalkit.Request) -> evalkit.Reply:
        """Ask the server once."""
        from openai import APIConnectionError, APIStatusError, APITimeoutError

        from evalkit_models_openai.refusals import connection_reply, status_reply
        from evalkit_models_openai.replies import read_body, reply_of

        try:
            client = self._connected()
            content = await self._send(client, request)
            reply = reply_of(read_body(content), request, self._clean)
            self._has_answered = True
            return _without_secrets(reply, self._clean)
        except Unusable as error:
            return error.as_reply()
        except APIStatusError as error:
            return status_reply(
                error,
                url=public_url(endpoint(self.parameters.base_url)),
                model=self.parameters.model,
                variable=self._key_from,
                has_answered=self._has_answered,
                clean=self._clean,
            )
        except APITimeoutError:
            return evalkit.Reply(error="no connection in time", is_retriable=True)
        except APIConnectionError as error:
            return connection_reply(error, self._clean)

    def describe(self) -> dict[str, Any]:
        """Say which model is asked, and where."""
        url = public_url(endpoint(self.parameters.base_url)).rstrip("/")
        return {"name": self.parameters.model, "base_url": url}

    async def close(self) -> None:
        """Close the connections."""
        client, self._client = self._client, None
        if client is not None:
            await client.close()
        if self._redacts is not None:
            self._redacts.end()

    def _connected(self) -> AsyncOpenAI:
        """Return the client; made when it is asked first, as it reads the key."""
        if self._client is None:
            from httpx2 import Timeout
            from openai import AsyncOpenAI

            url = endpoint(self.parameters.base_url)
            variable = self.parameters.api_key_variable
            key = read_key(variable, url)
            self._key_from = None if key == PLACEHOLDER else variable or KEY_VARIABLE
            self._clean = Cleaner(secrets_of(key, url))
            if self._redacts is not None:
                self._redacts.end()
            self._redacts = Redacts(self._clean, _LOGGERS)
            self._client = AsyncOpenAI(
                api_key=key,
                base_url=url,
                max_retries=0,
                # how long a reply is waited for is the user's to say
                timeout=Timeout(None, connect=_CONNECT_SECONDS),
            )
            if not is_hosted(url):  # the environment's are for OpenAI, too
                self._client.organization = self._client.project = None
        return self._client

    async def _send(self, client: AsyncOpenAI, request: evalkit.Request) -> bytes:
        settings = self._settings(request)
        if self.parameters.api == "chat":
            if not request.messages:
                raise Unusable("api=chat answers messages, no prompt", is_fatal=True)
            call = chat_call(request, settings)
            raw = await client.chat.completions.with_raw_response.create(**call)
        else:
            if request.prompt is None:
                raise Unusable("api=completions continues a prompt", is_fatal=True)
            makes = echo_call if request.continuations else text_call
            call = makes(request, settings)
            raw = await client.completions.with_raw_response.create(**call)
        return bytes(raw.http_response.content)

    def _settings(self, request: evalkit.Request) -> Settings:
        given = self.parameters
        if request.temperature and not given.sends_temperature:
            raise Unusable(
                f"the temperature {request.temperature:g} is asked for, and "
                "sends_temperature is false",
                is_fatal=True,
            )
        hosted = is_hosted(endpoint(given.base_url))
        effort = given.reasoning_effort
        return Settings(
            given.model,
            given.limit_field or ("max_completion_tokens" if hosted else "max_tokens"),
            given.sends_temperature,
            {**given.extra_body, **({"reasoning_effort": effort} if effort else {})},
        )


def _without_secrets(reply: evalkit.Reply, clean: Cleaner) -> evalkit.Reply:
    """Refuse a reply that repeats a secret: it would stand in files."""
    if not clean.finds(reply.model_dump(mode="json")):
        return reply
    return evalkit.Reply(error="the reply repeats a key or password, and is not kept")
