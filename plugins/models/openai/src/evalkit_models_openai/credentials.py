"""Keys and addresses, and to whom a key is sent."""

from __future__ import annotations

import os
from urllib.parse import urlsplit

from evalkit.errors import EvalkitError
from evalkit_models_base.services import is_address, public_url, secrets_of_url
from evalkit_models_openai.key_ring import Secret, read_secret
from evalkit_models_openai.unusable import Unusable

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
    if not key and variable is not None:
        raise Unusable(
            f"{found.origin} is not set: put the key into it, or under this name into "
            "the key ring, or name another with api_key_variable; a server that wants "
            "no key needs none",
            is_fatal=True,
        )
    if not key:
        if is_hosted(url):
            raise Unusable(
                f"{public_url(url)} wants a key: put it into the environment variable "
                f"{name}, or under this name into the key ring, or name another with "
                "api_key_variable",
                is_fatal=True,
            )
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
