"""A metric that makes another score of what another metric counts."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, Literal

import polars as pl
import polars.selectors as cs
from pydantic import Field, FiniteFloat

from evalkit import (
    Metric,
    MetricContext,
    MetricError,
    Parameters,
    PluginContractError,
    PluginError,
)
from evalkit.catalog import BoundMetric, Registry
from evalkit.scoring import ScoringTable, finalize, metric_outcomes

_INHERITED = (
    *("keys", "merges", "answer_kinds", "has_possible_range", "most_not_scored"),
    *("batch_rows", "shares_work", "costly", "deterministic"),
)
"""Attributes that are those of the inner metric."""

_REFUSED = {
    "compute": "it is a function of lists, which has no statistics",
    "prepare": "it looks at all answers first, which cannot be handed on",
}


class OuterMetric(Metric):
    """A score of another metric's statistics, and of a column of the data."""

    def __init__(
        self, parameters: Parameters, name: str, metric: str, column: str | None
    ) -> None:
        super().__init__(parameters)
        self._inner = inner = _load(metric, f"metrics/{name}")
        vars(self).update({each: getattr(inner, each) for each in _INHERITED})
        by_example = inner.example_hook is not None
        vars(self).update(
            columns=(*inner.columns, *([] if column is None else [column])),
            costly=inner.is_costly,
            accepts_no_prediction=inner.accepts_no_prediction
            or (by_example and inner.worst_value is not None),
        )

    def resources(self) -> dict[str, Any]:
        """Name the inner metric, its code, and what it depends on."""
        inner = self._inner
        package = inner.component.value.partition(":")[0].partition(".")[0]
        own = {
            f"metric: {name}": value
            for name, value in dict(inner.name_resources()).items()
        }
        files = {
            f"metric: parameter {name}": Path(value)
            for name, value in inner.changed_parameters.items()
            if isinstance(value, str) and Path(value).is_file()
        }
        code = {"metric: code": sys.modules[package]} if package in sys.modules else {}
        return {"metric": inner.component.origin, **own, **files, **code}

    def inner_statistics(
        self, batch: pl.DataFrame, context: MetricContext
    ) -> pl.DataFrame:
        """Return the statistics of the inner metric, whichever way it is written."""
        metric = self._inner
        batch = batch.select(cs.by_name("prediction", "target", *metric.columns))
        if metric.has("statistics"):
            found: pl.DataFrame = metric.call(
                "statistics", batch=batch, context=context
            )
            return found
        numbered = batch.with_row_index("position").with_columns(
            pl.col("position").cast(pl.UInt32)
        )
        names = [f"row {row} of a batch" for row in range(len(batch))]
        done = metric_outcomes(metric, ScoringTable(numbered, names, None, context))
        left = done.unscored.select(row="position", not_scored="reason")
        found = done.statistics.rename({"position": "row"})
        if not left.height:
            return found
        numbers = [name for name in found.columns if name != "row"]
        return pl.concat([found, left], how="diagonal").with_columns(
            cs.by_name(*numbers).fill_null(0.0)
        )


def _load(name: str, outer: str) -> BoundMetric:
    """Load the metric that a user names, or one of its scores."""
    where = f"{outer}: parameter metric={name}"
    reference, _, part = name.partition("#")
    try:
        whole = BoundMetric.of(Registry().load("metrics", reference))
    except PluginError as error:
        raise PluginContractError(f"{where}: {error}") from error
    inner = whole.score_of(part) if part or "" in whole.scores else whole
    declared = ", ".join(f"{reference}#{each}" for each in whole.scores if each)
    if (part and part not in whole.scores) or (whole.scores and inner is whole):
        raise PluginContractError(f"{where}: choose one of {declared or reference}")
    for hook, why in _REFUSED.items():
        if inner.has(hook):
            raise PluginContractError(f"{where}: {why}")
    if isinstance(inner.plugin, OuterMetric):
        raise PluginContractError(f"{where}: it is a score of another metric already")
    return inner


