"""Krippendorff's alpha."""

from __future__ import annotations

from typing import Literal

import numpy as np
import polars as pl

from evalkit import MetricError
from evalkit_metrics_statistics.coincidences import (
    AgreementMetric,
    Cells,
    Floats,
    RatingParameters,
    numbers_of,
)

Level = Literal["nominal", "ordinal", "interval", "ratio"]


class AlphaParameters(RatingParameters):
    """How ratings are compared."""

    level: Level = "nominal"
    """What ratings are: names, ranks, or numbers whose differences or ratios count."""


class KrippendorffAlpha(AgreementMetric):
    """Krippendorff's alpha: how reliable the ratings of examples are.

    1 - D_o / D_e, where D_o is the mean disagreement of two ratings of an example, and
    D_e that of any two ratings. Two ratings disagree by 1 where they differ
    (`level=nominal`), by the square of how many ratings lie between them (`ordinal`),
    of their difference (`interval`), or of their difference by their sum (`ratio`). 1
    is perfect, 0 what chance gives. The ratings of an example are the alternatives of
    its response (`responses`), its answers in all replications (`_replication_`), or
    what columns hold (`of=judge.label/human`); they may be of any number. An example
    with fewer than two is left out, and a notice counts it; null is no rating. Where
    all ratings are equal it is 0 / 0, and null; so it is where a missing prediction
    counts. Range -1 to 1, 0 is chance, higher is better; a bootstrap interval.

    Source: Krippendorff, Computing Krippendorff's Alpha-Reliability, 2011; the package
    `krippendorff`.

    Example:
        >>> import evalkit
        >>> said = {"responses": [["a", "a"], ["b", "b"], ["a", "b"]]}
        >>> found = evalkit.score("krippendorff-alpha", "aba", "aba", fields=said)
        >>> round(found["krippendorff-alpha"].value, 6)
        0.444444
    """

    Parameters = AlphaParameters

    @property
    def level(self) -> Level:
        """What ratings are."""
        parameters = self.parameters
        assert isinstance(parameters, AlphaParameters)
        return parameters.level

    def ratings(self, batch: pl.DataFrame) -> pl.Series:
        """Return the ratings, which are numbers but for the nominal level."""
        if self.level == "nominal":
            return super().ratings(batch)
        return numbers_of(batch, self.of)

    def agreement(self, counts: Floats, cells: Cells) -> Floats:
        """Compare the disagreement within examples with that of all ratings."""
        marginals = cells.by_value(counts)
        n = marginals.sum(axis=1)
        if self.level == "nominal":
            observed = counts[:, cells.differ].sum(axis=1)
            expected = n**2 - (marginals**2).sum(axis=1)
        elif self.level == "ratio":
            observed, expected = _of_ratios(counts, cells, marginals)
        else:
            observed, expected = _of_places(
                counts, cells, self._places(marginals, cells)
            )
        with np.errstate(invalid="ignore", divide="ignore"):
            value = 1 - (n - 1) * observed / expected
        is_spread = (marginals > 0).sum(axis=1) > 1
        return np.where(is_spread, value, np.nan)

    def _places(self, marginals: Floats, cells: Cells) -> Floats:
        """Return where each rating lies, of shape (samples, values)."""
        numbers = np.array([float(value) for value in cells.values])
        if self.level == "interval":
            return np.broadcast_to(numbers, marginals.shape)
        order = np.argsort(numbers)
        ordered = marginals[:, order]
        ranks = np.empty_like(marginals)
        ranks[:, order] = np.cumsum(ordered, axis=1) - ordered / 2
        return ranks


def _of_places(counts: Floats, cells: Cells, places: Floats) -> tuple[Floats, Floats]:
    """Return the sums of squared distances of pairs of an example, and of any pair."""
    marginals = cells.by_value(counts)
    n = marginals.sum(axis=1, keepdims=True)
    distance = places[:, cells.first] - places[:, cells.second]
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = (marginals * places).sum(axis=1, keepdims=True) / n
    spread = (marginals * (places - mean) ** 2).sum(axis=1)
    return (counts * distance**2).sum(axis=1), 2 * n[:, 0] * spread


def _of_ratios(
    counts: Floats, cells: Cells, marginals: Floats
) -> tuple[Floats, Floats]:
    """Return the sums of squared ratios of pairs of an example, and of any pair."""
    numbers = np.array([float(value) for value in cells.values])
    if (numbers < 0).any():
        raise MetricError(
            "the level ratio is for numbers of at least 0, and one is less"
        )
    total = numbers[:, None] + numbers
    ratios = np.zeros_like(total)
    np.divide(numbers[:, None] - numbers, total, out=ratios, where=total > 0)
    squares = ratios**2
    observed = counts @ squares[cells.first, cells.second]
    return observed, ((marginals @ squares) * marginals).sum(axis=1)
