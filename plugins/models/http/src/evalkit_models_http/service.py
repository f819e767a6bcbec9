"""Asks a service."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any, NamedTuple

import httpx2
from pydantic_core import from_json

from evalkit import TryAgain
from evalkit.errors import DataError, EvalkitError
from evalkit_models_base import NotAnswered
from evalkit_models_base.clients import AnswerTooLarge, Client
from evalkit_models_base.services import (
    Cleaner,
    Redacts,
    is_address,
    is_later,
    public_url,
    quotable,
    retry_after,
    secrets_of_headers,
    secrets_of_url,
)

_HARMLESS = frozenset(
    {"accept", "accept-encoding", "accept-language", "content-type", "user-agent"}
)
"""Headers that are no secret."""


class Access(NamedTuple):
    """Address and headers, both of which may be secret."""

    url: str
    headers: dict[str, str]

    def secrets(self) -> list[str]:
        """Return what no message may hold."""
        headers = {
            name: text
            for name, text in self.headers.items()
            if name.lower() not in _HARMLESS
        }
        return [*secrets_of_url(self.url), *secrets_of_headers(headers)]


def read_access(
    url: str | None, url_variable: str | None, headers_variable: str | None
) -> Access:
    """Read address and headers."""
    address = url or _read(url_variable or "")
    if not is_address(address):
        # it may hold a password, and is not quoted
        name = "url" if url_variable is None else quotable(url_variable)
        raise EvalkitError(f"{name} is no address of http or https")
    headers = {} if headers_variable is None else _headers(headers_variable)
    return Access(address, headers)


def _headers(variable: str) -> dict[str, str]:
    try:
        found = json.loads(_read(variable))
    except ValueError:
        found = None
    is_object = isinstance(found, dict) and all(
        isinstance(text, str) and text.isascii() and text.isprintable()
        for pair in found.items()
        for text in pair
    )
    if not is_object:
        # what it holds is not quoted
        raise EvalkitError(
            f"the environment variable {quotable(variable)} must hold headers as an "
            'object of JSON, such as {"Authorization": "Bearer …"}'
        )
    return dict(found)


def _read(variable: str) -> str:
    value = os.environ.get(variable, "").strip()
    if not value:
        raise EvalkitError(f"the environment variable {quotable(variable)} is not set")
    return value


_FATAL = frozenset({401, 402, 403, 404, 405, 501})


def status_error(
    status: int, said: str, headers: Mapping[str, str], *, has_answered: bool
) -> Exception:
    """Return what a status of 300 or more means."""
    told = f": {said}" if said and status != 401 else ""
    advice = {
        401: "; put the right credentials where headers_variable says",
        403: "; see headers_variable",
        404: "; see url",
        405: "; it is asked by POST",
    }.get(status, "")
    if status in (301, 302, 303, 307, 308):
        advice = "; it is a redirect, which is not followed: let url be its target"
    reason = f"the service answers with status {status}{told}{advice}"
    if is_later(status):
        return TryAgain(reason, retry_after(headers))
    is_fatal = status in _FATAL or status < 400
    if is_fatal and not (status == 403 and has_answered):
        return DataError(reason)
    return NotAnswered(reason)


_CONNECT_SECONDS = 30.0


class Service:
    """A service that takes and gives JSON."""

    def __init__(self, access: Access, concurrency: int, seconds: float) -> None:
        self._access, self._seconds = access, seconds
        self._clean = Cleaner(access.secrets())
        self._redacts = Redacts(self._clean)
        self._has_answered = False
        self._client = Client(
            seconds=seconds,
            headers=access.headers,
            timeout=httpx2.Timeout(seconds, connect=min(seconds, _CONNECT_SECONDS)),
            limits=httpx2.Limits(max_connections=concurrency),
        )

    def ask(self, body: Any) -> Any:
        """Ask about an object, and return what the service says.

        Raises:
            DataError: It will answer no other object either.
            NotAnswered: It does not answer this one.
            TryAgain: It may answer later.
        """
        try:
            response = self._client.post(self._access.url, json=body)
        except httpx2.TimeoutException as error:
            raise TryAgain(f"no answer within {self._seconds:g} s") from error
        except AnswerTooLarge as error:
            raise NotAnswered(str(error)) from None
        except httpx2.RequestError as error:
            reason = self._clean(str(error)) or type(error).__name__
            url = public_url(self._access.url)
            raise TryAgain(f"no connection to {url}: {reason}") from None
        status = response.status_code
        if status >= 300:
            said = self._clean(response.content.decode(errors="replace"))
            has = self._has_answered
            raise status_error(status, said, response.headers, has_answered=has)
        try:
            answer = from_json(response.content, allow_inf_nan=False)
        except ValueError as error:
            raise TryAgain("the service's answer is no JSON") from error
        self._has_answered = True
        if self._clean.finds(answer):
            # it would stand in files
            raise NotAnswered("the answer repeats a key or password, and is not kept")
        return answer

    def close(self) -> None:
        """Give up the connections."""
        self._client.close()
        self._redacts.end()
