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
from typing import Annotated, Any
from urllib.parse import parse_qsl, unquote, urlsplit, urlunsplit

from pydantic import AfterValidator

__all__ = ["LONGEST_SERVER_WAIT", "Cleaner", "Redacts", "VariableName", "is_address"]
__all__ += ["is_later", "is_public", "public_access", "public_url", "quotable"]
__all__ += ["retry_after", "secrets_of_headers", "secrets_of_url"]

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
    "credential|cookie",
    re.IGNORECASE,
)
_RANDOM = re.compile(
    r"(?=[^\W_]*\d)(?=\d*[^\W\d_])[^\W_]{8,}|\d{12,}|[^\W_]*[a-z][A-Z]+[a-z]+[A-Z]\w*"
)
"""Letters with numbers, many numbers, or capitals here and there."""

_DEEPEST = 3
"""Times that a text is escaped or quoted, one around the other."""

_MOST_FORMS = 9

_ESCAPE = re.compile(r"(?:\\(?:u[0-9a-fA-F]{4}|[\"\\/bfnrt]))+")


class _Ordinary(str):
    """What is taken out of messages, and may be a word of any answer."""

    __slots__ = ()


def _checked_name(given: str) -> str:
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", given):
        raise ValueError(
            "takes the NAME of an environment variable, such as MY_KEY, and this is "
            "none; a secret itself belongs into the variable"
        )
    return given


VariableName = Annotated[str, AfterValidator(_checked_name)]
"""Name of an environment variable that holds a secret: a type of parameters."""


def quotable(variable: str) -> str:
    """Return the name of a variable for messages, unless it may be a secret itself."""
    is_usual = re.fullmatch(r"_?[A-Z][A-Z0-9]*(_[A-Z0-9]+)+|[A-Z_]{1,16}", variable)
    is_words = re.fullmatch(r"[a-z]{1,12}(_[a-z]{1,12})*", variable)
    if is_usual or (is_words and not variable.startswith("sk_")):
        return variable
    return "that was named (not shown, as it may be a key itself)"


def is_later(status: int) -> bool:
    """Tell whether a service that answers with a status may answer later."""
    return status in (408, 409, 425, 429) or (status >= 500 and status != 501)


def is_address(url: str) -> bool:
    """Tell whether a text, which is not to be quoted, can be asked by http or https."""
    try:
        parts = urlsplit(url)
        is_whole = parts.port is None or parts.port > 0
    except ValueError:
        return False
    is_http = parts.scheme in ("http", "https") and bool(parts.hostname)
    return is_http and is_whole and url.isprintable() and " " not in url


def is_public(url: str) -> bool:
    """Tell whether an address holds nothing that may be secret."""
    parts = urlsplit(url)
    return "@" not in parts.netloc and not parts.query and not parts.fragment


def public_url(url: str) -> str:
    """Return an address without what may be secret: user, password and query."""
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2]
    return urlunsplit((parts.scheme, host, parts.path, "", ""))


def secrets_of_url(url: str) -> list[str]:
    """Return what must not be seen of an address, in all forms in which it is sent."""
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


def secrets_of_headers(headers: Mapping[str, str]) -> list[str]:
    """Return what must not be seen of headers."""
    return [
        text if _is_secret(name, text) else _Ordinary(text)
        for name, text in headers.items()
    ]


def public_access(url: str, headers: Mapping[str, str]) -> dict[str, Any]:
    """Return an address with its query, and headers, without what names a secret.

    For `describe_request`, where it is hashed; values may still not be for everybody.
    """
    query = parse_qsl(urlsplit(url).query, keep_blank_values=True)
    return {
        "url": public_url(url),
        "query": [pair for pair in query if not _SECRET_NAMES.search(pair[0])],
        "headers": {
            name.lower(): text
            for name, text in headers.items()
            if not _SECRET_NAMES.search(name)
        },
    }


