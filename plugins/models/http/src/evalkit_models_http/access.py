"""Where a service is, and what it is sent beside the object."""

from __future__ import annotations

import json
import os
import re
from typing import NamedTuple

from evalkit.errors import EvalkitError
from evalkit_models_base.services import (
    is_address,
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


def is_variable(name: str) -> bool:
    """Tell whether a text may be the name of a variable of the environment."""
    return re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name) is not None


def read_access(
    url: str | None, url_variable: str | None, headers_variable: str | None
) -> Access:
    """Read address and headers."""
    address = url or _read(url_variable or "")
    if not is_address(address):
        # it may hold a password, and is not quoted
        name = "url" if url_variable is None else _quotable(url_variable)
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
            f"the environment variable {_quotable(variable)} must hold headers as an "
            'object of JSON, such as {"Authorization": "Bearer …"}'
        )
    return dict(found)


def _read(variable: str) -> str:
    value = os.environ.get(variable, "").strip()
    if not value:
        raise EvalkitError(f"the environment variable {_quotable(variable)} is not set")
    return value


def _quotable(name: str) -> str:
    """Return the name of a variable, unless it looks as if it were a secret itself."""
    is_usual = re.fullmatch(r"_?[A-Z][A-Z0-9]*(_[A-Z0-9]+)+|[A-Z_]{1,16}", name)
    is_words = re.fullmatch(r"[a-z]{1,12}(_[a-z]{1,12})*", name)
    if is_usual or (is_words and not name.startswith("sk_")):
        return name
    return "whose name was given (not shown, as it may be a secret itself)"
