"""Where a service is, and what it is sent beside the object."""

from __future__ import annotations

import json
import os
from typing import NamedTuple

from evalkit.errors import EvalkitError
from evalkit.services import is_address, secrets_of_url

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
        headers = [
            text for name, text in self.headers.items() if name.lower() not in _HARMLESS
        ]
        return [*secrets_of_url(self.url), *headers]


def read_access(
    url: str | None, url_variable: str | None, headers_variable: str | None
) -> Access:
    """Read address and headers.

    Args:
        url: The address; None for that in the environment.
        url_variable: Name of the variable that holds it.
        headers_variable: Name of the variable that holds headers as an object of JSON.

    Raises:
        EvalkitError: A variable is missing, or holds something else.
    """
    address = url or _read(url_variable or "")
    if not is_address(address):
        # it may hold a password, and is not quoted
        raise EvalkitError(f"{url_variable or 'url'} is no address of http or https")
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
            f"the environment variable {variable} must hold headers as an object of "
            'JSON, such as {"Authorization": "Bearer …"}'
        )
    return dict(found)


def _read(variable: str) -> str:
    value = os.environ.get(variable, "").strip()
    if not value:
        raise EvalkitError(f"the environment variable {variable} is not set")
    return value
