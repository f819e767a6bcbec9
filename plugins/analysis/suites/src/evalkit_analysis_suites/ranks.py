"""Ratings of models from the columns of a leaderboard, and the ranks they may have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Literal, NamedTuple

import numpy as np

from evalkit.errors import EvalkitError
from evalkit.statistics.clusters import Floats, Integers
from evalkit.statistics.intervals import without_interval
from evalkit_analysis_suites.draws import joint_interval
from evalkit_analysis_suites.records import Ranks, Rating, make_score

Method = Literal["win-rate", "mean-rank", "dynascore"]

_LEAST_STEP = 1e-4
"""Share of the best score below which dynascore ignores the step between two models."""

_ROUNDING = 1e-12
"""Standard error of a difference, as a share of the scores, that is rounding alone."""


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
    method: Method,
    confidence: float = 0.95,
    dynascore: Dynascore | None = None,
) -> Rating:
    """Rate models by their scores on all columns.

    Args:
        columns: The scores.
        method: `win-rate` (HELM), `mean-rank`, or `dynascore` (Dynabench).
        confidence: Probability of each interval, and of all ranks together.
        dynascore: Settings of that method.

    Returns:
        The rating of each model, with the percentiles of its replicates and the ranks
        that it may have. A rating that cannot be computed is null with the reason.

    Raises:
        EvalkitError: The settings name no column, or weights are negative or all 0.
    """
    signs = np.array(
        [0 if up is None else 2 * up - 1 for up in columns.higher_is_better]
    )
    reasons = ["no column can be rated"] * len(columns.models)
    compute = partial(win_rates if method == "win-rate" else mean_ranks, signs=signs)
    if method == "dynascore":
        settings = _check(columns, dynascore)
        compute = partial(dynascores, signs=signs, **settings)
        reasons = _why_none(columns, signs, **settings)
    values, draws = compute(columns.values), columns.draws
    if not isinstance(draws, str):
        known = np.isfinite(columns.values)
        is_whole = np.isfinite(draws[:, known]).all(axis=1, keepdims=True)
        draws = np.where(is_whole, compute(draws), np.nan)
    counts = np.isfinite(columns.values[signs != 0]).sum(axis=0)
    return make_rating(
        method, columns.models, values, draws, counts, reasons, confidence
    )


def win_rates(values: Floats, signs: Integers) -> Floats:
    """Compute mean win rates as HELM does.

    On each column: (models that are worse + models that are equal / 2) / (models - 1).
    A column without a direction, or with fewer than two scores, is left out. The rating
    is the mean over the columns on which a model has a score.

    Args:
        values: Scores of shape (..., columns, models); nan where there is none.
        signs: By column: 1 if higher is better, -1 if lower, 0 if it is unknown.

    Returns:
        Win rates of shape (..., models); nan where a model has no column.
    """
    return mean_of_known(_wins(values, signs)[0])


def mean_ranks(values: Floats, signs: Integers) -> Floats:
    """Compute the mean rank over columns, 1 for the best; equal scores share ranks.

    Arguments and columns that are left out are those of `win_rates`.
    """
    wins, counts = _wins(values, signs)
    return mean_of_known(counts - (counts - 1) * wins)


def _wins(values: Floats, signs: Integers) -> tuple[Floats, Floats]:
    """Return win rates on each column, and how many models have a score there."""
    wins = np.full(values.shape, np.nan)
    counts = np.isfinite(values).sum(axis=-1, keepdims=True).astype(np.float64)
    for column, sign in enumerate(signs):
        own, others = sign * values[..., column, :], counts[..., column, :] - 1
        worse = (own[..., :, None] > own[..., None, :]).sum(axis=-1)
        equal = (own[..., :, None] == own[..., None, :]).sum(axis=-1) - 1
        is_rated = np.isfinite(own) & (others > 0) & (sign != 0)
        shares = (worse + equal / 2) / np.maximum(others, 1)
        wins[..., column, :] = np.where(is_rated, shares, np.nan)
    return wins, counts


def mean_of_known(values: Floats) -> Floats:
    """Return means over the second to last axis without nan; nan if nothing is left."""
    known = np.isfinite(values)
    with np.errstate(invalid="ignore"):
        means: Floats = np.where(known, values, 0).sum(axis=-2) / known.sum(axis=-2)
    return means


def dynascores(
    values: Floats, signs: Integers, perf: int, weights: Floats, offsets: Floats
) -> Floats:
    """Compute dynascores (Ma et al. 2021) of models that have all scores.

    Each column is divided by its average marginal rate of substitution: how much it
    changes for one unit of perf between models that are neighbors by perf. Models of
    equal perf keep their order.

    Args:
        values: Scores of shape (..., columns, models); nan where there is none.
        signs: By column: 1 if higher is better, -1 if lower.
        perf: Number of the column that the others are converted to.
        weights: By column; their sum is 1.
        offsets: By column.

    Returns:
        Dynascores of shape (..., models); nan where undefined.
    """
    used = weights > 0
    rates, utilities = _substitution(values, signs, perf, offsets)
    rates = np.where(rates > 0, rates, np.nan)[..., used, None]
    scores = weights[used, None] * utilities[..., used, :] / rates
    total: Floats = scores.sum(axis=-2)
    return total


def _substitution(
    values: Floats, signs: Integers, perf: int, offsets: Floats
) -> tuple[Floats, Floats]:
    """Return the marginal rates of substitution, and columns in which more is better.

    Models without all scores are nan, and sorted behind the others.
    """
    whole = np.isfinite(values).all(axis=-2, keepdims=True)
    utilities = np.where(whole, signs[:, None] * values + offsets[:, None], np.nan)
    order = np.argsort(np.where(whole, values, np.nan)[..., perf, :], kind="stable")
    ordered = np.take_along_axis(utilities, order[..., None, :], axis=-1)
    steps = np.abs(np.diff(ordered))
    of_perf = steps[..., [perf], :]
    best = np.fmax.reduce(utilities[..., [perf], :], axis=-1, initial=-np.inf)
    with np.errstate(invalid="ignore", divide="ignore"):
        is_used = of_perf > _LEAST_STEP * best[..., None]
        sums = np.where(is_used, steps / of_perf, 0.0).sum(axis=-1)
        return sums / is_used.sum(axis=-1), utilities


def _check(columns: Columns, settings: Dynascore | None) -> dict[str, Any]:
    names = columns.names
    if settings is None:
        raise EvalkitError("rank: dynascore needs `perf`, the column to convert to")
    for name in (settings.perf, *settings.weights, *settings.offsets):
        if name not in names:
            raise EvalkitError(
                f"rank: no column {name!r}. Use one of {', '.join(names)}"
            )
    weights = np.array([settings.weights.get(name, 1.0) for name in names])
    if weights.min() < 0 or not weights.sum() > 0:
        raise EvalkitError("rank: weights must be at least 0, and one above 0")
    offsets = np.array([settings.offsets.get(name, 0.0) for name in names])
    perf = names.index(settings.perf)
    return {"perf": perf, "weights": weights / weights.sum(), "offsets": offsets}


def _why_none(
    columns: Columns, signs: Integers, perf: int, weights: Floats, offsets: Floats
) -> list[str]:
    """Say for each model why it has no dynascore, if it has none."""
    names, known = np.array(columns.names), np.isfinite(columns.values)
    rates, _ = _substitution(columns.values, signs, perf, offsets)
    fixed = names[(weights > 0) & ~(rates > 0)]
    general = f"{', '.join(fixed)} does not change with {names[perf]}"
    if known.all(axis=0).sum() < 2:
        general = "fewer than two models have all scores"
    elif not signs.all():
        general = f"unknown whether higher is better for {', '.join(names[signs == 0])}"
    elif np.isnan(rates[perf]):
        general = f"all models have the same {names[perf]}"
    lacking = [", ".join(names[~has]) for has in known.T]
    return [f"no score for {columns}" if columns else general for columns in lacking]


def make_rating(
    method: str,
    models: Sequence[str],
    values: Floats,
    draws: Floats | str,
    counts: Integers,
    reasons: Sequence[str],
    confidence: float,
) -> Rating:
    """Make a rating of its values and their replicates.

    An interval is widened to hold its value: the replicates of a rating that jumps with
    ranks may all lie on one side of it.

    Args:
        method: Name of the method.
        models: The models.
        values: By model; nan for none.
        draws: Joint replicates (replicates, models), or why there are none.
        counts: By model, how many columns or comparisons it is computed from.
        reasons: By model, why there is no value.
        confidence: Probability of each interval, and of all ranks together.

    Returns:
        The rating.
    """
    is_share = method in ("win-rate", "length-controlled")
    scores = {}
    for place, model in enumerate(models):
        value, low, high = float(values[place]), None, None
        interval = without_interval(draws if isinstance(draws, str) else reasons[place])
        if np.isfinite(value) and not isinstance(draws, str):
            interval = joint_interval(draws[:, place], confidence)
        if interval.low is not None and interval.high is not None:
            low, high = min(interval.low, value), max(interval.high, value)
        scores[model] = make_score(
            metric=method,
            value=value if np.isfinite(value) else None,
            se=interval.standard_error,
            ci_low=low,
            ci_high=high,
            ci_method=interval.method,
            n=int(counts[place]),
            unit="%" if is_share else "",
            scale=100.0 if is_share else 1.0,
            higher_is_better=method != "mean-rank",
            reason=interval.reason if np.isfinite(value) else reasons[place],
        )
    if isinstance(draws, str):
        return Rating(method, scores)
    known = {
        model: float(values[place])
        for place, model in enumerate(models)
        if np.isfinite(values[place])
    }
    by_model = dict(zip(models, draws.T, strict=True))
    ranks, _ = rank_ranges(known, by_model, confidence, method != "mean-rank")
    return Rating(method, scores, ranks)


def rank_ranges(
    values: Mapping[str, float],
    draws: Mapping[str, Floats],
    confidence: float = 0.95,
    higher_is_better: bool = True,
) -> tuple[dict[str, Ranks], str | None]:
    """Compute the ranks that models may have.

    With at least this probability all true ranks lie in their ranges at once: models
    are told apart by a stepwise test of all differences, each divided by its standard
    error, against the bootstrap distribution of their maximum (Mogstad, Romano, Shaikh
    and Wilhelm 2024, Review of Economic Studies 91, 476-518). Two models whose
    difference is the same in all replicates are not told apart.

    Args:
        values: Score of each model; all finite.
        draws: Their joint replicates.
        confidence: Probability that all ranges hold.
        higher_is_better: Direction of the scores.

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
    is_better = _better(own, defined, confidence)
    best, worst = 1 + is_better.sum(axis=0), len(own) - is_better.sum(axis=1)
    return dict(
        zip(values, map(Ranks, best.tolist(), worst.tolist()), strict=True)
    ), None


def _better(own: Floats, drawn: Floats, confidence: float) -> Any:
    """Tell which model is shown to be better than which, of shape (models, models)."""
    differences = own[:, None] - own[None, :]
    errors = np.array(
        [(drawn[:, [j]] - drawn).std(axis=0, ddof=1) for j in range(len(own))]
    )
    errors[errors <= _ROUNDING * max(1.0, float(np.abs(own).max()))] = np.inf
    is_better = np.zeros(errors.shape, dtype=np.bool_)
    while True:
        greatest = np.full(len(drawn), -np.inf)
        for j in range(len(own)):
            moved = (drawn[:, [j]] - drawn - differences[j]) / errors[j]
            moved[:, is_better[j]] = -np.inf
            np.maximum(greatest, moved.max(axis=1), out=greatest)
        shown = ~is_better & (differences / errors > np.quantile(greatest, confidence))
        if not shown.any():
            return is_better
        is_better |= shown
