"""Agreement of two labellings, from the counts of all classes together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar, Literal, NamedTuple

import numpy as np
import polars as pl

from evalkit import MetricContext, MetricError, Parameters
from evalkit_metrics_classification.averages import Numbers, ratio
from evalkit_metrics_classification.confusion import (
    COUNTS,
    ConfusionMetric,
    class_counts,
    count_arrays,
    first_rows,
)

_ROUNDING = 1e-12
"""What rounding may leave of 0 where counts are fractions, by examples squared."""


class Totals(NamedTuple):
    """Sums over classes; arrays of shape (groups,)."""

    examples: Numbers
    hits: Numbers
    products: Numbers
    """Sum over classes of gold * predicted."""
    gold_squares: Numbers
    """Sum over classes of gold squared."""
    predicted_squares: Numbers
    """The same of predicted; examples without a prediction are one class more."""

    @property
    def above_chance(self) -> Numbers:
        """Hits beyond those of two independent labellings, times the examples."""
        return self.examples * self.hits - self.products


class WholeAgreement(ConfusionMetric):
    """A score of the whole confusion matrix, in which chance is 0."""

    unit = ""
    bounds = (-1.0, 1.0)
    scale = 1.0
    # a wrong prediction may lower it more than none does
    has_possible_range = False
    lacking: ClassVar[str]
    """What a group lacks in which the score is undefined."""

    def agreement(self, totals: Totals) -> tuple[Numbers, Numbers]:
        """Return what is divided and by what; where that is 0 it is undefined."""
        raise TypeError(f"{type(self).__name__} does not define agreement")

    def finalize(self, sums: pl.DataFrame, context: MetricContext) -> pl.DataFrame:
        """Score every group."""
        counts = class_counts(sums)
        starts = first_rows(counts, ["group"])
        hits, gold, predicted = (counts[name].to_numpy() for name in COUNTS)

        def add_up(numbers: Numbers) -> Numbers:
            return np.add.reduceat(numbers, starts) if len(starts) else numbers

        values = self._values(_totals(hits, gold, predicted, add_up))
        value = pl.Series("value", values, nan_to_null=True)
        return (
            counts[starts]
            .select("group")
            .with_columns(
                value, reason=pl.when(value.is_null()).then(pl.lit(self.lacking))
            )
        )

    def finalize_counts(
        self, counts: Numbers, cells: pl.DataFrame, context: MetricContext
    ) -> dict[str, Numbers]:
        """Score every sample."""
        seen = count_arrays(counts, cells)
        totals = _totals(*seen[1:], lambda numbers: numbers.sum(axis=1))
        return {"": self._values(totals)}

    def _values(self, totals: Totals) -> Numbers:
        above, below = self.agreement(totals)
        return ratio(above, below, _ROUNDING * totals.examples**2)


def _totals(
    hits: Numbers,
    gold: Numbers,
    predicted: Numbers,
    add_up: Callable[[Numbers], Numbers],
) -> Totals:
    """Add up the counts of the classes of each group or sample."""
    examples = add_up(gold)
    without = np.maximum(examples - add_up(predicted), 0)
    return Totals(
        examples,
        add_up(hits),
        add_up(gold * predicted),
        add_up(gold**2),
        add_up(predicted**2) + without**2,
    )


Weights = Literal["none", "linear", "quadratic"]


def distances(labels: Sequence[str], weights: Weights) -> Numbers:
    """Return how far each prediction is from each answer.

    Args:
        labels: The labels, in their order.
        weights: Whether distances count as they are, or squared.

    Returns:
        An array of shape (labels, labels + 1): the last prediction is none of them, and
        as far from each as can be.
    """
    place = np.arange(len(labels), dtype=np.float64)
    found = np.abs(place[:, None] - place[None])
    if weights == "quadratic":
        found **= 2
    furthest = found.max(initial=0.0)
    return np.column_stack([found, np.full(len(labels), furthest)])


def weighted_kappa(counts: Numbers, distance: Numbers) -> Numbers:
    """Return 1 - observed / expected distance; nan where that is 0 / 0.

    Args:
        counts: How many examples have each answer and prediction, of shape
            (groups, labels, labels + 1).
        distance: How far the two are apart.

    Returns:
        An array of shape (groups,).
    """
    n = counts.sum(axis=(1, 2))
    observed = np.einsum("gij,ij->g", counts, distance) * n
    gold, said = counts.sum(axis=2), counts.sum(axis=1)
    expected = np.einsum("gi,ij,gj->g", gold, distance, said)
    return ratio(expected - observed, expected, _ROUNDING * n**2)


def places_of(cells: pl.DataFrame, labels: Sequence[str]) -> tuple[pl.Series, ...]:
    """Return the place of the answer and of the prediction of each cell.

    Args:
        cells: `gold` and `predicted`, which may be null.
        labels: The labels; a prediction that is none of them comes after the last.

    Raises:
        MetricError: An answer is none of them.
    """
    kind = pl.Enum(list(labels))
    places = cells.select(
        pl.col("gold", "predicted").cast(kind, strict=False).to_physical()
    ).cast(pl.Int64)
    gold, said = places.get_columns()
    if gold.null_count():
        raise MetricError("an answer is none of the declared labels")
    return gold, said.fill_null(len(labels))


class MCC(WholeAgreement):
    """Correlation of answers and predictions, for any number of classes (R_K).

    With n examples, c of them right, and t_k answers and p_k predictions of class k:
    (c n - sum t_k p_k) / sqrt((n^2 - sum t_k^2)(n^2 - sum p_k^2)). A missing prediction
    is one of a class of its own, and so are, together, those that are none of the
    declared labels. Where all answers, or all predictions, are of one class it is
    0 / 0: null here, 0 in scikit-learn. Range -1 to 1, 0 is chance, higher is better; a
    multinomial interval, with clusters a bootstrap.

    Source: Matthews, Comparison of the Predicted and Observed Secondary Structure of T4
    Phage Lysozyme, 1975; Gorodkin, Comparing Two K-Category Assignments by a K-Category
    Correlation Coefficient, 2004; scikit-learn's `matthews_corrcoef`.

    Example:
        >>> import evalkit
        >>> said, gold = ["a", "b", "b", "b"], ["a", "a", "b", "b"]
        >>> round(evalkit.score("mcc", said, gold)["mcc"].value, 4)
        0.5774
    """

    lacking = "all answers, or all predictions, are of one class"

    def agreement(self, totals: Totals) -> tuple[Numbers, Numbers]:
        """Return the covariance, and the root of the product of the variances."""
        squared = totals.examples**2
        spread = (squared - totals.gold_squares) * (squared - totals.predicted_squares)
        return totals.above_chance, np.sqrt(np.maximum(spread, 0))


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
