"""The client of a server, and what is secret of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

from evalkit_models_base.services import Cleaner, Redacts
from evalkit_models_openai.credentials import (
    PLACEHOLDER,
    endpoint,
    is_hosted,
    read_key,
    secrets_of,
)
from evalkit_models_openai.parameters import ServerParameters

Client = TypeVar("Client")

_CONNECT_SECONDS = 30.0

_LOGGERS = (
    *("httpx2", "openai", "openai._base_client", "openai._response"),
    *("openai._legacy_response", "httpcore2.connection", "httpcore2.http11"),
    *("httpcore2.http2", "httpcore2.proxy", "httpcore2.socks"),
)
"""What the client writes into."""


class Access(NamedTuple):
    """How a server is reached.

    Attributes:
        url: Its address, with the credentials that it may hold.
        key: What it is sent.
        key_from: What holds the key; None where none is sent.
        clean: Takes secrets out of texts.
        redacts: Takes them out of logs, until it ends.
    """

    url: str
    key: str
    key_from: str | None
    clean: Cleaner
    redacts: Redacts

    def client(
        self,
        kind: Callable[..., Client],
        http_client: Callable[..., Any],
        seconds: float | None = None,
    ) -> Client:
        """Make a client."""
        from httpx2 import Limits, Timeout

        timeout = Timeout(seconds, connect=_CONNECT_SECONDS)
        limits = Limits(max_connections=1000, max_keepalive_connections=100)
        made: Any = kind(
            api_key=self.key,
            base_url=self.url,
            max_retries=0,
            timeout=timeout,
            http_client=http_client(timeout=timeout, limits=limits),
        )
        if not is_hosted(self.url):  # the environment's are for OpenAI, too
            made.organization = made.project = None
        return made  # type: ignore[no-any-return]


def connect(given: ServerParameters) -> Access:
    """Read the key and the address."""
    url = endpoint(given.base_url)
    key, origin = read_key(given.api_key_variable, url)
    clean = Cleaner(secrets_of(key, url))
    return Access(
        url,
        key,
        None if key == PLACEHOLDER else origin,
        clean,
        Redacts(clean, _LOGGERS),
    )
