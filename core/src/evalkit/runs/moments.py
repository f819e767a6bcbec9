"""Reads what a user says of a time: `7d` ago, or a date."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

from evalkit.errors import EvalkitError

_AGO = re.compile(r"(\d+)\s*(min|h|d|w)")

_UNITS = {"min": "minutes", "h": "hours", "d": "days", "w": "weeks"}


def read_moment(text: str, now: datetime | None = None) -> datetime:
    """Read a moment that a user names.

    Args:
        text: How long ago it is (`30min`, `12h`, `7d`, `2w`), or a date or time in ISO
            8601, in UTC where it names no time zone.
        now: What `ago` counts from; the present by default.

    Returns:
        The moment, with a time zone.

    Raises:
        EvalkitError: It is neither.
    """
    ago = _AGO.fullmatch(text.strip())
    try:
        if ago is not None:
            length = timedelta(**{_UNITS[ago[2]]: int(ago[1])})
            return (now or datetime.now(UTC)) - length
        moment = datetime.fromisoformat(text.strip())
    except (ValueError, OverflowError) as error:
        raise EvalkitError(
            f"{text!r} is neither a length of time, such as 7d (min, h, d or w), nor a "
            "date or time, such as 2026-11-18"
        ) from error
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
