"""What is sent for a request."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

from evalkit_models_base import Request

LimitField = Literal["max_tokens", "max_completion_tokens"]

OWN_FIELDS = frozenset(
    {
        *("model", "messages", "prompt", "max_tokens", "max_completion_tokens"),
        *("temperature", "top_p", "top_k", "stop", "n", "seed", "presence_penalty"),
        *("frequency_penalty", "logprobs", "top_logprobs", "echo", "stream"),
    }
)
"""Fields of a body that come from requests and parameters."""


class Settings(NamedTuple):
    """What each call has, whatever is asked."""

    model: str
    limit_field: LimitField
    sends_temperature: bool
    extra_body: Mapping[str, Any]


def chat_call(request: Request, settings: Settings) -> dict[str, Any]:
    """Return the arguments of a call that answers a chat."""
    call = _shared(request, settings)
    call["messages"] = [message.model_dump() for message in request.messages]
    if request.max_tokens is not None:
        call[settings.limit_field] = request.max_tokens
    if request.logprobs is not None:
        call["logprobs"] = True
        if request.logprobs:
            call["top_logprobs"] = request.logprobs
    return call


def text_call(request: Request, settings: Settings) -> dict[str, Any]:
    """Return the arguments of a call that continues a text."""
    call = _shared(request, settings)
    call["prompt"] = request.prompt
    if request.max_tokens is not None:
        call["max_tokens"] = request.max_tokens
    if request.logprobs is not None:
        call["logprobs"] = request.logprobs
    return call


def echo_call(request: Request, settings: Settings) -> dict[str, Any]:
    """Return the arguments of a call that tells the tokens of given continuations.

    One token is generated for each, as many servers refuse to generate none.
    """
    return {
        "model": settings.model,
        "prompt": [f"{request.prompt}{each}" for each in request.continuations],
        "max_tokens": 1,
        "echo": True,
        "logprobs": 1,
        **({"temperature": 0.0} if settings.sends_temperature else {}),
        **_extra(settings, {}),
    }


def _shared(request: Request, settings: Settings) -> dict[str, Any]:
    fields: dict[str, Any] = {
        "model": settings.model,
        "temperature": request.temperature if settings.sends_temperature else None,
        "top_p": request.top_p,
        "stop": list(request.stop) or None,
        "n": request.completions if request.completions > 1 else None,
        "seed": request.seed,
        "presence_penalty": request.presence_penalty,
        "frequency_penalty": request.frequency_penalty,
    }
    own = {} if request.top_k is None else {"top_k": request.top_k}
    sent = {name: value for name, value in fields.items() if value is not None}
    return {**sent, **_extra(settings, own)}


def _extra(settings: Settings, own: Mapping[str, Any]) -> dict[str, Any]:
    extra = {**settings.extra_body, **own}
    return {"extra_body": extra} if extra else {}
