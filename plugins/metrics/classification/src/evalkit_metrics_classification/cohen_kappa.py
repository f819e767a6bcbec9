"""Cohen's kappa."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from evalkit import MetricContext, MetricError, Parameters
from evalkit_metrics_classification.averages import Numbers
from evalkit_metrics_classification.weighted_agreement import (
    Weights,
    distances,
    places_of,
    weighted_kappa,
)
from evalkit_metrics_classification.whole_agreement import Totals, WholeAgreement


class KappaParameters(Parameters):
    """How much a wrong label counts."""

    weights: Weights = "none"
    """`none`: all wrong labels alike; `linear`: by how many places it is off in the
    order in which the data set declares its labels; `quadratic`: by the square of
    that."""


class CohenKappa(WholeAgreement):
    """Agreement beyond chance, (observed - expected) / (1 - expected).

    Expected is the agreement of two independent labellings with the shares that the
    classes have in answers and in predictions. For labels that have an order,
    `cohen-kappa:weights=quadratic` (or `linear`) is 1 - observed / expected distance,
    by their places in the order that the data set declares; it is refused where none is
    declared. A missing prediction agrees with nothing, and is as far off as can be; so
    is, with weights, one that is not declared. Where all answers and predictions are of
    one class it is 0 / 0, and null. Range -1 to 1, 0 is chance, higher is better; a
    multinomial interval, with clusters a bootstrap.

    Source: Cohen, A Coefficient of Agreement for Nominal Scales, 1960, and Weighted
    Kappa, 1968; scikit-learn's `cohen_kappa_score`.

    Example:
        >>> import evalkit
        >>> said, gold = ["a", "b", "b", "b"], ["a", "a", "b", "b"]
        >>> evalkit.score("cohen-kappa", said, gold)["cohen-kappa"].value
        0.5
    """

    Parameters = KappaParameters
    lacking = "all answers and predictions are of one class"

    @property
    def weights(self) -> Weights:
        """The parameter `weights`."""
        parameters = self.parameters
        assert isinstance(parameters, KappaParameters)
        return parameters.weights

    def agreement(self, totals: Totals) -> tuple[Numbers, Numbers]:
        """Return observed minus expected, and 1 minus expected, times n squared."""
        return totals.above_chance, totals.examples**2 - totals.products

    def finalize(self, sums: pl.DataFrame, context: MetricContext) -> pl.DataFrame:
        """Score every group."""
        if self.weights == "none":
            return super().finalize(sums, context)
        labels = self._ordered(context)
        gold, said = (each.to_numpy() for each in places_of(sums, labels))
        groups, place = np.unique(sums["group"].to_numpy(), return_inverse=True)
        counts = np.zeros((len(groups), len(labels), len(labels) + 1))
        np.add.at(counts, (place, gold, said), sums["count"].to_numpy())
        values = weighted_kappa(counts, distances(labels, self.weights))
        value = pl.Series("value", values, nan_to_null=True)
        return pl.DataFrame({"group": groups, "value": value}).with_columns(
            reason=pl.when(value.is_null()).then(pl.lit(self.lacking))
        )

    def finalize_counts(
        self, counts: Numbers, cells: pl.DataFrame, context: MetricContext
    ) -> dict[str, Numbers]:
        """Score every sample."""
        if self.weights == "none":
            return super().finalize_counts(counts, cells, context)
        labels = self._ordered(context)
        gold, said = (each.to_numpy() for each in places_of(cells, labels))
        table = np.zeros((len(counts), len(labels), len(labels) + 1))
        for cell, place in enumerate(zip(gold, said, strict=True)):
            table[:, *place] += counts[:, cell]
        return {"": weighted_kappa(table, distances(labels, self.weights))}

    def _ordered(self, context: MetricContext) -> Sequence[str]:
        if not context.labels:
            raise MetricError(
                f"weights={self.weights} needs an order of the labels, and the data "
                "set declares none"
            )
        return context.labels
