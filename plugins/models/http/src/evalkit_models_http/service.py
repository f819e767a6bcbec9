"""Asks a service, again where that may help."""

from __future__ import annotations

import math
import random
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from time import monotonic
from typing import Any

import httpx2
from pydantic_core import from_json

from evalkit.services import Cleaner, Redacts
from evalkit_models_http.access import Access
from evalkit_models_http.refusals import Refused, status_refusal

_LOGGERS = (
    *("httpx2", "httpcore2.connection", "httpcore2.http11", "httpcore2.http2"),
    *("httpcore2.proxy", "httpcore2.socks"),
)
"""What the client writes into."""

_ENDING_SECONDS = 2.0
"""How long requests under way are waited for when the work ends early."""

_FIRST_WAIT = 1.0
"""Seconds before a service is asked again; twice as many each time."""

_LONGEST_WAIT = 60.0
_CONNECT_SECONDS = 30.0

_MOST_BYTES = 64 * 2**20
"""How large an answer may be."""


class Service:
    """A service that takes and gives JSON.

    Args:
        access: Where it is.
        concurrency: The most requests at once.
        retries: How often it is asked again.
        seconds: How long an answer is waited for.
    """

    def __init__(
        self, access: Access, concurrency: int, retries: int, seconds: float
    ) -> None:
        self._access, self._count = access, concurrency
        self._retries, self._seconds = retries, seconds
        self._clean = Cleaner(access.secrets())
        self._stopped = threading.Event()
        self._why_ended: Refused | None = None
        self._redacts = Redacts(self._clean, _LOGGERS)
        self._has_answered = False
        self._client = httpx2.Client(
            headers=access.headers,
            timeout=httpx2.Timeout(seconds, connect=min(seconds, _CONNECT_SECONDS)),
            limits=httpx2.Limits(max_connections=concurrency),
        )

    def ask(self, bodies: Sequence[Any]) -> list[Any]:
        """Ask for each of some objects.

        Args:
            bodies: The objects.

        Returns:
            For each what the service says, or why it says nothing.

        Raises:
            Refused: It would answer nothing else either.
        """
        pool = ThreadPoolExecutor(self._count, thread_name_prefix="evalkit-http")
        under_way = []
        try:
            under_way += [pool.submit(self._ask, body) for body in bodies]
            return [each.result() for each in under_way]
        except BaseException:
            self._stopped.set()
            pool.shutdown(wait=False, cancel_futures=True)
            # a connection that is made just now would be left open
            wait(under_way, timeout=_ENDING_SECONDS)
            self.close()
            raise
        finally:
            pool.shutdown(wait=False, cancel_futures=True)

    def close(self) -> None:
        """Give up the connections, and what is waited for."""
        self._stopped.set()
        self._client.close()
        self._redacts.end()

    def _ask(self, body: Any) -> Any:
        """Return an answer, or what the last attempt was refused for."""
        for attempt in range(self._retries + 1):
            if self._why_ended is not None:
                raise self._why_ended
            try:
                return self._once(body)
            except Refused as refused:
                if refused.is_fatal:
                    self._why_ended = refused
                    raise
                if attempt == self._retries or not refused.is_retriable:
                    return refused
                if self._stopped.wait(_wait(refused, attempt)):
                    return refused
        raise AssertionError("the last attempt returns")

    def _once(self, body: Any) -> Any:
        try:
            with self._client.stream("POST", self._access.url, json=body) as response:
                content = self._read(response)
        except httpx2.TimeoutException as error:
            raise self._too_slow() from error
        except httpx2.RequestError as error:
            reason = self._clean(str(error)) or type(error).__name__
            raise Refused(f"no connection: {reason}", is_retriable=True) from None
        if response.status_code >= 300:
            said = self._clean(content.decode(errors="replace"))
            raise status_refusal(
                response.status_code,
                said,
                response.headers,
                has_answered=self._has_answered,
            )
        try:
            answer = from_json(content, allow_inf_nan=False)
        except ValueError as error:
            raise Refused(
                "the service's answer is no JSON", is_retriable=True
            ) from error
        self._has_answered = True
        if self._clean.finds(answer):
            # it would stand in files
            raise Refused("the answer repeats a key or password, and is not kept")
        return answer

    def _read(self, response: httpx2.Response) -> bytes:
        """Read an answer, which may come in drops or without end."""
        latest = monotonic() + self._seconds
        parts: list[bytes] = []
        size = 0
        for part in response.iter_bytes():
            parts.append(part)
            size += len(part)
            if size > _MOST_BYTES:
                raise Refused(f"the service's answer has over {_MOST_BYTES:,} bytes")
            if monotonic() > latest:
                raise self._too_slow()
        return b"".join(parts)

    def _too_slow(self) -> Refused:
        return Refused(f"no answer within {self._seconds:g} s", is_retriable=True)


def _wait(refused: Refused, attempt: int) -> float:
    if refused.after is not None:
        return refused.after
    longest = min(_LONGEST_WAIT, math.ldexp(_FIRST_WAIT, attempt))
    return longest * random.uniform(0.5, 1.0)
