"""Checks of lists that are scored, for what tasks and readers of files check."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from numbers import Real
from typing import Any

from evalkit.base.violations import shorten
from evalkit.errors import DataError

_PROBABILITIES = "prob"
"""The field that maps labels to probabilities."""

_MOST_ROUNDING = 1e-3
"""How far from 1 probabilities may sum that were rounded, as in tasks."""
_LEAST = 1e-9


def check_values(
    lists: Mapping[str, Sequence[Any]],
    targets: Sequence[Any],
    labels: Sequence[str] | None,
) -> None:
    """Refuse values that no file of data or predictions may hold."""
    for name, values in lists.items():
        _refuse(name, values, _broken_text)
    _refuse("labels", labels or (), _broken_text)
    _refuse("names of fields", list(lists), _broken_text)
    if labels:
        known = {*labels}
        words = ", ".join(labels)
        _refuse("targets", targets, lambda value: _undeclared(value, known, words))
    if _PROBABILITIES in lists:
        known = {*labels} if labels else set()
        given = lists[_PROBABILITIES]
        _refuse(_PROBABILITIES, given, lambda value: _no_distribution(value, known))
    for name in ("predictions", "targets"):
        _refuse(name, lists[name], _reversed_span)


def _refuse(
    name: str, values: Sequence[Any], problem: Callable[[Any], str | None]
) -> None:
    for place, value in enumerate(values):
        found = problem(value)
        if found is not None:
            raise DataError(f"{name}[{place}] {found}")


def _broken_text(value: Any) -> str | None:
    if isinstance(value, str):
        if value.isascii() or _is_unicode(value):
            return None
        return (
            f"holds half of a surrogate pair, which is no character: {shorten(value)}"
        )
    parts: Sequence[Any] = ()
    if isinstance(value, Mapping):
        parts = [each for pair in value.items() for each in pair]
    elif isinstance(value, list | tuple):
        parts = value
    try:
        return next(filter(None, map(_broken_text, parts)), None)
    except RecursionError:  # said where values become a column
        return None


def _is_unicode(text: str) -> bool:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _undeclared(target: Any, labels: set[str], words: str) -> str | None:
    is_list = isinstance(target, list | tuple)
    for text in target if is_list else (target,):
        if isinstance(text, str) and text not in labels:
            has = "holds" if is_list else "is"
            return f"{has} {shorten(text)}, which is none of the labels {words}"
    return None


def _no_distribution(given: Any, labels: set[str]) -> str | None:
    """Say why a map from labels to numbers holds no probabilities."""
    if not isinstance(given, Mapping):
        return None
    for label, share in given.items():
        if labels and label not in labels:
            return f"has {shorten(label)}, which is none of the labels"
        if isinstance(share, bool) or not isinstance(share, Real | None):
            return f"gives {shorten(label)} {shorten(share)}, which is no number"
        # nan is no probability that was given, which metrics say
        number = math.nan if share is None else float(share)
        if not (math.isnan(number) or -_LEAST <= number <= 1 + _LEAST):
            return f"gives {shorten(label)} {shorten(share)}: must be between 0 and 1"
    total = math.fsum(0.0 if share is None else share for share in given.values())
    if abs(total - 1) > _MOST_ROUNDING:
        return (
            f"sums to {total:g}: probabilities must sum to 1, within {_MOST_ROUNDING}"
        )
    return None


def _reversed_span(value: Any) -> str | None:
    spans = value if isinstance(value, list | tuple) else ()
    for span in spans:
        if not isinstance(span, Mapping):
            return None
        start, end = span.get("start"), span.get("end")
        if isinstance(start, Real) and isinstance(end, Real) and end < start:
            return f"has a span that ends before its start: {shorten(dict(span))}"
    return None
