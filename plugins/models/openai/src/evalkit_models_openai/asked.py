"""What is sent for a request to a model with parameters."""

from __future__ import annotations

import os
from typing import Any

from evalkit_models_base import Reply, Request
from evalkit_models_base.services import Cleaner, public_access
from evalkit_models_openai.calls import Settings, chat_call, echo_call, text_call
from evalkit_models_openai.credentials import endpoint, is_hosted
from evalkit_models_openai.parameters import ServerParameters
from evalkit_models_openai.replies import read_body, reply_of
from evalkit_models_openai.unusable import Unusable


def call_of(request: Request, given: ServerParameters) -> dict[str, Any]:
    """Return the arguments of the client's call."""
    settings = _settings(request, given)
    if given.api == "chat":
        if not request.messages:
            raise Unusable("api=chat answers messages, no prompt", is_fatal=True)
        return chat_call(request, settings)
    if request.prompt is None:
        raise Unusable("api=completions continues a prompt", is_fatal=True)
    makes = echo_call if request.continuations else text_call
    return makes(request, settings)


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


def _settings(request: Request, given: ServerParameters) -> Settings:
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
