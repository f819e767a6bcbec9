"""Replies that say why a server gave none."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from email.utils import mktime_tz, parsedate_tz
from typing import TYPE_CHECKING, Any

from evalkit import Reply

if TYPE_CHECKING:
    from openai import APIConnectionError, APIStatusError

_LATER = frozenset({408, 409, 425, 429})
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

_WITHOUT_MONEY = "insufficient_quota"


def status_reply(
    error: APIStatusError,
    *,
    url: str,
    model: str,
    variable: str,
    clean: Callable[[Any], str],
) -> Reply:
    """Return the reply that stands for an error of a server.

    Args:
        error: What the client raised.
        url: The address, without credentials.
        model: The model that was asked.
        variable: Where the key came from.
        clean: Takes secrets out of a text.
    """
    status = error.status_code
    body = error.body if error.body else error.response.reason_phrase
    said = f"{clean(body)} (status {status})"
    if status == 401:
        # what such servers say often quotes the key
        return _fatal(
            f"{url} does not take the key (status 401): put the right one into the "
            f"environment variable {variable}, or name another with api_key_variable"
        )
    if status == 403:
        return _fatal(f"{url} does not let this key ask {model!r}: {said}")
    if status == 404:
        return _fatal(
            f"{url} has no model {model!r}, or no such service: {said}; see model, "
            "base_url and api"
        )
    is_unsupported = error.code in {*_UNSUPPORTED, "model_not_found"}
    is_setting = status in (400, 422) and error.param in _SETTINGS
    if status in _NEVER or is_unsupported or is_setting:
        return _fatal(f"{url} cannot be asked so: {said}{_advice(error.param)}")
    if status == 429 and _WITHOUT_MONEY in (error.code, error.type):
        return _fatal(f"{url} has no quota left for this key: {said}")
    if status in _LATER or status >= 500:
        return Reply(
            error=f"the server says: {said}",
            is_retriable=True,
            retry_after=retry_after(error.response.headers),
        )
    return Reply(error=f"the server refuses the request: {said}")


def connection_reply(error: APIConnectionError, clean: Callable[[Any], str]) -> Reply:
    """Return the reply that stands for a connection that failed.

    Args:
        error: What the client raised.
        clean: Takes secrets out of a text.
    """
    reason = clean(error.__cause__ or error.message) or type(error.__cause__).__name__
    return Reply(error=f"no connection: {reason}", is_retriable=True)


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds that a server wants to be left alone.

    Args:
        headers: Of its answer: `Retry-After` in seconds or as a date, or
            `retry-after-ms`.

    Returns:
        The seconds; None where it does not say, or nothing that is understood.
    """
    for name, unit in (("retry-after-ms", 1e-3), ("retry-after", 1.0)):
        try:
            seconds = float(headers.get(name, "")) * unit
        except ValueError:
            continue
        return max(seconds, 0.0) if math.isfinite(seconds) else None
    date = parsedate_tz(headers.get("retry-after", ""))
    if date is None:
        return None
    try:
        return max(mktime_tz(date) - time.time(), 0.0)
    except (ValueError, OverflowError):
        return None


def _fatal(reason: str) -> Reply:
    return Reply(error=reason, is_fatal=True)


def _advice(parameter: str | None) -> str:
    advice = {
        "max_tokens": "; see limit_field=max_completion_tokens",
        "max_completion_tokens": "; see limit_field=max_tokens",
        "temperature": "; see sends_temperature=false",
    }
    return advice.get(parameter or "", "")
