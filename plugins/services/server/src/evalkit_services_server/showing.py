"""How templates show numbers, moments and states."""

from __future__ import annotations

from datetime import datetime
from functools import cache, lru_cache
from typing import TYPE_CHECKING

from evalkit_services_server.ranking import Number

if TYPE_CHECKING:
    from evalkit import Score
    from evalkit_services_server.boards import Scale

_KEPT = 1 << 17
"""Texts of numbers that are kept: a page has thousands."""


@cache
def _blank(unit: str, scale: float) -> Score:
    from evalkit_analysis_ratings import make_score

    return make_score(unit=unit, scale=scale, metric="")


def _score(scale: Scale, number: Number, n: int) -> Score:
    value, low, high = number
    shown = _blank(scale.unit, scale.scale)
    return shown._replace(value=value, ci_low=low, ci_high=high, n=n)


@lru_cache(maxsize=_KEPT)
def value(scale: Scale, number: Number, n: int = 0) -> str:
    """Return a score without its unit."""
    from evalkit_cli.commanding import show_value

    return show_value(_score(scale, number, n), with_unit=False)


@lru_cache(maxsize=_KEPT)
def interval(scale: Scale, number: Number, n: int = 0) -> str:
    """Return the interval of a score; nothing where there is none."""
    from evalkit_cli.commanding import show_interval

    has_ends = number.low is not None and number.high is not None
    return show_interval(_score(scale, number, n)) if has_ends else ""


def moment(at: datetime | None) -> str:
    """Return a moment to the minute, in UTC."""
    return "" if at is None else at.strftime("%Y-%m-%d %H:%M UTC")


def size(count: int) -> str:
    """Return a number of bytes."""
    from pydantic import ByteSize

    return ByteSize(count).human_readable(separator=" ")
