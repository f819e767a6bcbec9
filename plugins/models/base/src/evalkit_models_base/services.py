"""What a plugin needs that asks a service: addresses, waits, and no secret anywhere.

For authors of models, and of whatever else asks another machine.
"""

from __future__ import annotations

import base64
import json
import logging
import math
import re
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from email.utils import mktime_tz, parsedate_tz
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit, urlunsplit

__all__ = [
    "LONGEST_SERVER_WAIT",
    "Cleaner",
    "Redacts",
    "is_address",
    "is_public",
    "public_url",
    "retry_after",
    "secrets_of_url",
]

LONGEST_SERVER_WAIT = 600.0
"""Seconds that a server may ask for; what it wants to be asked later has failed."""

_KNOWN = frozenset({"api-version", "version"})
"""Fields of a query whose values are in everybody's documentation."""

_LONGEST = 300
_TELLING = 8
"""Characters by which a secret is recognised that a service quotes in part."""

_SHORTEST = 4
"""Shorter ones are in too many words."""

_SECRET_NAMES = re.compile(
    r"key(?!word|board)|token(?!s)|secret|signature|\bsig\b|passw|pwd|auth(?!or)|"
    "credential",
    re.IGNORECASE,
)
_RANDOM = re.compile(
    r"(?=[^\W_]*\d)(?=\d*[^\W\d_])[^\W_]{8,}|\d{12,}|[^\W_]*[a-z][A-Z]+[a-z]+[A-Z]\w*"
)
"""Letters with numbers, many numbers, or capitals here and there."""

_ESCAPE = re.compile(r"(?:\\(?:u[0-9a-fA-F]{4}|[\"\\/bfnrt]))+")


class _Ordinary(str):
    """What is taken out of messages, and may be a word of any answer."""

    __slots__ = ()


def is_address(url: str) -> bool:
    """Tell whether a text is an address of http or https that can be asked.

    Args:
        url: The text; it may hold a password, and is not to be quoted.
    """
    try:
        parts = urlsplit(url)
        is_whole = parts.port is None or parts.port > 0
    except ValueError:
        return False
    is_http = parts.scheme in ("http", "https") and bool(parts.hostname)
    return is_http and is_whole and url.isprintable() and " " not in url


def is_public(url: str) -> bool:
    """Tell whether an address holds nothing that may be secret.

    Args:
        url: The address.
    """
    parts = urlsplit(url)
    return "@" not in parts.netloc and not parts.query and not parts.fragment


def public_url(url: str) -> str:
    """Return an address without what may be secret: user, password and query.

    Args:
        url: The address.
    """
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2]
    return urlunsplit((parts.scheme, host, parts.path, "", ""))


def secrets_of_url(url: str) -> list[str]:
    """Return what must not be seen of an address, in all forms in which it is sent.

    Args:
        url: The address.
    """
    parts = urlsplit(url)
    user, password = parts.username or "", parts.password or ""
    # a user without a password is often a token
    found = [password or user, parts.fragment]
    if user or password:
        pair = f"{unquote(user)}:{unquote(password)}"
        found.append(base64.b64encode(pair.encode()).decode())
    fields = parse_qsl(parts.query)
    secret = [value for name, value in fields if _is_secret(name, value)]
    others = [value for name, value in fields if name not in _KNOWN]
    if secret or not fields:
        secret.append(parts.query)
    found += secret
    found += [unquote(each) for each in found]
    ordinary = [*others, *map(unquote, others), parts.query, unquote(parts.query)]
    # of those that are equal the first one counts
    return [each for each in dict.fromkeys([*found, *map(_Ordinary, ordinary)]) if each]


