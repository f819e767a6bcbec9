"""Replies that say why a server gave none."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

from evalkit_models_base import Reply
from evalkit_models_base.services import is_later, retry_after

if TYPE_CHECKING:
    from openai import APIConnectionError, APIStatusError


class Unusable(Exception):
    """What came is no reply to what was asked."""

    def __init__(
        self, reason: str, *, is_retriable: bool = False, is_fatal: bool = False
    ) -> None:
        super().__init__(reason)
        self.reason, self.is_retriable, self.is_fatal = reason, is_retriable, is_fatal

    def as_reply(self) -> Reply:
        """Return the reply that says so."""
        return Reply(
            error=self.reason, is_retriable=self.is_retriable, is_fatal=self.is_fatal
        )


_NEVER = frozenset({405, 501})
_UNSUPPORTED = frozenset(
    {"unsupported_parameter", "unsupported_value", "unknown_parameter"}
)
"""Codes of what the server does not take from anybody."""

_SETTINGS = frozenset(
    {
        *("temperature", "top_p", "top_k", "stop", "n", "seed", "presence_penalty"),
        *("frequency_penalty", "logprobs", "top_logprobs", "reasoning_effort"),
    }
)
"""Fields that are the same for all examples; a limit of tokens may be too much for one
of them only."""

_OF_CONTENT = ("moderation", "flagged", "content_", "content policy", "safety")
"""Words of servers that refuse a text, and not who sends it."""

_WITHOUT_MONEY = "insufficient_quota"


class Asked(NamedTuple):
    """Who was asked, for messages."""

    url: str
    """The address, without credentials."""
    model: str
    key_from: str | None
    """What holds the key; None if none was sent."""
    has_answered: bool
    """Whether another request was answered."""
    clean: Callable[[Any], str]
    """Takes secrets out of a text."""


class Failure(NamedTuple):
    """An error of a server: its status, what it says, and its headers."""

    status: int
    body: Any
    headers: Mapping[str, str] = {}

    def said(self, name: str) -> str:
        """Return what is said under a name; an empty text where nothing is."""
        body = self.body if isinstance(self.body, Mapping) else {}
        found = body.get(name)
        return found if isinstance(found, str) else ""


def failure_of(error: APIStatusError) -> Failure:
    """Return the error that a client raised."""
    body = error.body or error.response.reason_phrase
    return Failure(error.status_code, body, error.response.headers)


def status_reply(failure: Failure, asked: Asked) -> Reply:
    """Return the reply that stands for an error of a server."""
    url, model, key_from, has_answered, clean = asked
    status, param = failure.status, failure.said("param")
    said = f"{clean(failure.body)} (status {status})"
    if status == 401:
        # what such servers say often quotes the key
        return _fatal(
            f"{url} wants a key (status 401), and none is sent to it: name the "
            "environment variable that holds one with api_key_variable"
            if key_from is None
            else f"{url} does not take the key (status 401): put the right one into "
            f"{key_from}, or name another variable with api_key_variable"
        )
    if 300 <= status < 400:
        return _fatal(
            f"{url} redirects elsewhere (status {status}), which is not followed: let "
            "base_url be the target"
        )
    if status == 402:
        return _fatal(f"{url} wants to be paid first: {said}")
    if status == 403 and not (has_answered or is_of_content(failure.body)):
        return _fatal(f"{url} does not let this key ask {model!r}: {said}")
    if status == 404:
        return _fatal(
            f"{url} has no model {model!r}, or no such service: {said}; see model, "
            f"base_url and api{_versioned(url)}"
        )
    is_unsupported = failure.said("code") in {*_UNSUPPORTED, "model_not_found"}
    is_setting = status in (400, 422) and param in _SETTINGS
    if status in _NEVER or is_unsupported or is_setting:
        advice = _versioned(url) if status in _NEVER else _advice(param)
        return _fatal(f"{url} cannot be asked so: {said}{advice}")
    if status == 429 and _WITHOUT_MONEY in (failure.said("code"), failure.said("type")):
        return _fatal(f"{url} has no quota left for this key: {said}")
    if is_later(status):
        return Reply(
            error=f"the server says: {said}",
            is_retriable=True,
            retry_after=retry_after(failure.headers),
        )
    return Reply(error=f"the server refuses the request: {said}")


def connection_reply(
    error: APIConnectionError, url: str, clean: Callable[[Any], str]
) -> Reply:
    """Return the reply that stands for a connection that failed."""
    from evalkit_models_base.clients import AnswerTooLarge

    if isinstance(error.__cause__, AnswerTooLarge):
        return Reply(error=str(error.__cause__))
    reason = clean(error.__cause__ or error.message) or type(error.__cause__).__name__
    return Reply(error=f"no connection to {url}: {reason}", is_retriable=True)


def is_of_content(body: Any) -> bool:
    """Tell whether an error is about the text that was sent, as from moderation."""
    told = str(body).lower()
    return any(word in told for word in _OF_CONTENT)


def _fatal(reason: str) -> Reply:
    return Reply(error=reason, is_fatal=True)


def _versioned(url: str) -> str:
    """Say of an address without a version that servers have most at `/v1`."""
    parts = urlsplit(url).path.split("/")
    if any(re.fullmatch(r"v\d+\w*", part) for part in parts):
        return ""
    return f"; base_url may lack /v1 at its end: {url.rstrip('/')}/v1"


def _advice(parameter: str) -> str:
    advice = {
        "max_tokens": "; see limit_field=max_completion_tokens",
        "max_completion_tokens": "; see limit_field=max_tokens",
        "temperature": "; see sends_temperature=false",
    }
    return advice.get(parameter, "")
