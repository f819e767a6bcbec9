"""Ratings of models from the columns of a leaderboard, and the ranks they may have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Literal, NamedTuple

import numpy as np

from evalkit.errors import EvalkitError
from evalkit.statistics.clusters import Floats, Integers
from evalkit.statistics.intervals import Interval, without_interval
from evalkit_analysis_ratings.draws import joint_interval
from evalkit_analysis_ratings.records import Ranks, Rating, make_score

_LEAST_STEP = 1e-4
"""Share of the best score up to which dynascore ignores a step between two models."""
_CONSTANT = "nearly all replicates agree"
_ROUNDING = 1e-12
"""Standard error that is rounding alone, as a share of the scores."""


class Columns(NamedTuple):
    """Scores of models on the columns of a leaderboard, with bootstrap replicates."""

    models: tuple[str, ...]
    names: tuple[str, ...]
    """Names of the columns."""
    values: Floats
    """The scores, of shape (columns, models); nan where a model has none."""
    higher_is_better: tuple[bool | None, ...]
    """By column."""
    draws: Floats | str
    """Joint replicates (replicates, columns, models), or why there are none."""


class Dynascore(NamedTuple):
    """Settings of a dynascore, by names of columns."""

    perf: str
    """Column that the others are converted to."""
    weights: Mapping[str, float] = {}
    """Default: 1."""
    offsets: Mapping[str, float] = {}
    """Added to a column whose sign was turned if lower is better. Default: 0."""


def rate(
    columns: Columns,
    method: Literal["win-rate", "mean-rank", "dynascore"],
    confidence: float = 0.95,
    dynascore: Dynascore | None = None,
) -> Rating:
    """Rate models by their scores on all columns.

    - `win-rate` (HELM): mean over columns of (models that are worse + equal models / 2)
      / other models. `mean-rank`: 1 is the best; equal scores share ranks. Columns
      without a direction, or with fewer than two scores, are left out. If the order of
      models is the same in all replicates, it is certain under the bootstrap: the
      interval has no width, and a flag says so.
    - `dynascore` (Ma et al. 2021): weighted mean of columns, each divided by its mean
      change for one unit of perf between models that are neighbors by perf.

    Args:
        columns: The scores.
        method: The method.
        confidence: Probability of each interval, and of all ranks together.
        dynascore: Settings of that method.

    Returns:
        The rating of each model, with the percentiles of its replicates and the ranks
        that it may have. A rating that cannot be computed is null with the reason.

    Raises:
        EvalkitError: The settings name no column, or all weights are 0.
    """
    ways, values, draws = columns.higher_is_better, columns.values, columns.draws
    signs = np.array([0 if up is None else 2 * up - 1 for up in ways])
    reasons = ["no column can be rated"] * len(columns.models)
    compute: Any = partial(_compare, signs=signs, ranks=method == "mean-rank")
    if method == "dynascore":
        compute, reasons = _prepare(columns, signs, dynascore or Dynascore(""))
    known = np.isfinite(values)
    if not isinstance(draws, str):
        is_whole = np.isfinite(draws[:, known]).all(axis=1, keepdims=True)
        draws = np.where(is_whole, compute(draws), np.nan)
    counts, models = known[signs != 0].sum(axis=0), columns.models
    return make_rating(
        *(method, models, compute(values), draws, counts, reasons, confidence),
        of_order=method != "dynascore",
    )


def _compare(values: Floats, signs: Integers, ranks: bool) -> Floats:
    """Return win rates or mean ranks, of shape (..., models)."""
    rated = np.full(values.shape, np.nan)
    for column, sign in enumerate(signs):
        own = sign * values[..., column, :]
        others = np.isfinite(own).sum(axis=-1, keepdims=True) - 1
        worse = (own[..., :, None] > own[..., None, :]).sum(axis=-1)
        equal = (own[..., :, None] == own[..., None, :]).sum(axis=-1) - 1
        better = 1 + others - worse - equal / 2
        found = better if ranks else (worse + equal / 2) / np.maximum(others, 1)
        is_rated = np.isfinite(own) & (others > 0) & (sign != 0)
        rated[..., column, :] = np.where(is_rated, found, np.nan)
    return mean_of_known(rated)


def mean_of_known(values: Floats) -> Floats:
    """Return means over the second to last axis without nan; nan if nothing is left."""
    known = np.isfinite(values)
    with np.errstate(invalid="ignore"):
        means: Floats = np.where(known, values, 0).sum(axis=-2) / known.sum(axis=-2)
    return means


def _prepare(
    columns: Columns, signs: Integers, settings: Dynascore
) -> tuple[Any, list[str]]:
    """Return a dynascore's formula, and for each model why it may have none."""
    names, perf = np.array(columns.names), settings.perf
    for name in (perf, *settings.weights, *settings.offsets):
        if name not in columns.names:
            listed = ", ".join(names)
            raise EvalkitError(f"rank: unknown member {name!r}. Members: {listed}")
    weights = np.array([settings.weights.get(name, 1.0) for name in names])
    offsets = np.array([settings.offsets.get(name, 0.0) for name in names])
    if not weights.sum():
        raise EvalkitError("rank: the sum of the weights must not be 0")
    fixed = signs, weights / weights.sum(), offsets, columns.names.index(perf)
    rates, known = _dynascores(columns.values, *fixed)[1], np.isfinite(columns.values)
    general = f"{', '.join(names[~(rates > 0)])} does not change with {perf}"
    if known.all(axis=0).sum() < 2:
        general = "fewer than two models have all scores"
    elif not signs.all():
        general = f"unknown whether higher is better for {', '.join(names[signs == 0])}"
    elif np.isnan(rates[fixed[-1]]):
        general = f"all models have the same {perf}"
    lacking = [", ".join(names[~has]) for has in known.T]
    reasons = [f"no score for {each}" if each else general for each in lacking]
    return lambda values: _dynascores(values, *fixed)[0], reasons


