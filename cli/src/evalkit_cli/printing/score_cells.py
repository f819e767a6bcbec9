"""Gives numbers of scores as a person reads them: cells of tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from evalkit_cli.printing.digits import (
    USUAL,
    bound_decimals,
    decimals,
    half_width,
    show_bounds,
)
from evalkit_cli.printing.tables import NO_VALUE

if TYPE_CHECKING:
    from evalkit import Score

Bounds = Mapping[str, Sequence[float | None]]
"""The least and the greatest value of metrics, by name; None for no bound."""

COVERAGE = ("coverage", "if wrong to right")
"""Headers of the columns that are empty where nothing was left out."""

_MOST_DIGITS = 8

_UNBOUNDED = (None, None)


def score_label(score: Score) -> str:
    """Name a score: its metric, and over which facet it is a mean.

    Args:
        score: The score.

    Returns:
        For example `accuracy`, or `accuracy (mean over direction)`.
    """
    kind, _, facet = (score.aggregate or "").partition(":")
    return f"{score.metric} (mean over {facet})" if kind == "macro" else score.metric


def show_value(score: Score, *, with_unit: bool = True) -> str:
    """Return a score as a person reads it; `*` marks a flag.

    Args:
        score: The score.
        with_unit: Whether its unit is given too.

    Returns:
        For example `72.32 %`; a dash where there is no value.
    """
    if score.value is None:
        return NO_VALUE
    shown = show_number(score if with_unit else score._replace(unit=""), score.value)
    # what an aggregate's flag says stands beside it
    return shown + ("*" if score.flag and score.aggregate is None else "")


def show_number(score: Score, value: float | None) -> str:
    """Return a value in the unit of a score, with its digits; nothing for None."""
    if value is None:
        return ""
    places = decimals(_half(score), score.scale)
    return f"{value * score.scale:z.{places}f} {score.unit}".rstrip()


def _half(score: Score) -> float | None:
    return half_width(score.ci_low, score.ci_high, score.n, score.scale)


def show_interval(score: Score, bounds: Bounds | None = None) -> str:
    """Return an interval as a person reads it; a dash where there is none.

    Args:
        score: The score.
        bounds: Of the metrics. What is shown ends at them; what is stored does not.

    Returns:
        For example `[57.6, 73.4]`.
    """
    half = _half(score)
    if score.ci is None or half is None:
        return NO_VALUE
    least, greatest = _bounds(score, bounds or {})
    low, high = score.ci
    low = low if least is None else max(low, least)
    high = high if greatest is None else min(high, greatest)
    places = bound_decimals(half, score.scale, score.ci_method)
    if score.different is not None:
        places = max(places, _decimals_beside_zero(low, high, score.scale))
    value = None
    if score.value is not None:
        value = round(score.value * score.scale, decimals(half, score.scale))
    return show_bounds(low * score.scale, high * score.scale, value, places)


def _decimals_beside_zero(low: float, high: float, scale: float) -> int:
    """Say how many decimals tell whether an interval leaves out 0."""
    for places in range(USUAL):
        if all(end == 0 or round(end * scale, places) != 0 for end in (low, high)):
            return places
    return USUAL


def _bounds(score: Score, bounds: Bounds) -> Sequence[float | None]:
    from evalkit.catalog import metric_of

    metric = metric_of(score.metric, bounds)
    least, greatest = _UNBOUNDED if metric is None else bounds[metric]
    if score.computed_on != "drop":
        return least, greatest
    width = None if least is None or greatest is None else greatest - least
    return None if width is None else -width, width


def show_n(score: Score) -> str:
    """Return the number of examples, and of clusters where there are any."""
    if score.n_clusters is None:
        return str(score.n)
    clusters = "cluster" if score.n_clusters == 1 else "clusters"
    return f"{score.n} ({score.n_clusters} {clusters})"


def show_coverage(score: Score) -> tuple[str, str]:
    """Return the share that was scored, and what the rest could make of the value."""
    if score.coverage in (None, 1.0):
        return "", ""
    if score.bound_low is None or score.bound_high is None:
        return show_share(score.coverage), ""
    plain = score._replace(unit="")
    low, high = (show_number(plain, b) for b in (score.bound_low, score.bound_high))
    return show_share(score.coverage), f"{low} to {high}"


def show_share(share: float | None) -> str:
    """Return a share in percent, with as many digits as tell it from the whole."""
    if share is None:
        return NO_VALUE
    digits = 1
    while (
        share < 1
        and digits < _MOST_DIGITS
        and f"{share:.{digits}%}" == (f"{1:.{digits}%}")
    ):
        digits += 1
    return f"{share:.{digits}%}"