class WeightedParameters(Parameters):
    """The metric, and the column of weights."""

    by: str = Field(min_length=1)
    """Field of the data with the weight of each example, from 1e-100 to 1e100."""
    metric: str = "accuracy"
    """Name of a metric that is a share or a mean, with parameters and, of several
    scores, the score's name: `exact-match:ignore_case=true`, `helm-set-match#iou`."""


class Weighted(OuterMetric):
    """Mean of another metric's scores of examples by the weights in a column.

    Sum of weight x score / sum of weights, for a metric that is a share or a mean of
    examples, which says what missing predictions and several answers count. Range 0 to
    1, in %, higher is better, or those of the metric. Any weight but a number from
    1e-100 to 1e100 fails the metric. A share has Wilson's interval on the effective n,
    but none at 0 % and 100 %; any other mean has the delta method's. A flag says the
    effective n where it is less than half of the examples.

    Source: Kish, Survey Sampling, 1965, for the effective n; scikit-learn's
    `accuracy_score` with `sample_weight`.

    Example:
        >>> import evalkit
        >>> name, fields = "weighted:by=w", {"w": [3, 1]}
        >>> evalkit.score(name, ["a", "b"], ["a", "a"], fields=fields)[name].value
        0.75
    """

    Parameters = WeightedParameters
    unit = "%"
    bounds = (0.0, 1.0)
    scale = 100.0
    higher_is_better = True

    parameters: WeightedParameters

    def __init__(self, parameters: WeightedParameters) -> None:
        super().__init__(parameters, "weighted", parameters.metric, parameters.by)
        inner = self._inner
        if inner.interval_kind not in ("wilson", "t"):
            raise PluginContractError(
                f"metrics/weighted: parameter metric={parameters.metric}: it is not a "
                "mean of scores of examples"
            )
        names = ("unit", "bounds", "scale", "higher_is_better", "worst_value")
        vars(self).update({name: getattr(inner, name) for name in names})
        is_share = inner.interval_kind == "wilson"
        vars(self).update(
            interval="wilson" if is_share else "delta", keys=(), merges={}
        )

    def statistics(self, batch: pl.DataFrame, context: MetricContext) -> pl.DataFrame:
        """Return weight and weighted score of every example."""
        scores = self.inner_statistics(batch, context)
        weight = self._weights(batch[self.parameters.by]).gather(scores["row"])
        score = scores[str(self._inner.example_column)]
        kept = [name for name in ("row", "not_scored") if name in scores.columns]
        return scores.select(
            *kept, weighted=weight * score, weight=weight, square=weight**2, n=1.0
        )

    def finalize(self, sums: pl.DataFrame) -> pl.DataFrame:
        """Divide the weighted scores by the weights, and flag unequal weights."""
        effective = pl.col("weight") ** 2 / pl.col("square")
        flag = pl.format("unequal weights: effective n {}", effective.round(1))
        return sums.select(
            "group",
            value=pl.col("weighted") / pl.col("weight"),
            flag=pl.when(effective < pl.col("n") / 2).then(flag),
        )

    def _weights(self, column: pl.Series) -> pl.Series:
        weights = column.cast(pl.Float64, strict=False)
        # the squares of others overflow or vanish
        is_valid = weights.is_between(1e-100, 1e100).fill_null(False)
        if not is_valid.all():
            first = column.filter(~is_valid)[0]
            raise MetricError(
                f"{column.name}: expected a weight from 1e-100 to 1e100, got {first!r}"
            )
        return weights


class AboveChanceParameters(Parameters):
    """What is rescaled, and what chance is."""

    metric: str = "balanced-accuracy"
    """Name of the metric, with parameters and, of several scores, the score's name:
    `macro-f1:labels=declared`, `helm-set-match#iou`."""
    chance: Literal["labels", "choices"] | FiniteFloat = "labels"
    """Its score by chance, as it is stored (0.25, not 25 %); `labels`: 1 / the number
    of declared labels; `choices`: the mean of 1 / the number of an example's own, each
    as often as it is listed."""
    choices: str = Field("choices", min_length=1)
    """Field of the data that lists an example's own choices."""
    best: FiniteFloat | None = None
    """Score that becomes 100 %, as it is stored. Default: the metric's best score."""
    floor: bool = True
    """Whether scores worse than chance become 0."""