def _dynascores(
    values: Floats, signs: Integers, weights: Floats, offsets: Floats, perf: int
) -> tuple[Floats, Floats]:
    """Return dynascores, and the marginal rates of substitution of columns.

    Models of equal perf keep their order. Those without all scores are nan, and last.
    """
    is_whole = np.isfinite(values).all(axis=-2, keepdims=True)
    values = np.where(is_whole, values, np.nan)
    utilities = signs[:, None] * values + offsets[:, None]
    order = np.argsort(values[..., [perf], :], kind="stable")
    steps = np.abs(np.diff(np.take_along_axis(utilities, order, axis=-1)))
    best = np.fmax.reduce(utilities[..., [perf], :], axis=-1, keepdims=True)
    is_used = steps[..., [perf], :] > _LEAST_STEP * np.abs(best)
    with np.errstate(invalid="ignore", divide="ignore"):
        ratios = np.where(is_used, steps / steps[..., [perf], :], 0.0)
        rates: Floats = ratios.sum(axis=-1) / is_used.sum(axis=-1)
    shares = np.where(rates > 0, weights / np.where(rates > 0, rates, 1.0), np.nan)
    shares = np.where(weights > 0, shares, 0.0)[..., None]
    return (shares * utilities).sum(axis=-2), rates


def make_rating(
    method: str,
    models: Sequence[str],
    values: Floats,
    draws: Floats | str,
    counts: Integers,
    reasons: Sequence[str],
    confidence: float,
    of_order: bool = False,
) -> Rating:
    """Make a rating of values and joint replicates (replicates, models).

    An interval is widened to hold its value: replicates of a rating that jumps with
    ranks may all lie on one side of it. A rating `of_order` depends on the order of
    models alone, so that replicates that agree are an interval.
    """
    is_share = method in ("win-rate", "length-controlled")
    scores, known = {}, {}
    for place, model in enumerate(models):
        value = float(values[place])
        interval = without_interval(reasons[place])
        if np.isfinite(value):
            known[model], interval = value, without_interval(str(draws))
            if not isinstance(draws, str):
                interval = joint_interval(draws[:, place], confidence)
                own, tail = draws[:, place], (1 - confidence) / 2
                low, high = np.quantile(own, [tail, 1 - tail]).tolist()
                if of_order and low == high:
                    way, error = "joint-bootstrap", float(own.std())
                    interval = Interval(low, high, error, way, None, (_CONSTANT,))
        if interval.low is not None and interval.high is not None:
            low, high = min(interval.low, value), max(interval.high, value)
            interval = interval._replace(low=low, high=high)
        scores[model] = make_score(
            interval,
            metric=method,
            value=known.get(model),
            n=int(counts[place]),
            unit="%" if is_share else "",
            scale=100.0 if is_share else 1.0,
            higher_is_better=method != "mean-rank",
            flag="; ".join(interval.flags) or None,
        )
    if isinstance(draws, str):
        return Rating(method, scores)
    drawn, up = dict(zip(models, draws.T, strict=True)), method != "mean-rank"
    ranks, _ = rank_ranges(known, drawn, confidence, up, of_order)
    return Rating(method, scores, ranks)


