"""The HTTP client of every plugin that asks a service.

It follows no redirect, so that a key reaches the address that the user names and no
other, and reads no answer without end.
"""

from __future__ import annotations

from time import monotonic
from typing import Any

import httpx2

MOST_BYTES = 64 * 2**20
"""Maximum size of an answer, unpacked."""

_OF_TRANSPORT = ("content-encoding", "content-length", "transfer-encoding")


class AnswerTooLarge(httpx2.RequestError):
    """An answer exceeds the limit of its size."""


class _Content:
    def __init__(self, most_bytes: int, seconds: float | None) -> None:
        self._parts: list[bytes] = []
        self._size, self._most = 0, most_bytes
        self._latest = None if seconds is None else monotonic() + seconds

    def add(self, part: bytes) -> None:
        self._parts.append(part)
        self._size += len(part)
        if self._size > self._most:
            raise AnswerTooLarge(f"the answer exceeds {self._most:,} bytes")
        if self._latest is not None and monotonic() > self._latest:
            raise httpx2.ReadTimeout("the answer took too long")

    def whole(self, response: httpx2.Response) -> httpx2.Response:
        headers = [
            (name, text)
            for name, text in response.headers.multi_items()
            if name.lower() not in _OF_TRANSPORT
        ]
        return httpx2.Response(
            response.status_code,
            headers=headers,
            content=b"".join(self._parts),
            request=response.request,
            extensions=response.extensions,
        )


class Client(httpx2.Client):
    """A client whose answers have a maximum size, unpacked, and a maximum time."""

    def __init__(
        self,
        *,
        most_bytes: int = MOST_BYTES,
        seconds: float | None = None,
        **options: Any,
    ) -> None:
        super().__init__(**options)
        self._limits_of_answers = (most_bytes, seconds)

    def send(self, request: httpx2.Request, **options: Any) -> httpx2.Response:
        """Send a request, and return its whole answer."""
        options |= {"stream": True, "follow_redirects": False}
        response = super().send(request, **options)
        content = _Content(*self._limits_of_answers)
        try:
            for part in response.iter_bytes():
                content.add(part)
        finally:
            response.close()
        return content.whole(response)


class AsyncClient(httpx2.AsyncClient):
    """The same for coroutines, which a timeout cancels."""

    async def send(self, request: httpx2.Request, **options: Any) -> httpx2.Response:
        """Send a request, and return its whole answer."""
        options |= {"stream": True, "follow_redirects": False}
        response = await super().send(request, **options)
        content = _Content(MOST_BYTES, None)
        try:
            async for part in response.aiter_bytes():
                content.add(part)
        finally:
            await response.aclose()
        return content.whole(response)
