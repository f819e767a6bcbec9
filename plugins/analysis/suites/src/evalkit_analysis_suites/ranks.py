"""Ratings of models from the columns of a leaderboard, and the ranks they may have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np

from evalkit import Score
from evalkit.errors import EvalkitError
from evalkit.scoring import Interval
from evalkit.statistics.clusters import Floats
from evalkit.statistics.intervals import without_interval
from evalkit_analysis_suites.draws import joint_interval
from evalkit_analysis_suites.records import Ranks, Rating

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
    """Settings of a dynascore."""

    perf: str
    """Name of the column that the others are converted to."""
    weights: Mapping[str, float] = {}
    """By column; 1 for the others."""
    offsets: Mapping[str, float] = {}
    """What is added to a column after its sign was turned; 0 for the others."""


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
    """
    signs = [0 if up is None else 1 if up else -1 for up in columns.higher_is_better]
    reasons = [""] * len(columns.models)
    settings = None
    if method == "dynascore":
        settings = _Settings.check(columns, signs, dynascore)
        reasons = settings.reasons(columns)
    chosen = [place for place, reason in enumerate(reasons) if not reason]

    def compute(values: Floats) -> Floats:
        rated = np.full((*values.shape[:-2], len(columns.models)), np.nan)
        if settings is not None and chosen:
            rated[..., chosen] = settings.compute(values[..., chosen])
        elif settings is None and method == "win-rate":
            rated = win_rates(values, signs)
        elif settings is None:
            rated = mean_ranks(values, signs)
        return rated

    values, draws = compute(columns.values), columns.draws
    if not isinstance(draws, str):
        known = np.isfinite(columns.values)
        whole = np.isfinite(draws[:, known]).all(axis=1, keepdims=True)
        draws = np.where(whole, compute(draws), np.nan)
    rated = [place for place, sign in enumerate(signs) if sign]
    counts = (columns.values[rated] == columns.values[rated]).sum(axis=0)
    return make_rating(
        method,
        dict(zip(columns.models, values.tolist(), strict=True)),
        draws
        if isinstance(draws, str)
        else dict(zip(columns.models, draws.T, strict=True)),
        confidence,
        n=dict(zip(columns.models, counts.tolist(), strict=True)),
        reasons=dict(zip(columns.models, reasons, strict=True)),
        unit="%" if method == "win-rate" else "",
        higher_is_better=method != "mean-rank",
    )


def win_rates(values: Floats, signs: Sequence[int]) -> Floats:
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
    return _mean(_wins(values, signs)[0])


def mean_ranks(values: Floats, signs: Sequence[int]) -> Floats:
    """Compute the mean rank over columns, 1 for the best; equal scores share ranks.

    Arguments and columns that are left out are those of `win_rates`.
    """
    wins, counts = _wins(values, signs)
    return _mean(counts - (counts - 1) * wins)


def _wins(values: Floats, signs: Sequence[int]) -> tuple[Floats, Floats]:
    """Return win rates on each column, and how many models have a score there."""
    wins = np.full(values.shape, np.nan)
    counts = np.isfinite(values).sum(axis=-1, keepdims=True).astype(np.float64)
    for column, sign in enumerate(signs):
        own = sign * values[..., column, :]
        count = counts[..., column, :]
        worse = (own[..., :, None] > own[..., None, :]).sum(axis=-1)
        equal = (own[..., :, None] == own[..., None, :]).sum(axis=-1) - 1
        is_rated = np.isfinite(own) & (count > 1) & (sign != 0)
        shares = (worse + equal / 2) / np.maximum(count - 1, 1)
        wins[..., column, :] = np.where(is_rated, shares, np.nan)
    return wins, counts


def _mean(values: Floats) -> Floats:
    """Return the mean over columns that have a number; nan if none has."""
    known = np.isfinite(values)
    sums = np.where(known, values, 0.0).sum(axis=-2)
    counts = known.sum(axis=-2)
    means: Floats = np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)
    return means


