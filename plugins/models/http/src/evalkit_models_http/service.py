"""Asks a service."""

from __future__ import annotations

from typing import Any

import httpx2
from pydantic_core import from_json

from evalkit_models_base.clients import AnswerTooLarge, Client
from evalkit_models_base.services import Cleaner, Redacts, public_url
from evalkit_models_http.access import Access
from evalkit_models_http.refusals import Refused, status_refusal

_LOGGERS = (
    *("httpx2", "httpcore2.connection", "httpcore2.http11", "httpcore2.http2"),
    *("httpcore2.proxy", "httpcore2.socks"),
)
"""What the client writes into."""

_CONNECT_SECONDS = 30.0


class Service:
    """A service that takes and gives JSON."""

    def __init__(self, access: Access, concurrency: int, seconds: float) -> None:
        self._access, self._seconds = access, seconds
        self._clean = Cleaner(access.secrets())
        self._redacts = Redacts(self._clean, _LOGGERS)
        self._has_answered = False
        self._client = Client(
            seconds=seconds,
            headers=access.headers,
            timeout=httpx2.Timeout(seconds, connect=min(seconds, _CONNECT_SECONDS)),
            limits=httpx2.Limits(max_connections=concurrency),
        )

    def ask(self, body: Any) -> Any:
        """Ask about an object, and return what the service says."""
        try:
            response = self._client.post(self._access.url, json=body)
        except httpx2.TimeoutException as error:
            reason = f"no answer within {self._seconds:g} s"
            raise Refused(reason, is_retriable=True) from error
        except AnswerTooLarge as error:
            raise Refused(str(error)) from None
        except httpx2.RequestError as error:
            reason = self._clean(str(error)) or type(error).__name__
            url = public_url(self._access.url)
            raise Refused(
                f"no connection to {url}: {reason}", is_retriable=True
            ) from None
        if response.status_code >= 300:
            said = self._clean(response.content.decode(errors="replace"))
            raise status_refusal(
                response.status_code,
                said,
                response.headers,
                has_answered=self._has_answered,
            )
        try:
            answer = from_json(response.content, allow_inf_nan=False)
        except ValueError as error:
            raise Refused(
                "the service's answer is no JSON", is_retriable=True
            ) from error
        self._has_answered = True
        if self._clean.finds(answer):
            # it would stand in files
            raise Refused("the answer repeats a key or password, and is not kept")
        return answer

    def close(self) -> None:
        """Give up the connections."""
        self._client.close()
        self._redacts.end()
