"""Means of another metric's scores by weights of the examples."""

from __future__ import annotations

import polars as pl
from pydantic import Field

from evalkit import MetricContext, MetricError, Parameters, PluginContractError
from evalkit_metrics_compat.outer_metric import OuterMetric


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
