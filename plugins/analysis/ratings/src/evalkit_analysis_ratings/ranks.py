"""Ratings of models from the columns of a leaderboard, and the ranks they may have."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np

from evalkit.statistics.clusters import Floats, Integers
from evalkit.statistics.intervals import Interval, without_interval
from evalkit.statistics.student_t import normal_quantile, t_quantile
from evalkit_analysis_ratings.draws import joint_interval
from evalkit_analysis_ratings.records import Ranks, Rating, make_score

_ROUNDING = 1e-12
"""Standard error that is rounding alone, as a share of the scores."""
_UNDEFINED = "scores are undefined in most bootstrap replicates"


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
    degrees: Sequence[float]
    """Degrees of freedom by column: units of the sample less one."""


def rate(
    columns: Columns, method: Literal["win-rate", "mean-rank"], confidence: float = 0.95
) -> Rating:
    """Rate models by their order on all columns.

    `win-rate` (HELM) is the mean over columns of (models that are worse + equal models
    / 2) / other models. `mean-rank` is that of ranks: 1 is the best, equal scores share
    ranks. Columns without a direction, or with fewer than two scores, are left out.

    Args:
        columns: The scores.
        method: The method.
        confidence: Probability that all intervals and ranks hold.

    Returns:
        The rating of each model, or null with the reason. An interval counts the models
        that are shown to be worse and to be better, by one test of all pairs of models
        on all columns (`rank-set`). So all intervals and ranks hold at once.
    """
    models, is_rank = columns.models, method == "mean-rank"
    ways = [math.nan if x is None else 2.0 * x - 1 for x in columns.higher_is_better]
    own = np.array(ways)[:, None] * columns.values
    known = np.isfinite(own)
    known &= known.sum(axis=1, keepdims=True) > 1
    own, counts = np.where(known, own, np.nan), known.sum(axis=0)
    others = np.maximum(known.sum(axis=1, keepdims=True) - 1, 1)

    def mean(wins: Floats) -> Floats:
        numbers = 1 + others * (1 - wins) if is_rank else wins
        return mean_of_known(np.where(known, numbers, np.nan))

    better: Any = own[:, :, None] > own[:, None, :]
    worse = others + better.sum(axis=2) - better.sum(axis=1)
    rated, ranks = mean(worse / 2 / others), dict[str, Ranks]()
    draws, why = columns.draws, str(columns.draws)
    if not isinstance(draws, str):
        draws, why = draws[np.isfinite(draws[:, known]).all(axis=1)], _UNDEFINED
    intervals = [
        without_interval(
            why if count else "no column of one direction and the same datasets"
        )
        for count in counts
    ]
    if not isinstance(draws, str) and len(draws) >= len(columns.draws) / 2:
        drawn = np.array(ways)[:, None] * draws
        better = _better(own, drawn, columns.degrees, confidence)
        ends = mean(better.sum(axis=2) / others), mean(1 - better.sum(axis=1) / others)
        intervals = [
            Interval(min(each), max(each), None, "rank-set") if count else none
            for each, count, none in zip(
                np.transpose(ends).tolist(), counts, intervals, strict=True
            )
        ]
        apart = ends[0][:, None] - ends[1]
        times = better.sum(axis=0)  # on all columns of both models
        everywhere = (times > 0) & (times == counts[:, None]) & (times == counts)
        shown = everywhere | ((-apart if is_rank else apart) > _ROUNDING)
        names = [model for model, count in zip(models, counts, strict=True) if count]
        ranks = _ranks(names, shown[np.ix_(counts > 0, counts > 0)])
    return join_rating(method, models, rated, counts, intervals, ranks)


def mean_of_known(values: Floats) -> Floats:
    """Return means over the second to last axis without nan; nan if nothing is left."""
    known = np.isfinite(values)
    with np.errstate(invalid="ignore"):
        means: Floats = np.where(known, values, 0).sum(axis=-2) / known.sum(axis=-2)
    return means


def make_rating(
    method: str,
    models: Sequence[str],
    values: Floats,
    draws: Floats | str,
    counts: Integers,
    reasons: Sequence[str],
    confidence: float,
    degrees: float = math.inf,
) -> Rating:
    """Make a rating of values and joint replicates (replicates, models)."""
    intervals, known, ranks = [], {}, dict[str, Ranks]()
    for place, model in enumerate(models):
        intervals.append(without_interval(reasons[place]))
        if np.isfinite(values[place]):
            known[model] = float(values[place])
            intervals[-1] = without_interval(str(draws))
            if not isinstance(draws, str):
                intervals[-1] = joint_interval(draws[:, place], confidence)
    if not isinstance(draws, str):
        by_model = dict(zip(models, draws.T, strict=True))
        ranks, _ = rank_ranges(known, by_model, confidence, degrees=degrees)
    return join_rating(method, models, values, counts, intervals, ranks)


def join_rating(
    method: str,
    models: Sequence[str],
    values: Floats,
    counts: Integers,
    intervals: Sequence[Interval],
    ranks: Mapping[str, Ranks] | None = None,
) -> Rating:
    """Make a rating of values and their intervals; nan is null."""
    is_share = method in ("win-rate", "length-controlled")
    scores = {
        model: make_score(
            interval,
            metric=method,
            value=float(value) if np.isfinite(value) else None,
            n=int(count),
            unit="%" if is_share else "",
            scale=100.0 if is_share else 1.0,
            higher_is_better=method != "mean-rank",
            flag="; ".join(interval.flags) or None,
        )
        for model, value, count, interval in zip(
            models, values, counts, intervals, strict=True
        )
    }
    return Rating(method, scores, ranks or {})


def rank_ranges(
    values: Mapping[str, float],
    draws: Mapping[str, Floats],
    confidence: float = 0.95,
    higher_is_better: bool = True,
    degrees: float = math.inf,
) -> tuple[dict[str, Ranks], str | None]:
    """Compute the ranks that models may have.

    With at least this probability all true ranks lie in their ranges at once: models
    are told apart by a stepwise test of all differences, each divided by its standard
    error, against the bootstrap distribution of their maximum (Mogstad, Romano, Shaikh
    and Wilhelm 2024, Review of Economic Studies 91, 476-518). For few units its
    quantile is stretched to Student's t. Two models whose difference is the same in all
    replicates are told apart if so many units of a worse kind would have been seen.

    Args:
        values: Score of each model; all finite.
        draws: Their joint replicates.
        confidence: Probability that all ranges hold.
        higher_is_better: Direction of the scores.
        degrees: Degrees of freedom: units of the sample less one.

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
        return {}, _UNDEFINED
    [is_better] = _better(own[None], defined[:, None], [degrees], confidence)
    return _ranks([*values], is_better), None