def _is_secret(name: str, value: str) -> bool:
    is_like = _SECRET_NAMES.search(name) or _RANDOM.search(value)
    return name not in _KNOWN and is_like is not None


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds that a server wants to be left alone; None for unknown.

    Its headers, by names in lower case, say it: `retry-after` in seconds or as a date,
    or `retry-after-ms`.
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

    A secret is found as it is, as JSON or an address writes it, and in base64; a part
    of one that a service quotes is taken out with what follows.
    """

    def __init__(self, secrets: Iterable[str]) -> None:
        secrets = [*secrets]
        words = [word for secret in secrets for word in secret.split()]
        words = [word for word in words if len(word) >= _SHORTEST]
        parts = [*map(_telling, words)]
        parts += [_telling(form) for word in words for form in _in_base64(word)]
        self._pattern = re.compile("|".join(parts)) if parts else None
        strict = [
            word
            for secret in secrets
            if not isinstance(secret, _Ordinary)
            for word in secret.split()
            if len(word) >= _TELLING or _is_mixed(word)
        ]
        sought = [
            re.escape(word) if len(word) >= _TELLING else _telling(word)
            for word in strict
        ]
        sought += [re.escape(form) for word in strict for form in _in_base64(word)]
        self._whole = re.compile("|".join(sought)) if sought else None

    def __call__(self, said: Any) -> str:
        """Return what a service sent as a text of one line without secrets."""
        if isinstance(said, Mapping):
            said = said.get("message") or said.get("detail") or said
        text = " ".join(str(said).split())
        if self._pattern is not None:
            for _ in range(_MOST_FORMS):
                readings = (each for each in _readings(text) if self._shows(each))
                reading = next(readings, None)
                if reading is None:
                    break
                text = self._pattern.sub("***", reading)
        return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"

    def _shows(self, text: str) -> bool:
        return self._pattern is not None and self._pattern.search(text) is not None

    def finds(self, said: Any) -> bool:
        """Tell whether a secret stands in an answer, in any of these forms.

        One of four to seven characters counts as a word of its own, and where it mixes
        letters with others; a field of an address's query where its name or its value
        looks like that of a secret. A value of JSON may be given for the texts in it.
        """
        if isinstance(said, str):
            found = self._whole
            return found is not None and any(map(found.search, _readings(said)))
        if isinstance(said, Mapping):
            return any(self.finds(each) for pair in said.items() for each in pair)
        return isinstance(said, Sequence) and any(map(self.finds, said))


class Redacts(logging.Filter):
    """Takes secrets out of what httpx2 and a client upon it log, until `end`."""

    def __init__(self, clean: Cleaner, loggers: Sequence[str] = ()) -> None:
        super().__init__()
        parts = ("connection", "http11", "http2", "proxy", "socks")
        own = ("httpx2", *(f"httpcore2.{part}" for part in parts))
        self._clean, self._loggers = clean, (*own, *loggers)
        for name in self._loggers:
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


def _in_base64(secret: str) -> set[str]:
    forms = set()
    for before in range(3):
        content = bytes(before) + secret.encode("utf-8", "surrogatepass")
        first, last = -(-before * 4 // 3), len(content) * 4 // 3
        for encode in (base64.b64encode, base64.urlsafe_b64encode):
            forms.add(encode(content)[first:last].decode())
    return {form for form in forms if len(form) >= _SHORTEST}


def _unescaped(said: str) -> str:
    return _ESCAPE.sub(lambda found: str(json.loads(f'"{found[0]}"')), said)


def _readings(said: str) -> Iterator[str]:
    """Yield a text, and what addresses and JSON mean by it, also one in the other."""
    yield said
    known, latest = {said}, {said}
    for _ in range(_DEEPEST):
        latest = {read(text) for text in latest for read in (unquote, _unescaped)}
        latest -= known
        known |= latest
        yield from sorted(latest)


def _is_mixed(word: str) -> bool:
    has_letters = any(map(str.isalpha, word))
    return len(word) >= _SHORTEST and has_letters and not word.isalpha()
