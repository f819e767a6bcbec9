"""Says in lines which drops under perturbation were shown, and what is adjusted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from evalkit.reporting import count_of
from evalkit_cli.printing.score_cells import Bounds, show_interval, show_number

if TYPE_CHECKING:
    from evalkit import Score

_MOST_NAMES = 3
"""Perturbations or tags beyond which they are only counted."""


def adjusted(drop: Score) -> Score:
    """Return a drop with the interval that holds for all of its family at once."""
    return drop._replace(ci_low=drop.ci_low_adjusted, ci_high=drop.ci_high_adjusted)


def drop_sentence(drop: Score | None, bounds: Bounds, level: float) -> str:
    """Say what was shown of one drop."""
    if drop is None:
        return ""
    if drop.value is None:
        return f"{drop.metric} was not compared: {drop.reason}"
    if not drop.family_size:
        return ""
    size = adjusted(drop)
    change = f"{_direction(drop)} by {_points(size)}"
    p_value = _p(drop)
    if drop.p_adjusted is None:
        return f"{drop.metric} is {change}, which was not tested: {drop.reason}"
    if drop.different:
        return f"{drop.metric} is {change} ({_interval(size, bounds, level)}{p_value})"
    if drop.value == 0:
        return f"undecided: no change of {drop.metric} was seen ({p_value})"
    if drop.p_adjusted < level:
        interval = _interval(size, bounds, level).removesuffix(", ")
        return (
            f"undecided: the test finds that {drop.metric} is {change} ({p_value}), "
            f"the interval does not ({interval or size.reason})"
        )
    if drop.p_at_most:
        return (
            f"not resolved: {drop.metric} is {change}; no random draw gave as great a "
            f"change, but with so many drops more draws are needed ({p_value})"
        )
    return f"undecided: {drop.metric} is {change}, which could be chance ({p_value})"


def _direction(drop: Score) -> str:
    is_less = drop.value is not None and drop.value > 0
    if drop.higher_is_better is None:
        return "lower" if is_less else "higher"
    # whether a greater drop is better
    return "better" if is_less == drop.higher_is_better else "worse"


def _points(drop: Score) -> str:
    """Return the size of a change, whichever direction it has."""
    unit = "points" if drop.unit == "%" else drop.unit
    value = None if drop.value is None else abs(drop.value)
    return show_number(drop._replace(unit=unit), value)


def _interval(drop: Score, bounds: Bounds, level: float) -> str:
    """Return the interval of the size of a change, as text before a p-value."""
    if drop.ci_low is None or drop.ci_high is None or drop.value is None:
        return ""
    if drop.value < 0:
        drop = drop._replace(
            value=-drop.value, ci_low=-drop.ci_high, ci_high=-drop.ci_low
        )
    simultaneous = "simultaneous " if (drop.family_size or 1) > 1 else ""
    confidence = f"{100 * (1 - level):g} % CI"
    return f"{simultaneous}{confidence} {show_interval(drop, bounds)}, "


def _p(drop: Score) -> str:
    from evalkit.reporting import show_p

    words = "adjusted p" if (drop.family_size or 1) > 1 else "p"
    shown = show_p(drop.p_adjusted, sign=True, at_most=bool(drop.p_at_most))
    return f"{words} {shown}"


def table_lines(
    name: str, drops: Mapping[str | None, Score | None], level: float
) -> Iterator[str]:
    """Say for which tags a drop was shown under one perturbation."""
    tags = [
        (tag, drop)
        for tag, drop in drops.items()
        if tag is not None and drop is not None and drop.family_size
    ]
    if tags:
        told = _adjusted_for_all(tags[0][1], level)
        yield f"{name}: {_shown(tags)}; {told}"


def _kind(drop: Score) -> str:
    """Name the direction, whatever is better."""
    return "drop" if drop.value is not None and drop.value > 0 else "rise"


def _shown(drops: Sequence[tuple[str, Score]]) -> str:
    """Say for which tags it was shown that there is a drop or a rise."""
    parts = []
    many = count_of(len(drops), "tag")
    for kind in ("drop", "rise"):
        names = [name for name, drop in drops if drop.different and _kind(drop) == kind]
        if names:
            listed = f" ({', '.join(names)})"
            is_short = len(names) <= _MOST_NAMES and len(names) < len(drops)
            few = listed if is_short else ""
            parts.append(f"a {kind} was shown for {len(names)} of {many}{few}")
    return ", ".join(parts) or "no drop was shown for any tag"


def _adjusted_for_all(drop: Score, level: float) -> str:
    """Say what p-values and intervals are adjusted for."""
    size = drop.family_size or 1
    if size == 1:
        return f"tested at {level:.10g}"
    return f"p and CI adjusted for all {size}, at {level:.10g}"