def _ranks(models: Sequence[str], is_better: Any) -> dict[str, Ranks]:
    best, worst = 1 + is_better.sum(axis=0), len(models) - is_better.sum(axis=1)
    ranks = map(Ranks, best.tolist(), worst.tolist())
    return dict(zip(models, ranks, strict=True))


def _better(
    own: Floats, drawn: Floats, degrees: Sequence[float], confidence: float
) -> Any:
    """Tell which model is shown to be better than which (columns, models, models).

    If a difference is d in all units, it is 0 or less in truth only if there is a share
    d / (d + largest score) of other units, of which none was drawn.
    """
    differences = own[:, :, None] - own[:, None, :]
    models = range(own.shape[1])
    errors = np.stack(
        [(drawn[:, :, [j]] - drawn).std(axis=0, ddof=1) for j in models], axis=1
    )
    largest = np.fmax.reduce(np.abs(own), axis=1, initial=_ROUNDING)[:, None, None]
    is_same = ~(errors > _ROUNDING * np.maximum(1.0, largest))
    errors[is_same] = np.inf
    units = np.array([0 if math.isinf(x) else x + 1 for x in degrees])[:, None, None]
    unseen = units * np.log1p(np.where(is_same, differences, 0).clip(0) / largest)
    is_better = unseen > math.log(differences.size / (1 - confidence))
    while True:
        greatest = np.zeros(len(drawn))
        for j in models:
            moved = drawn[:, :, [j]] - drawn - differences[:, j]
            tested = np.where(is_better[:, j], -np.inf, moved / errors[:, j])
            np.fmax(greatest, np.fmax.reduce(tested, axis=(1, 2)), out=greatest)
        # the replicates give standard errors to within a share of about 1 / √replicates
        critical = np.quantile(greatest, confidence) * (1 + len(drawn) ** -0.5)
        least = np.array([_stretch(float(critical), each) for each in degrees])
        shown = ~is_better & (differences / errors > least[:, None, None])
        if not shown.any():
            return is_better
        is_better |= shown


def _stretch(quantile: float, degrees: float) -> float:
    """Stretch a quantile for few units, as Student's t does a normal one."""
    if math.isinf(degrees):
        return quantile
    level = min(math.erf(quantile / math.sqrt(2)), 1 - 1e-9)
    t, z = (t_quantile(level, degrees), normal_quantile(level)) if level > 0 else (1, 1)
    return quantile * t / z * math.sqrt(1 + 1 / degrees)
