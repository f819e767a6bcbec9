"""Keys and addresses, and how both are kept out of messages."""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Iterable
from typing import Any
from urllib.parse import parse_qsl, urlsplit, urlunsplit

from evalkit.errors import EvalkitError
from evalkit_models_openai.unusable import Unusable

PLACEHOLDER = "none"
"""Sent to servers that want no key, as the client must send one."""

HOSTED = "https://api.openai.com/v1"
"""Where the client asks when it is told nothing."""

_LONGEST = 300
_TELLING = 8
"""Characters by which a key is recognised that a server quotes in part."""

_SHORTEST = 4
"""Shorter ones are in too many words."""


def endpoint(base_url: str | None) -> str:
    """Return the address that is asked, with the credentials that it may hold.

    Args:
        base_url: What the user says; None for what the client would take.

    Raises:
        EvalkitError: It is no address; it is not quoted, as it may hold a password.
    """
    url = base_url or os.environ.get("OPENAI_BASE_URL", "").strip() or HOSTED
    if not is_address(url):
        name = "base_url" if base_url else "the environment variable OPENAI_BASE_URL"
        raise EvalkitError(f"{name} is no address of http or https")
    return url


def is_address(url: str) -> bool:
    """Tell whether a text is an address that can be asked."""
    try:
        parts = urlsplit(url)
        is_whole = parts.port is None or parts.port > 0
    except ValueError:
        return False
    is_http = parts.scheme in ("http", "https") and bool(parts.hostname)
    return is_http and is_whole and url.isprintable() and " " not in url


def public_url(url: str) -> str:
    """Return an address without what may be secret: user, password and query.

    Args:
        url: The address.
    """
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2]
    return urlunsplit((parts.scheme, host, parts.path.rstrip("/"), "", ""))


def is_public(url: str) -> bool:
    """Tell whether an address holds nothing that may be secret."""
    parts = urlsplit(url)
    return "@" not in parts.netloc and not parts.query and not parts.fragment


def is_hosted(url: str) -> bool:
    """Tell whether an address is of OpenAI itself, which wants a key."""
    host = urlsplit(url).hostname or ""
    return host == "openai.com" or host.endswith(".openai.com")


def read_key(variable: str, url: str) -> str:
    """Return the key in a variable of the environment.

    Args:
        variable: Its name.
        url: The address; a server that is not OpenAI's may want none.

    Raises:
        Unusable: There is none, or none that can be sent.
    """
    key = os.environ.get(variable, "").strip()
    if not key:
        if is_hosted(url):
            raise Unusable(
                f"{public_url(url)} wants a key: put it into the environment variable "
                f"{variable}, or name another with api_key_variable",
                is_fatal=True,
            )
        return PLACEHOLDER
    if not (key.isascii() and key.isprintable()) or " " in key:
        raise Unusable(
            f"the environment variable {variable} holds something that cannot be a key",
            is_fatal=True,
        )
    return key


class Cleaner:
    """Takes secrets out of texts, and shortens them.

    Args:
        secrets: What must not be seen; a part of one that a server quotes is taken out
            with what follows.
    """

    def __init__(self, secrets: Iterable[str]) -> None:
        parts = [_telling(each) for each in secrets if len(each) >= _SHORTEST]
        self._pattern = re.compile("|".join(parts)) if parts else None

    def __call__(self, said: Any) -> str:
        """Return a text of one line without secrets.

        Args:
            said: A text, or whatever a server sent in its place.
        """
        if isinstance(said, dict):
            said = said.get("message") or said.get("detail") or said
        text = " ".join(str(said).split())
        if self._pattern is not None:
            text = self._pattern.sub("***", text)
        return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


class Redacts(logging.Filter):
    """Takes secrets out of what the client writes into the log, such as addresses.

    Args:
        clean: Takes them out of a text.
    """

    _LOGGERS = ("httpx2", "openai._base_client")

    def __init__(self, clean: Cleaner) -> None:
        super().__init__()
        self._clean = clean
        for name in self._LOGGERS:
            logging.getLogger(name).addFilter(self)

    def filter(self, record: logging.LogRecord) -> bool:
        """Clean what is logged."""
        record.msg, record.args = self._clean(record.getMessage()), ()
        return True

    def end(self) -> None:
        """Leave the log as it is again."""
        for name in self._LOGGERS:
            logging.getLogger(name).removeFilter(self)


def secrets_of(key: str, url: str) -> list[str]:
    """Return what must not be seen of a key and an address."""
    parts = urlsplit(url)
    values = [value for _, value in parse_qsl(parts.query)]
    # a user without a password is often a token
    found = [key, parts.password or parts.username or "", parts.query, *values]
    return [each for each in found if each and each != PLACEHOLDER]


def _telling(secret: str) -> str:
    """Return a pattern of what gives a secret away."""
    if len(secret) < _TELLING:
        return rf"(?<!\w){re.escape(secret)}(?!\w)"
    return re.escape(secret[:_TELLING]) + r"\S*"
