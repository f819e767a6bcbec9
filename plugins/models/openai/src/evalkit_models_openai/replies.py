"""Replies, from what servers send."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from pydantic import ValidationError

from evalkit_models_base import Completion, Reply, Request, Usage
from evalkit_models_openai.bodies import Body, Choice, Used
from evalkit_models_openai.continuations import continuation_of
from evalkit_models_openai.tokens import tokens_of
from evalkit_models_openai.unusable import Unusable


def read_body(content: bytes) -> Body:
    """Read what a server sent."""
    try:
        return Body.model_validate_json(content)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        problem = (
            "no JSON" if first["type"] == "json_invalid" else "not of the protocol"
        )
        raise Unusable(
            f"the server's reply is {problem}" + (f" at {place}" if place else ""),
            is_retriable=True,
        ) from error


def reply_of(body: Body, request: Request, clean: Callable[[Any], str]) -> Reply:
    """Return the reply to a request."""
    if body.error is not None:
        raise Unusable(f"the server says: {clean(body.error)}", is_retriable=True)
    told = {"usage": _usage(body.usage), "model": body.model}
    if request.continuations:
        choices = _choices(body, len(request.continuations))
        return Reply(
            continuations=tuple(
                continuation_of(choice, request.prompt or "", given)
                for choice, given in zip(choices, request.continuations, strict=True)
            ),
            **told,
        )
    choices = _choices(body, request.completions)
    completions = tuple(_completion(choice, request) for choice in choices)
    _refuse_silence(completions)
    return Reply(completions=completions, **told)


def _choices(body: Body, wanted: int) -> list[Choice]:
    choices = sorted(body.choices, key=lambda choice: choice.index)
    if not choices:
        raise Unusable("the server's reply has no choices", is_retriable=True)
    if len(choices) != wanted:
        raise Unusable(
            f"the server gives {len(choices)} texts where {wanted} were asked for in "
            "one request",
            is_fatal=True,
        )
    return choices


def _completion(choice: Choice, request: Request) -> Completion:
    said = choice.message
    if said is None and choice.text is None:
        raise Unusable(
            "the server's reply is not of the protocol: a choice without text",
            is_retriable=True,
        )
    thinking = None if said is None else said.reasoning_content or said.reasoning
    text = choice.text if said is None else said.content
    reason = choice.finish_reason
    if not text and said is not None and said.refusal:
        return Completion(text=said.refusal, finish_reason="refusal", thinking=thinking)
    tokens = None
    if request.logprobs is not None:
        tokens = tuple(tokens_of(choice, text or "", thinking, request.logprobs))
    return Completion(
        text=text or "", tokens=tokens, finish_reason=reason, thinking=thinking or None
    )


def _refuse_silence(completions: Sequence[Completion]) -> None:
    """Refuse a reply without any text that was cut off, as that is no empty answer."""
    first = completions[0]
    if any(each.text for each in completions):
        return
    if first.finish_reason == "content_filter":
        raise Unusable("the server's content filter held the answer back")
    if first.finish_reason == "length":
        raise Unusable(
            "the limit of tokens was reached before the answer began, as thinking "
            "counts too: raise max_tokens"
        )


def _usage(used: Used | None) -> Usage:
    if used is None:
        return Usage()
    inputs, outputs = used.prompt_tokens_details, used.completion_tokens_details
    return Usage(
        input_tokens=used.prompt_tokens,
        output_tokens=used.completion_tokens,
        thinking_tokens=None if outputs is None else outputs.reasoning_tokens,
        cached_tokens=None if inputs is None else inputs.cached_tokens,
    )