class _Settings(NamedTuple):
    """A dynascore (Ma et al. 2021) of certain columns."""

    perf: int
    names: tuple[str, ...]
    signs: Floats
    weights: Floats
    offsets: Floats

    @classmethod
    def check(
        cls, columns: Columns, signs: Sequence[int], settings: Dynascore | None
    ) -> _Settings:
        if settings is None:
            raise EvalkitError("rank: dynascore needs `perf`, the column to convert to")
        names = columns.names
        for name in (settings.perf, *settings.weights, *settings.offsets):
            if name not in names:
                raise EvalkitError(
                    f"rank: no column {name!r}. Use one of {', '.join(names)}"
                )
        weights = np.array([settings.weights.get(name, 1.0) for name in names])
        if weights.min() < 0 or not weights.sum() > 0:
            raise EvalkitError("rank: weights must be at least 0, and one above 0")
        offsets = np.array([settings.offsets.get(name, 0.0) for name in names])
        return cls(
            names.index(settings.perf),
            names,
            np.array(signs, dtype=np.float64),
            weights / weights.sum(),
            offsets,
        )

    def reasons(self, columns: Columns) -> list[str]:
        """Say for each model why it has no dynascore."""
        for name, sign in zip(self.names, self.signs, strict=True):
            if not sign:
                unknown = f"it is unknown whether higher is better for {name}"
                return [unknown] * len(columns.models)
        lacking = [
            [n for n, has in zip(self.names, known, strict=True) if not has]
            for known in np.isfinite(columns.values).T
        ]
        reasons = [
            f"no score for {', '.join(names)}" * bool(names) for names in lacking
        ]
        chosen = [place for place, reason in enumerate(reasons) if not reason]
        if len(chosen) < 2:
            general = "fewer than two models have all scores"
        else:
            general = self._degenerate(columns.values[:, chosen])
        return [reason or general for reason in reasons]

    def _degenerate(self, values: Floats) -> str:
        perf = self.names[self.perf]
        _, rates = self._rates(values)
        if np.isnan(rates[self.perf]):
            return f"all models have the same {perf}"
        for name, rate, weight in zip(self.names, rates, self.weights, strict=True):
            if weight and not (np.isfinite(rate) and rate > 0):
                return (
                    f"{name} does not change with {perf}: its marginal rate of "
                    "substitution is 0"
                )
        return ""

    def compute(self, values: Floats) -> Floats:
        """Compute dynascores of shape (..., models)."""
        utilities, rates = self._rates(values)
        used = self.weights > 0
        rates = np.where(rates > 0, rates, np.nan)[..., used, None]
        scores = self.weights[used, None] * utilities[..., used, :] / rates
        total: Floats = scores.sum(axis=-2)
        return total

    def _rates(self, values: Floats) -> tuple[Floats, Floats]:
        """Return utilities, and the average marginal rates of substitution.

        Models are sorted by perf; those of equal perf keep their order.
        """
        utilities = self.signs[:, None] * values + self.offsets[:, None]
        order = np.argsort(values[..., self.perf, :], axis=-1, kind="stable")
        ordered = np.take_along_axis(utilities, order[..., None, :], axis=-1)
        steps = np.abs(np.diff(ordered, axis=-1))
        of_perf = steps[..., self.perf, None, :]
        best = utilities[..., self.perf, None, :].max(axis=-1, keepdims=True)
        used = of_perf > _LEAST_STEP * best
        ratios = np.where(used, steps / np.where(used, of_perf, 1.0), 0.0)
        counts = used.sum(axis=-1).astype(np.float64)
        rates = ratios.sum(axis=-1) / np.where(counts > 0, counts, np.nan)
        return utilities, rates


