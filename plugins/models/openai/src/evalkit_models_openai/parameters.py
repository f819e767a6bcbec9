"""Which model is asked, where, and how."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Literal

from pydantic import ConfigDict, Field, field_validator

import evalkit
from evalkit.errors import AdapterError, PluginContractError
from evalkit_adapters_rows import read_stages
from evalkit_models_base.hookspecs import ModelKind
from evalkit_models_base.services import VariableName, is_address, is_public


def read_extra_body(given: Any) -> Any:
    """Return what JSON, or a file of JSON or YAML, says."""
    if isinstance(given, list) and all(isinstance(part, str) for part in given):
        given = "/".join(given)
    if not isinstance(given, str):
        return given
    try:
        is_json = given.lstrip().startswith("{")
        return json.loads(given) if is_json else read_stages(given)
    except ValueError as error:
        raise ValueError(f"is no JSON ({error})") from error
    except AdapterError as error:
        raise ValueError(f"is no file that can be read ({error})") from error


Api = Literal["chat", "completions"]

LimitField = Literal["max_tokens", "max_completion_tokens"]

OWN_FIELDS = frozenset(
    {
        *("model", "messages", "prompt", "max_tokens", "max_completion_tokens"),
        *("temperature", "top_p", "top_k", "stop", "n", "seed", "presence_penalty"),
        *("frequency_penalty", "logprobs", "top_logprobs", "echo", "stream"),
    }
)
"""Fields of a body that come from requests and parameters."""


class ServerParameters(evalkit.Parameters):
    """Which model, where, and how it is called."""

    # a key that is given in place of a name stands in no message
    model_config = ConfigDict(hide_input_in_errors=True)

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
    api_key_variable: VariableName | None = Field(
        default=None,
        exclude=True,
        description="NAME of the environment variable that holds the key; by "
        "default OPENAI_API_KEY for OpenAI's own servers and that of "
        "OPENAI_BASE_URL, and none for others.",
    )
    context_length: int | None = Field(
        default=None, ge=1, description="Most tokens of a request and its reply."
    )
    kind: ModelKind | None = Field(
        default=None, exclude=True, description="base, instruct or reasoning."
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


class OpenAIParameters(ServerParameters):
    """The same, for requests that are asked one by one."""

    concurrency: int = Field(
        default=16, ge=1, exclude=True, description="Most requests at once."
    )


def check_address(given: ServerParameters) -> None:
    """Refuse an address that is none, or that would be in files with a secret in it."""
    url = given.base_url
    if url is not None and not is_address(url):
        raise PluginContractError(
            "models/openai: base_url is no address of http or https"
        )
    if url is not None and not is_public(url):
        raise PluginContractError(
            "models/openai: base_url holds a password or query; put the key into an "
            "environment variable and name it with api_key_variable, or the address "
            "into OPENAI_BASE_URL"
        )
