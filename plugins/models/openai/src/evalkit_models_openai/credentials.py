"""Keys and addresses, and to whom a key is sent."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar
from urllib.parse import urlsplit

from evalkit.errors import EvalkitError
from evalkit_models_base.services import (
    Cleaner,
    Redacts,
    is_address,
    public_url,
    quotable,
    secrets_of_url,
)
from evalkit_models_openai.parameters import ServerParameters
from evalkit_models_openai.refusals import Unusable

KEY_RING = "evalkit"
"""The service under which secrets are in a key ring."""


class Secret(NamedTuple):
    """A secret, empty if there is none, and where it is or belongs, for messages."""

    value: str
    origin: str


def read_secret(name: str) -> Secret:
    """Return a secret: of the environment, else of the key ring, where one is used."""
    origin = f"the environment variable {quotable(name)}"
    value = os.environ.get(name, "").strip()
    if value:
        return Secret(value, origin)
    try:
        import keyring
        from keyring.errors import KeyringError, NoKeyringError
    except ImportError:
        return Secret("", origin)
    try:
        value = (keyring.get_password(KEY_RING, name) or "").strip()
    except NoKeyringError:
        return Secret("", origin)
    except KeyringError as error:
        raise Unusable(
            f"{_ring()} cannot be read for {quotable(name)} (service {KEY_RING}): "
            f"{error}; unlock it, or put the key into {origin}",
            is_fatal=True,
        ) from error
    of_ring = f"{_ring()} ({KEY_RING}, {quotable(name)})"
    return Secret(value, of_ring if value else origin)


def _ring() -> str:
    """Name the key ring that is used."""
    import keyring

    return f"the key ring {keyring.get_keyring().name!r}"


Client = TypeVar("Client")

_CONNECT_SECONDS = 30.0

_LOGGERS = ("openai", *(f"openai._{x}" for x in ("base_client", "response")))
_LOGGERS += ("openai._legacy_response",)


class Access(NamedTuple):
    """How a server is reached."""

    url: str
    """Its address, with the credentials that it may hold."""
    key: str
    key_from: str | None
    """What holds the key; None if none is sent."""
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
    key_from = None if key == PLACEHOLDER else origin
    return Access(url, key, key_from, clean, Redacts(clean, _LOGGERS))


PLACEHOLDER = "none"
"""Sent to servers that want no key, as the client must send one."""

_NONE = Secret(PLACEHOLDER, "")

HOSTED = "https://api.openai.com/v1"
"""Where the client asks when it is told nothing."""

KEY_VARIABLE = "OPENAI_API_KEY"
"""Where OpenAI's client looks for a key."""


def endpoint(base_url: str | None) -> str:
    """Return the address that is asked, with the credentials that it may hold."""
    url = base_url or _base_url_beside() or HOSTED
    if not is_address(url):
        name = "base_url" if base_url else "the environment variable OPENAI_BASE_URL"
        raise EvalkitError(f"{name} is no address of http or https")
    return url


def is_hosted(url: str) -> bool:
    """Tell whether an address is of OpenAI itself, which wants a key."""
    host = urlsplit(url).hostname or ""
    return host == "openai.com" or host.endswith(".openai.com")


def read_key(variable: str | None, url: str) -> Secret:
    """Return the key in a variable of the environment, or in the key ring."""
    if is_hosted(url) and urlsplit(url).scheme != "https":
        raise Unusable(
            f"{public_url(url)} would be sent the key without encryption: let the "
            "address begin with https://",
            is_fatal=True,
        )
    if variable is None and not (is_hosted(url) or url == _base_url_beside()):
        return _NONE
    name = variable or KEY_VARIABLE
    found = read_secret(name)
    key = found.value
    where = "under this name into the key ring, or name another with api_key_variable"
    if not key and variable is not None:
        raise Unusable(
            f"{found.origin} is not set: put the key into it, or {where}; a server "
            "that wants no key needs none",
            is_fatal=True,
        )
    if not key and is_hosted(url):
        raise Unusable(
            f"{public_url(url)} wants a key: put it into the environment variable "
            f"{name}, or {where}",
            is_fatal=True,
        )
    if not key:
        return _NONE
    if not (key.isascii() and key.isprintable()) or " " in key:
        raise Unusable(
            f"{found.origin} holds something that cannot be a key", is_fatal=True
        )
    return found


def secrets_of(key: str, url: str) -> list[str]:
    """Return what must not be seen of a key and an address."""
    found = [key, *secrets_of_url(url)]
    return [each for each in found if each != PLACEHOLDER]


def _base_url_beside() -> str:
    return os.environ.get("OPENAI_BASE_URL", "").strip()
