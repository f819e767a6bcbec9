"""What is sent for a request."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from evalkit_models_base import Reply, Request
from evalkit_models_base.services import Cleaner, public_access
from evalkit_models_openai.credentials import endpoint, is_hosted
from evalkit_models_openai.parameters import LimitField, ServerParameters
from evalkit_models_openai.refusals import Unusable
from evalkit_models_openai.replies import read_body, reply_of


def call_of(request: Request, given: ServerParameters) -> dict[str, Any]:
    """Return the arguments of the client's call."""
    if request.temperature and not given.sends_temperature:
        raise Unusable(
            f"the temperature {request.temperature:g} is asked for, and "
            "sends_temperature is false",
            is_fatal=True,
        )
    if given.api == "chat":
        return _chat_call(request, given)
    if request.prompt is None:
        raise Unusable("api=completions continues a prompt", is_fatal=True)
    if request.continuations:
        return {
            "model": given.model,
            "prompt": [f"{request.prompt}{each}" for each in request.continuations],
            "max_tokens": 1,  # as many servers refuse to generate none
            "echo": True,
            "logprobs": 1,
            **({"temperature": 0.0} if given.sends_temperature else {}),
            **_extra(given, {}),
        }
    call = {**_shared(request, given), "prompt": request.prompt}
    for name in ("max_tokens", "logprobs"):
        if getattr(request, name) is not None:
            call[name] = getattr(request, name)
    return call


def _chat_call(request: Request, given: ServerParameters) -> dict[str, Any]:
    if not request.messages:
        raise Unusable("api=chat answers messages, no prompt", is_fatal=True)
    call = _shared(request, given)
    call["messages"] = [message.model_dump() for message in request.messages]
    if request.max_tokens is not None:
        hosted = is_hosted(endpoint(given.base_url))
        usual: LimitField = "max_completion_tokens" if hosted else "max_tokens"
        call[given.limit_field or usual] = request.max_tokens
    if request.logprobs is not None:
        call["logprobs"] = True
        if request.logprobs:
            call["top_logprobs"] = request.logprobs
    return call


def sent_to(url: str) -> dict[str, Any]:
    """Return the address, and the headers that choose what answers there."""
    names = ("OPENAI_ORG_ID", "OPENAI_PROJECT_ID") if is_hosted(url) else ()
    return public_access(url, {name: os.environ.get(name, "") for name in names})


def described_request(request: Request, given: ServerParameters) -> dict[str, Any]:
    """Return what a server gets for a request."""
    sent = {**sent_to(endpoint(given.base_url)), "api": given.api}
    try:
        return {**sent, "body": call_of(request, given)}
    except Unusable as error:
        return {**sent, "unusable": error.reason}


def read_reply(content: bytes, request: Request, clean: Cleaner) -> Reply:
    """Return the reply in what a server sent; none where it repeats a secret."""
    reply = reply_of(read_body(content), request, clean)
    if not clean.finds(reply.model_dump(mode="json")):
        return reply
    # it would stand in files
    return Reply(error="the reply repeats a key or password, and is not kept")


def _shared(request: Request, given: ServerParameters) -> dict[str, Any]:
    fields: dict[str, Any] = {
        "model": given.model,
        "temperature": request.temperature if given.sends_temperature else None,
        "top_p": request.top_p,
        "stop": list(request.stop) or None,
        "n": request.completions if request.completions > 1 else None,
        "seed": request.seed,
        "presence_penalty": request.presence_penalty,
        "frequency_penalty": request.frequency_penalty,
    }
    own = {} if request.top_k is None else {"top_k": request.top_k}
    sent = {name: value for name, value in fields.items() if value is not None}
    return {**sent, **_extra(given, own)}


def _extra(given: ServerParameters, own: Mapping[str, Any]) -> dict[str, Any]:
    effort = given.reasoning_effort
    extra = {**given.extra_body, **own}
    extra |= {"reasoning_effort": effort} if effort else {}
    return {"extra_body": extra} if extra else {}
