"""The dynascore of Dynabench (Ma et al. 2021)."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from evalkit.errors import EvalkitError
from evalkit.statistics.clusters import Floats, Integers
from evalkit.statistics.intervals import Interval
from evalkit_analysis_ratings.ranks import Columns, join_rating
from evalkit_analysis_ratings.records import Rating

_LEAST_STEP = 1e-4
"""Share of the best score up to which a step between two models is ignored."""
_JUMPS = "no method holds: rates of exchange jump if two models change places"


def rate_dynascore(
    columns: Columns,
    perf: str,
    weights_by_name: Mapping[str, float],
    offsets_by_name: Mapping[str, float],
) -> Rating:
    """Rate models by the weighted mean of columns, each in the unit of `perf`.

    There are no intervals and ranks: percentiles of replicates hold the truth rarely.
    """
    names = np.array(columns.names)
    for name in (perf, *weights_by_name, *offsets_by_name):
        if name not in columns.names:
            why = f"unknown, of weight 0 or left out. Compared: {', '.join(names)}"
            raise EvalkitError(f"rank: {name!r} is not compared: {why}")
    weights = np.array([weights_by_name.get(name, 1.0) for name in names])
    if not weights.sum():
        raise EvalkitError("rank: the sum of the weights must not be 0")
    signs = np.array([0 if x is None else 2 * x - 1 for x in columns.higher_is_better])
    offsets = np.array([offsets_by_name.get(name, 0.0) for name in names])
    place, known = columns.names.index(perf), np.isfinite(columns.values)
    whole, shares = known.all(axis=0), weights / weights.sum()
    rated, rates = _dynascores(columns.values, signs, shares, offsets, place)
    general = f"{', '.join(names[~(rates > 0)])} does not change with {perf}"
    if whole.sum() < 2:
        general = "fewer than two models have all scores"
    elif not signs.all():
        general = f"no direction, or different datasets: {', '.join(names[signs == 0])}"
    elif np.isnan(rates[place]):
        general = f"all models have the same {perf}"
    flags: tuple[str, ...] = ()
    if len(np.unique(columns.values[place, whole])) < whole.sum():
        flags = (f"models of equal {perf} are in the order of their names",)
    lacking = [", ".join(names[~has]) for has in known.T]
    reasons = [f"no score for {each}" if each else general for each in lacking]
    intervals = [
        Interval(reason=_JUMPS if np.isfinite(value) else why, flags=flags)
        for value, why in zip(rated, reasons, strict=True)
    ]
    return join_rating("dynascore", columns.models, rated, known.sum(axis=0), intervals)


def _dynascores(
    values: Floats, signs: Integers, weights: Floats, offsets: Floats, perf: int
) -> tuple[Floats, Floats]:
    """Return dynascores, and the mean change of columns for one unit of perf."""
    values = np.where(np.isfinite(values).all(axis=0), values, np.nan)
    utilities = signs[:, None] * values + offsets[:, None]
    order = np.argsort(values[perf], kind="stable")
    steps = np.abs(np.diff(utilities[:, order]))
    is_used = steps[perf] > _LEAST_STEP * np.abs(np.fmax.reduce(utilities[perf]))
    with np.errstate(invalid="ignore", divide="ignore"):
        ratios = np.where(is_used, steps / steps[perf], 0.0)
        rates: Floats = ratios.sum(axis=1) / is_used.sum()
    shares = np.where(rates > 0, weights / np.where(rates > 0, rates, 1.0), np.nan)
    return np.where(weights > 0, shares, 0.0) @ utilities, rates