def make_rating(
    method: str,
    values: Mapping[str, float],
    draws: Mapping[str, Floats] | str,
    confidence: float,
    *,
    n: Mapping[str, int],
    reasons: Mapping[str, str] | None = None,
    unit: str = "",
    higher_is_better: bool = True,
) -> Rating:
    """Make a rating of its values and their replicates.

    Args:
        method: Name of the method.
        values: By model; nan for none.
        draws: Joint replicates by model, or why there are none.
        confidence: Probability of each interval, and of all ranks together.
        n: By model, how many columns or examples it is computed from.
        reasons: By model, why there is no value.
        unit: `%` for shares.
        higher_is_better: Direction of the rating.

    Returns:
        The rating. Each interval is widened to hold its value, from which the
        replicates of a rating that jumps with ranks may all lie on one side.
    """
    scores = {}
    for model, value in values.items():
        interval = without_interval((reasons or {}).get(model) or "no column is rated")
        if np.isfinite(value):
            interval = _interval(draws, model, value, confidence)
        scores[model] = _score(
            method, value, interval, n[model], unit, higher_is_better
        )
    known = {model: value for model, value in values.items() if np.isfinite(value)}
    ranks: Mapping[str, Ranks] = {}
    if not isinstance(draws, str):
        ranks, _ = rank_ranges(known, draws, confidence, higher_is_better)
    return Rating(method, scores, ranks)


def _interval(
    draws: Mapping[str, Floats] | str, model: str, value: float, confidence: float
) -> Interval:
    if isinstance(draws, str):
        return without_interval(draws)
    interval = joint_interval(draws[model], confidence)
    if interval.low is None or interval.high is None:
        return interval
    return interval._replace(
        low=min(interval.low, value), high=max(interval.high, value)
    )


def _score(
    method: str,
    value: float,
    interval: Interval,
    n: int,
    unit: str,
    higher_is_better: bool,
) -> Score:
    others: dict[str, Any] = dict.fromkeys(Score._fields)
    fixed = {
        "metric": method,
        "split": "",
        "computed_on": "all",
        "value": float(value) if np.isfinite(value) else None,
        "se": interval.standard_error,
        "ci_low": interval.low,
        "ci_high": interval.high,
        "ci_method": interval.method,
        "n": n,
        "unit": unit,
        "scale": 100.0 if unit == "%" else 1.0,
        "higher_is_better": higher_is_better,
        "reason": interval.reason,
    }
    return Score(**{**others, **fixed})


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
    models = list(values)
    if len(models) < 2:
        return {}, "fewer than two models have a score"
    sign = 1.0 if higher_is_better else -1.0
    own = sign * np.array([values[model] for model in models])
    drawn = sign * np.column_stack([draws[model] for model in models])
    defined = drawn[np.isfinite(drawn).all(axis=1)]
    if len(defined) < len(drawn) / 2:
        return {}, "scores are undefined in most bootstrap replicates"
    is_better = _better(own, defined, confidence)
    beaten_by, beats = is_better.sum(axis=0), is_better.sum(axis=1)
    return {
        model: Ranks(1 + int(beaten_by[place]), len(models) - int(beats[place]))
        for place, model in enumerate(models)
    }, None


def _better(own: Floats, drawn: Floats, confidence: float) -> Any:
    """Tell which model is shown to be better than which, of shape (models, models)."""
    differences = own[:, None] - own[None, :]
    errors = np.array(
        [(drawn[:, [j]] - drawn).std(axis=0, ddof=1) for j in range(len(own))]
    )
    errors[errors <= _ROUNDING * max(1.0, float(np.abs(own).max()))] = np.inf
    statistics = differences / errors
    is_better = np.zeros(errors.shape, dtype=np.bool_)
    while True:
        greatest = np.full(len(drawn), -np.inf)
        for j in range(len(own)):
            moved = (drawn[:, [j]] - drawn - differences[j]) / errors[j]
            moved[:, is_better[j]] = -np.inf
            np.maximum(greatest, moved.max(axis=1), out=greatest)
        shown = ~is_better & (statistics > np.quantile(greatest, confidence))
        if not shown.any():
            return is_better
        is_better |= shown