class AboveChance(OuterMetric):
    """Distance of a metric's score from chance, as a share of what is possible.

    (score - chance) / (best - chance), where `best` is the bound of the metric on its
    better side; 0 where the score is worse than chance, which the flag says. Chance is
    what is declared, 1 / the number of declared labels, or the mean of 1 / the number
    of each example's own choices; never is it taken from the answers that were loaded
    (as SEA-HELM does, where right answers to one example score 0). Where it is not
    known, or is the best score, the value is null with the reason; a number that no
    score of the metric can be (25 for 25 %) is refused. Missing predictions and several
    answers are treated as the metric that is rescaled treats them. Range 0 to 1, in %,
    higher is better; a bootstrap interval.

    Source: `normalize_score` of SEA-HELM 1.2.0; with the default metric and chance its
    `normalized_accuracy`.

    Example:
        >>> import evalkit
        >>> said, right, labels = ["a", "b", "a", "b"], ["a", "b", "b", "b"], ["a", "b"]
        >>> name = "above-chance:metric=accuracy"
        >>> evalkit.score(name, said, right, labels=labels)[name].value
        0.5
    """

    Parameters = AboveChanceParameters
    unit = "%"
    bounds = (0.0, 1.0)
    higher_is_better = True
    scale = 100.0
    interval = "bootstrap"

    def __init__(self, parameters: AboveChanceParameters) -> None:
        self._chance = parameters.chance
        self._choices = parameters.choices if self._chance == "choices" else None
        super().__init__(parameters, "above-chance", parameters.metric, self._choices)
        self._floor = parameters.floor
        self._best = parameters.best
        if self._best is None:
            self._best = _best_of(self._inner)
        else:
            _refuse_no_score(self._best, self._inner, "best")
        if isinstance(self._chance, str):
            _refuse_other_scales(self._inner)
        else:
            _refuse_no_score(self._chance, self._inner, "chance")
        kind = self._inner.interval or ""
        keeps = kind == "none" or (kind == "multinomial" and self._choices is None)
        bounds = 0.0 if self._floor else None, 1.0 if parameters.best is None else None
        vars(self).update(interval=kind if keeps else "bootstrap", bounds=bounds)

    def statistics(self, batch: pl.DataFrame, context: MetricContext) -> pl.DataFrame:
        """Return the statistics of the metric, and the chance of each example."""
        found = self.inner_statistics(batch, context)
        if self._choices is None:
            return found
        return _with_chance(found, batch[self._choices])

    def _scales(self, sums: pl.DataFrame, context: MetricContext) -> pl.DataFrame:
        """Return chance and the best score, of every group."""
        one = pl.lit(self._best, dtype=pl.Float64)
        if self._choices is not None:
            zero = pl.col("scaling_chance").sum() / pl.col("scaling_examples").sum()
            groups = sums.group_by("group", maintain_order=True).agg(zero=zero)
            return groups.with_columns(one=one)
        zero = pl.lit(self._same_chance(context), dtype=pl.Float64)
        groups = sums.select(pl.col("group").unique(maintain_order=True))
        return groups.with_columns(zero=zero, one=one)

    def finalize(self, sums: pl.DataFrame, context: MetricContext) -> pl.DataFrame:
        """Rescale what the metric makes of its sums."""
        inner = self._inner
        own = [name for name in sums.columns if name.startswith("scaling")]
        part = inner.part if inner.has("finalize") else ""
        scores = finalize(inner, sums.drop(cs.by_name(*own)), context)
        scores = scores.filter(pl.col("score") == part)
        scales = self._scales(sums, context).with_columns(
            pl.col("group").cast(pl.Int64)
        )
        zero, one = pl.col("zero"), pl.col("one")
        away = distance(pl.col("value"), zero, one)
        why = (
            pl.when(zero.is_null())
            .then(pl.lit(self._why_no_chance))
            .when(zero == one)
            .then(pl.lit("chance is the best score that there is"))
        )
        is_cut = pl.lit(self._floor) & (away < 0)
        below = pl.when(is_cut).then(pl.lit("worse than chance: cut off at 0"))
        flags = pl.concat_str([below, "flag"], separator="; ", ignore_nulls=True)
        return scores.join(scales, on="group", maintain_order="left").select(
            "group",
            value=away.clip(*self.bounds),
            reason=pl.coalesce("reason", why),
            flag=pl.when(flags != "").then(flags),
        )

    def _same_chance(self, context: MetricContext) -> float | None:
        """Return the chance that is the same for all groups."""
        if isinstance(self._chance, float):
            return self._chance
        return 1 / len(context.labels) if context.labels else None

    @property
    def _why_no_chance(self) -> str:
        if self._choices is None:
            return "chance=labels, but the data set declares no labels"
        return "no example was scored"


