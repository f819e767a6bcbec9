"""Ratings of models from the columns of a leaderboard, and the ranks they may have."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np

from evalkit.errors import EvalkitError
from evalkit.statistics.clusters import Floats, Integers
from evalkit.statistics.intervals import without_interval
from evalkit_analysis_suites.draws import joint_interval
from evalkit_analysis_suites.records import Ranks, Rating, make_score

Method = Literal["win-rate", "mean-rank", "dynascore"]

_Formula = Callable[[Floats, Integers], Floats]
"""Rates models by scores (..., columns, models) and the sign of each column."""

_LEAST_STEP = 1e-4
"""Share of the best score up to which dynascore ignores a step between two models."""

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
    compute: _Formula = _mean_ranks if method == "mean-rank" else _win_rates
    if method == "dynascore":
        compute, reasons = _prepare_dynascore(columns, signs, dynascore)
    values, draws = compute(columns.values, signs), columns.draws
    if not isinstance(draws, str):
        known = np.isfinite(columns.values)
        is_whole = np.isfinite(draws[:, known]).all(axis=1, keepdims=True)
        draws = np.where(is_whole, compute(draws, signs), np.nan)
    counts = np.isfinite(columns.values[signs != 0]).sum(axis=0)
    return make_rating(
        method, columns.models, values, draws, counts, reasons, confidence
    )


def _win_rates(values: Floats, signs: Integers) -> Floats:
    """Compute (models that are worse + equal models / 2) / (other models), as HELM.

    Columns without a direction or with fewer than two scores are left out.
    """
    return mean_of_known(_wins(values, signs)[0])


def _mean_ranks(values: Floats, signs: Integers) -> Floats:
    """Compute mean ranks, 1 for the best; equal scores share ranks."""
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


def _prepare_dynascore(
    columns: Columns, signs: Integers, settings: Dynascore | None
) -> tuple[_Formula, list[str]]:
    """Return a dynascore's formula (Ma et al. 2021), and why models have none."""
    names, models = np.array(columns.names), columns.models
    if settings is None:
        raise EvalkitError("rank: dynascore needs `perf`, the column to convert to")
    for name in (settings.perf, *settings.weights, *settings.offsets):
        if name not in columns.names:
            raise EvalkitError(
                f"rank: no column {name!r}. Use one of {', '.join(names)}"
            )
    weights = np.array([settings.weights.get(name, 1.0) for name in names])
    if weights.min() < 0 or not weights.sum() > 0:
        raise EvalkitError("rank: weights must be at least 0, and one above 0")
    offsets = np.array([settings.offsets.get(name, 0.0) for name in names])
    perf, used = columns.names.index(settings.perf), weights > 0

    def compute(values: Floats, signs: Integers) -> Floats:
        utilities, rates = _substitution(values, signs, offsets, perf)
        rates = np.where(rates > 0, rates, np.nan)[..., used, None]
        shares = (weights / weights.sum())[used, None]
        scores: Floats = (shares * utilities[..., used, :] / rates).sum(axis=-2)
        return scores

    known = np.isfinite(columns.values)
    _, rates = _substitution(columns.values, signs, offsets, perf)
    fixed = names[used & ~(rates > 0)]
    general = f"{', '.join(fixed)} does not change with {settings.perf}"
    if known.all(axis=0).sum() < 2:
        general = "fewer than two models have all scores"
    elif not signs.all():
        general = f"unknown whether higher is better for {', '.join(names[signs == 0])}"
    elif np.isnan(rates[perf]):
        general = f"all models have the same {settings.perf}"
    lacking = [", ".join(names[~known[:, place]]) for place in range(len(models))]
    return compute, [f"no score for {x}" if x else general for x in lacking]


def _substitution(
    values: Floats, signs: Integers, offsets: Floats, perf: int
) -> tuple[Floats, Floats]:
    """Return columns in which more is better, and their rates of substitution.

    A rate is the mean change of a column for one unit of perf, between models that are
    neighbors by perf. Models of equal perf keep their order; those without all scores
    are nan and come last.
    """
    is_whole = np.isfinite(values).all(axis=-2, keepdims=True)
    values = np.where(is_whole, values, np.nan)
    utilities = signs[:, None] * values + offsets[:, None]
    order = np.argsort(values[..., [perf], :], kind="stable")
    steps = np.abs(np.diff(np.take_along_axis(utilities, order, axis=-1)))
    of_perf = steps[..., [perf], :]
    best = np.fmax.reduce(utilities[..., [perf], :], axis=-1, keepdims=True)
    with np.errstate(invalid="ignore", divide="ignore"):
        is_used = of_perf > _LEAST_STEP * best
        sums = np.where(is_used, steps / of_perf, 0.0).sum(axis=-1)
        return utilities, sums / is_used.sum(axis=-1)


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

    An interval is widened to hold its value: replicates of a rating that jumps with
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
    scale = ("%", 100.0) if method in ("win-rate", "length-controlled") else ("", 1.0)
    scores, known = {}, {}
    for place, model in enumerate(models):
        value, low, high = float(values[place]), None, None
        interval = without_interval(reasons[place])
        if np.isfinite(value):
            known[model] = value
            interval = without_interval(str(draws))
            if not isinstance(draws, str):
                interval = joint_interval(draws[:, place], confidence)
        if interval.low is not None and interval.high is not None:
            low, high = min(interval.low, value), max(interval.high, value)
        scores[model] = make_score(
            metric=method,
            value=known.get(model),
            se=interval.standard_error,
            ci_low=low,
            ci_high=high,
            ci_method=interval.method,
            n=int(counts[place]),
            unit=scale[0],
            scale=scale[1],
            higher_is_better=method != "mean-rank",
            reason=interval.reason,
        )
    if isinstance(draws, str):
        return Rating(method, scores)
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
