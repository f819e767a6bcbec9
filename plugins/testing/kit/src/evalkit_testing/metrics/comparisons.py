"""Tells how two results of a metric differ, in words."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from evalkit.scoring import GroupScore
from evalkit_testing.metrics.subjects import Finalized, Part

VALUE_TOLERANCE = 1e-9
SUM_TOLERANCE = 1e-12


def name_part(part: Part) -> str:
    """Name a score of a group, as in "the value of the tag 'x'"."""
    tag, score = part
    where = "the whole set" if tag is None else f"the tag {tag!r}"
    return f"{where} (score {score!r})" if score else where


def is_close(one: float | None, other: float | None) -> bool:
    """Tell whether two finalized numbers agree within the tolerance."""
    if one is None or other is None:
        return one is other
    if math.isfinite(one) and math.isfinite(other):
        scale = max(1.0, abs(one), abs(other))
        return abs(one - other) <= VALUE_TOLERANCE * scale
    return one == other or (math.isnan(one) and math.isnan(other))


def difference_of_values(first: Finalized, second: Finalized) -> str | None:
    """Say where two sets of values differ; None where they agree."""
    for part in sorted(first.keys() | second.keys(), key=repr):
        one, other = first.get(part), second.get(part)
        if not is_close(one, other):
            return f"the value of {name_part(part)} is {one}, and {other}"
    return None


def difference_of_scores(
    first: Mapping[Part, GroupScore],
    second: Mapping[Part, GroupScore],
    intervals: bool = True,
) -> str | None:
    """Say where two sets of scores differ."""
    for part in sorted(first.keys() | second.keys(), key=repr):
        if part not in first or part not in second:
            only = first if part in first else second
            which = "first" if part in first else "second"
            value = only[part].value
            return f"{name_part(part)} has a value ({value}) only in the {which}"
        found = _difference_of_score(first[part], second[part], intervals)
        if found:
            return f"{found[0]} of {name_part(part)} is {found[1]}, and {found[2]}"
    return None


def _difference_of_score(
    one: GroupScore, other: GroupScore, intervals: bool
) -> tuple[str, Any, Any] | None:
    if not is_close(one.value, other.value):
        return "the value", one.value, other.value
    if one.n != other.n:
        return "n", one.n, other.n
    if (one.spread is None) != (other.spread is None) or not all(
        map(is_close, one.spread or (), other.spread or ())
    ):
        words = "the mean, deviation, least and greatest score"
        return words, one.spread, other.spread
    if not intervals:
        return None
    first, second = one.interval, other.interval
    if first.method != second.method:
        return "the method of the interval", first.method, second.method
    for word, bound, other_bound in (
        ("the lower bound", first.low, second.low),
        ("the upper bound", first.high, second.high),
        ("the standard error", first.standard_error, second.standard_error),
    ):
        if not is_close(bound, other_bound):
            return word, bound, other_bound
    return None


def difference_of_sums(
    first: pl.DataFrame,
    second: pl.DataFrame,
    keys: Sequence[str],
    scales: Mapping[str, float],
) -> str | None:
    """Say where two sets of sums differ."""
    strange = sorted({*first.columns} ^ {*second.columns})
    if strange:
        return f"the statistic {strange[0]!r} is in only one of the two"
    cells, other_cells = _by_key(first, keys), _by_key(second, keys)
    for key in sorted(cells.keys() | other_cells.keys(), key=repr):
        where = ", ".join(
            f"{name} {value!r}" for name, value in zip(keys, key, strict=True)
        )
        if key not in cells or key not in other_cells:
            which = "first" if key in cells else "second"
            return f"the statistics of {where} are only in the {which}"
        for name, one in cells[key].items():
            other = other_cells[key][name]
            if not _is_equal(one, other, scales[name]):
                return f"the statistic {name!r} of {where} is {one}, and {other}"
    return None


def _by_key(
    sums: pl.DataFrame, keys: Sequence[str]
) -> Mapping[tuple[Any, ...], Mapping[str, Any]]:
    return {
        tuple(row.pop(key) for key in keys): row for row in sums.iter_rows(named=True)
    }


def _is_equal(one: Any, other: Any, scale: float) -> bool:
    if isinstance(one, list):
        # values are kept in no order that a metric may rely on
        return len(one) == len(other) and all(
            _is_equal(*pair, scale)
            for pair in zip(sorted(one), sorted(other), strict=True)
        )
    if one == other or (one != one and other != other):
        return True
    return bool(abs(one - other) <= SUM_TOLERANCE * scale)