def rank_ranges(
    values: Mapping[str, float],
    draws: Mapping[str, Floats],
    confidence: float = 0.95,
    higher_is_better: bool = True,
    of_order: bool = False,
) -> tuple[dict[str, Ranks], str | None]:
    """Compute the ranks that models may have.

    With at least this probability all true ranks lie in their ranges at once: models
    are told apart by a stepwise test of all differences, each divided by its standard
    error, against the bootstrap distribution of their maximum (Mogstad, Romano, Shaikh
    and Wilhelm 2024, Review of Economic Studies 91, 476-518). Two models whose
    difference is the same in all replicates are not told apart, except `of_order`.

    Args:
        values: Score of each model; all finite.
        draws: Their joint replicates.
        confidence: Probability that all ranges hold.
        higher_is_better: Direction of the scores.
        of_order: Whether scores depend on the order of models alone. Then a difference
            that is the same in all replicates tells two models apart.

    Returns:
        The ranges by model, and why there are none.
    """
    if len(values) < 2:
        return {}, "fewer than two models have a score"
    sign = 1.0 if higher_is_better else -1.0
    own = sign * np.array(list(values.values()))
    drawn = sign * np.column_stack([draws[model] for model in values])
    defined = drawn[np.isfinite(drawn).all(axis=1)]
    if len(defined) < len(drawn) / 2:
        return {}, "scores are undefined in most bootstrap replicates"
    is_better = _better(own, defined, confidence, of_order)
    best, worst = 1 + is_better.sum(axis=0), len(own) - is_better.sum(axis=1)
    ranks = map(Ranks, best.tolist(), worst.tolist())
    return dict(zip(values, ranks, strict=True)), None


def _better(own: Floats, drawn: Floats, confidence: float, of_order: bool) -> Any:
    """Tell which model is shown to be better than which, of shape (models, models)."""
    differences, size = own[:, None] - own[None, :], len(own)
    moved = [drawn[:, [j]] - drawn for j in range(size)]
    errors = np.array([each.std(axis=0, ddof=1) for each in moved])
    rounding = _ROUNDING * max(1.0, float(np.abs(own).max()))
    is_better = of_order & (errors <= rounding) & (differences > rounding)
    errors[errors <= rounding] = np.inf
    while True:
        greatest = np.full(len(drawn), -np.inf)
        for j in range(size):
            statistics = (moved[j] - differences[j]) / errors[j]
            tested = np.where(is_better[j], -np.inf, statistics)
            np.maximum(greatest, tested.max(axis=1), out=greatest)
        # the replicates give standard errors to within a share of about 1 / √replicates
        critical = np.quantile(greatest, confidence) * (1 + len(drawn) ** -0.5)
        shown = ~is_better & (differences / errors > critical)
        if not shown.any():
            return is_better
        is_better |= shown