def _is_secret(name: str, value: str) -> bool:
    """Tell whether a field of a query is more than a setting."""
    is_like = _SECRET_NAMES.search(name) or _RANDOM.search(value)
    return name not in _KNOWN and is_like is not None


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds that a server wants to be left alone.

    Args:
        headers: Of its answer, by names in lower case: `retry-after` in seconds or as
            a date, or `retry-after-ms`.

    Returns:
        The seconds; None where it does not say, or nothing that is understood.
    """
    for name, unit in (("retry-after-ms", 1e-3), ("retry-after", 1.0)):
        try:
            seconds = float(headers.get(name, "")) * unit
        except ValueError:
            continue
        return max(seconds, 0.0) if math.isfinite(seconds) else None
    date = parsedate_tz(headers.get("retry-after", ""))
    if date is None:
        return None
    try:
        return max(mktime_tz(date) - time.time(), 0.0)
    except (ValueError, OverflowError):
        return None


class Cleaner:
    """Takes secrets out of texts, and shortens them.

    Args:
        secrets: What must not be seen; a part of one that a service quotes is taken out
            with what follows.
    """

    def __init__(self, secrets: Iterable[str]) -> None:
        secrets = [*secrets]
        words = [word for secret in secrets for word in secret.split()]
        parts = [_telling(word) for word in words if len(word) >= _SHORTEST]
        self._pattern = re.compile("|".join(parts)) if parts else None
        sought = [
            re.escape(word) if len(word) >= _TELLING else _telling(word)
            for secret in secrets
            if not isinstance(secret, _Ordinary)
            for word in secret.split()
            if len(word) >= _TELLING or _is_mixed(word)
        ]
        self._whole = re.compile("|".join(sought)) if sought else None

    def __call__(self, said: Any) -> str:
        """Return a text of one line without secrets.

        Args:
            said: A text, or whatever a service sent in its place.
        """
        if isinstance(said, Mapping):
            said = said.get("message") or said.get("detail") or said
        text = " ".join(str(said).split())
        if self._pattern is not None:
            text = self._pattern.sub("***", text)
        return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"

    def finds(self, said: Any) -> bool:
        """Tell whether a secret stands in an answer, also as URLs and JSON write it.

        One of four to seven characters counts as a word of its own, and where it mixes
        letters with others; a field of an address's query where its name or its value
        looks like that of a secret.

        Args:
            said: A text, or a value of JSON with texts in it.
        """
        if isinstance(said, str):
            found = self._whole
            return found is not None and any(map(found.search, _readings(said)))
        if isinstance(said, Mapping):
            return any(self.finds(each) for pair in said.items() for each in pair)
        return isinstance(said, Sequence) and any(map(self.finds, said))


class Redacts(logging.Filter):
    """Takes secrets out of what a client writes into the log, until `end`.

    Args:
        clean: Takes them out of a text.
        loggers: Names of the client's loggers.
    """

    def __init__(self, clean: Cleaner, loggers: Sequence[str]) -> None:
        super().__init__()
        self._clean, self._loggers = clean, loggers
        for name in loggers:
            logging.getLogger(name).addFilter(self)

    def filter(self, record: logging.LogRecord) -> bool:
        """Clean what is logged."""
        record.msg, record.args = self._clean(record.getMessage()), ()
        record.exc_info = record.exc_text = None  # it may quote an address
        return True

    def end(self) -> None:
        """Leave the log as it is again."""
        for name in self._loggers:
            logging.getLogger(name).removeFilter(self)


def _telling(secret: str) -> str:
    """Return a pattern of what gives a secret away."""
    if len(secret) < _TELLING:
        return rf"(?<!\w){re.escape(secret)}(?!\w)"
    return re.escape(secret[:_TELLING]) + r"\S*"


def _readings(said: str) -> Iterator[str]:
    """Return a text as it is, and as what an address or JSON would mean by it."""
    yield said
    if "%" in said:
        yield unquote(said)
    if "\\" in said:
        yield _ESCAPE.sub(lambda found: str(json.loads(f'"{found[0]}"')), said)


def _is_mixed(word: str) -> bool:
    """Tell whether a short secret is neither a word nor a number."""
    has_letters = any(map(str.isalpha, word))
    return len(word) >= _SHORTEST and has_letters and not word.isalpha()
