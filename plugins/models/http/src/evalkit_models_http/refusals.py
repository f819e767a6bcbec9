"""Why a service gave no answer."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Iterable, Mapping
from email.utils import mktime_tz, parsedate_tz

_LATER = frozenset({408, 409, 425, 429})
_NEVER = frozenset({401, 403, 404, 405, 501})
_LONGEST = 300
_TELLING = 8
"""Characters by which a secret is recognised that a service quotes in part."""

_SHORTEST = 4
"""Shorter ones are in too many words."""


class Refused(Exception):
    """A service did not answer.

    Args:
        reason: Why, without secrets.
        is_retriable: Whether it may answer later.
        is_fatal: Whether it would answer nothing else either.
        after: Seconds after which it wants to be asked again.
    """

    def __init__(
        self,
        reason: str,
        *,
        is_retriable: bool = False,
        is_fatal: bool = False,
        after: float | None = None,
    ) -> None:
        super().__init__(reason)
        self.reason, self.after = reason, after
        self.is_retriable, self.is_fatal = is_retriable, is_fatal


def status_refusal(status: int, said: str, headers: Mapping[str, str]) -> Refused:
    """Return what a status of 300 or more means.

    Args:
        status: The status.
        said: What came with it, without secrets.
        headers: Headers of the answer.
    """
    is_later = status in _LATER or (status >= 500 and status not in _NEVER)
    told = f": {said}" if said and status != 401 else ""
    advice = {
        401: "; put the right credentials where headers_variable says",
        403: "; see headers_variable",
        404: "; see url",
        405: "; it is asked by POST",
    }
    return Refused(
        f"the service answers with status {status}{told}{advice.get(status, '')}",
        is_retriable=is_later,
        is_fatal=status in _NEVER or status < 400,
        after=retry_after(headers) if is_later else None,
    )


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds that a service wants to be left alone.

    Args:
        headers: Of its answer, with `Retry-After` in seconds or as a date.

    Returns:
        The seconds; None where it does not say, or nothing that is understood.
    """
    said = headers.get("retry-after", "")
    try:
        seconds = float(said)
    except ValueError:
        date = parsedate_tz(said)
        if date is None:
            return None
        try:
            seconds = mktime_tz(date) - time.time()
        except (ValueError, OverflowError):
            return None
    return max(seconds, 0.0) if math.isfinite(seconds) else None


class Cleaner:
    """Takes secrets out of texts, and shortens them.

    Args:
        secrets: What must not be seen; a part of one that a service quotes is taken out
            with what follows.
    """

    def __init__(self, secrets: Iterable[str]) -> None:
        words = [word for secret in secrets for word in secret.split()]
        parts = [_telling(word) for word in words if len(word) >= _SHORTEST]
        self._pattern = re.compile("|".join(parts)) if parts else None

    def __call__(self, said: str) -> str:
        """Return a text of one line without secrets.

        Args:
            said: The text.
        """
        text = " ".join(said.split())
        if self._pattern is not None:
            text = self._pattern.sub("***", text)
        return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


def _telling(secret: str) -> str:
    """Return a pattern of what gives a secret away."""
    if len(secret) < _TELLING:
        return rf"(?<!\w){re.escape(secret)}(?!\w)"
    return re.escape(secret[:_TELLING]) + r"\S*"