def distance(score: pl.Expr, chance: pl.Expr, best: pl.Expr) -> pl.Expr:
    """Return how far scores are from chance, as a share of what is possible.

    Args:
        score: The scores.
        chance: The score by chance.
        best: The best score, which may be less than chance.

    Returns:
        0 at chance and 1 at the best score; negative for what is worse than chance, and
        null where chance is the best score.
    """
    return pl.when(chance != best).then((score - chance) / (best - chance))


def _best_of(metric: BoundMetric) -> float:
    low, high = metric.bounds or (None, None)
    best = high if metric.higher_is_better else low
    if best is None or metric.higher_is_better is None:
        raise PluginContractError(
            f"metrics/above-chance: {metric.name} declares no best score, so that "
            "there is no share of it"
        )
    return float(best)


def _refuse_other_scales(metric: BoundMetric) -> None:
    """Refuse to take 1 / choices for the chance of what is no share of right ones."""
    if metric.bounds != (0, 1) or not metric.higher_is_better:
        raise PluginContractError(
            f"metrics/above-chance: {metric.name} is no share of 0 to 1, so that its "
            "score by chance must be declared: chance=NUMBER"
        )


def _refuse_no_score(value: float, metric: BoundMetric, parameter: str) -> None:
    """Refuse a number that cannot be a score, such as 25 for a share of .25."""
    low, high = metric.bounds or (None, None)
    if (low is None or low <= value) and (high is None or value <= high):
        return
    limits = (
        f"from {low:g}" if low is not None else "",
        f"to {high:g}" if high is not None else "",
    )
    raise PluginContractError(
        f"metrics/above-chance: {parameter}={value:g}, but scores of {metric.name} go "
        f"{' '.join(filter(None, limits))}: declare it as they are stored"
    )


def _with_chance(found: pl.DataFrame, choices: pl.Series) -> pl.DataFrame:
    """Add the chance of each example to its first row of statistics."""
    if not isinstance(choices.dtype, pl.List):
        raise MetricError(f"the field {choices.name!r} holds no lists of choices")
    counts = choices.list.len().cast(pl.Float64).replace(0.0, None)
    count = counts.gather(found["row"]).alias("count")
    first = found["row"].is_first_distinct()
    lacks = pl.when(count.is_null()).then(pl.lit("the example has no choices"))
    said = found["not_scored"] if "not_scored" in found.columns else None
    reasons = lacks if said is None else pl.lit(said).fill_null(lacks)
    rows = found.with_columns(
        scaling_chance=pl.when(first).then(1 / count).fill_null(0.0),
        scaling_examples=first.cast(pl.Float64),
        not_scored=reasons,
    )
    is_left = pl.col("not_scored").is_not_null()
    return rows.filter(~is_left | pl.Series(first))
