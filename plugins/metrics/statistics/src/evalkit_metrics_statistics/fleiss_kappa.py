"""Fleiss' kappa."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from evalkit_metrics_statistics.coincidences import AgreementMetric, Cells, Floats


class FleissKappa(AgreementMetric):
    """Fleiss' kappa: agreement of the same number of ratings of each example.

    (A - C) / (1 - C), where A is the share of pairs of ratings of an example that are
    equal, and C the sum of the squared shares of the different ratings. 1 is perfect, 0
    what chance gives. The ratings of an example are the alternatives of its response
    (`responses`), its answers in all replications (`_replication_`), or what columns
    hold (`of=judge.label/human`), compared as names. Where examples have different
    numbers of ratings it is not defined, and null: `krippendorff-alpha` is. An example
    with fewer than two is left out, and a notice counts it; null is no rating. Where
    all ratings are equal it is 0 / 0, and null; so it is where a missing prediction
    counts. Range -1 to 1, 0 is chance, higher is better; a bootstrap interval.

    Source: Fleiss, Measuring Nominal Scale Agreement among Many Raters, 1971;
    statsmodels' `fleiss_kappa`.

    Example:
        >>> import evalkit
        >>> said = {"responses": [["a", "a"], ["b", "b"], ["a", "b"]]}
        >>> found = evalkit.score("fleiss-kappa", "aba", "aba", fields=said)
        >>> round(found["fleiss-kappa"].value, 6)
        0.333333
    """

    def agreement(self, counts: Floats, cells: Cells) -> Floats:
        """Compare the equal pairs with those to be expected."""
        marginals = cells.by_value(counts)
        n = marginals.sum(axis=1)
        with np.errstate(invalid="ignore", divide="ignore"):
            equal = counts[:, ~cells.differ].sum(axis=1) / n
            chance = ((marginals / n[:, None]) ** 2).sum(axis=1)
            value = (equal - chance) / (1 - chance)
        is_spread = (marginals > 0).sum(axis=1) > 1
        return np.where(is_spread & _are_alike(counts, cells), value, np.nan)

    def why_undefined(self, cells: Cells) -> str:
        """Say that numbers of ratings differ, or that all ratings are equal."""
        numbers = np.unique(cells.ratings).tolist()
        if len(numbers) > 1:
            return (
                f"examples have different numbers of ratings, from {numbers[0]} to "
                f"{numbers[-1]}; krippendorff-alpha takes them"
            )
        return super().why_undefined(cells)


def _are_alike(counts: Floats, cells: Cells) -> NDArray[np.bool_]:
    """Tell in which samples all examples have the same number of ratings."""
    kinds = [
        (counts[:, cells.ratings == number] > 0).any(axis=1)
        for number in np.unique(cells.ratings)
    ]
    are_alike: NDArray[np.bool_] = np.sum(kinds, axis=0) == 1
    return are_alike
