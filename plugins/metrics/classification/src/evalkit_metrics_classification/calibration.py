"""Bins of confidences, and how far each lies from its share of right predictions."""

from __future__ import annotations

from typing import Annotated, Literal, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray
from pydantic import Field

from evalkit import MetricContext, Parameters
from evalkit.reporting import CONFIDENCE_BINS, confidence_bins
from evalkit_metrics_classification.averages import Numbers, Places, totals
from evalkit_metrics_classification.confidences import ConfidenceMetric, confidences_of
from evalkit_metrics_classification.confusion import first_rows


class BinParameters(Parameters):
    """How confidences are divided."""

    bins: Annotated[int, Field(ge=1, le=1_000)] = CONFIDENCE_BINS
    """How many bins there are, at most."""
    binning: Literal["width", "mass"] = "width"
    """`width`: bins of equal width from 0 to 1, which hold their lower edge and not the
    upper one, but for the last, which holds 1; `mass`: as many predictions in each, as
    far as equal confidences allow, with edges halfway between them."""


class Bins(NamedTuple):
    """The bins of all groups that hold a prediction; arrays of shape (bins,)."""

    counts: Numbers
    confidence: Numbers
    """Mean confidence of the predictions in a bin."""
    accuracy: Numbers
    """Share of them that are right."""
    starts: Places
    """Where each group begins."""

    @property
    def gaps(self) -> Numbers:
        """How far the two are apart."""
        gaps: Numbers = np.abs(self.confidence - self.accuracy)
        return gaps

    @property
    def shares(self) -> Numbers:
        """The share of its group that each bin has."""
        lengths = np.diff(self.starts, append=len(self.counts))
        shares: Numbers = self.counts / np.repeat(
            totals(self.counts, self.starts), lengths
        )
        return shares


class CalibrationMetric(ConfidenceMetric):
    """A score of bins of confidences; lower is better."""

    Parameters = BinParameters
    higher_is_better = False
    # errors of either sign add up: the score lies too high, and so does each replicate
    interval = "none"
    keys = ("confidence",)

    def statistics(self, batch: pl.DataFrame, context: MetricContext) -> pl.DataFrame:
        """Return the confidence of every prediction, and whether it is right."""
        found = confidences_of(batch, context)
        return found.with_columns(right=pl.col("is_right").cast(pl.Float64)).drop(
            "is_right"
        )

    def bins_of(self, sums: pl.DataFrame) -> tuple[pl.Series, Bins]:
        """Divide the confidences of every group.

        Args:
            sums: `group`, `confidence`, `count` and `right`.

        Returns:
            The groups, and their bins.
        """
        ordered = sums.sort("group", "confidence")
        group_starts = first_rows(ordered, ["group"])
        place = self._places(ordered, group_starts)
        binned = ordered.with_columns(pl.Series("bin", place))
        starts = first_rows(binned, ["group", "bin"])
        confidence, count, right = (
            ordered[name].cast(pl.Float64).to_numpy()
            for name in ("confidence", "count", "right")
        )
        counts = totals(count, starts)
        groups = ordered["group"][starts]
        of_group = first_rows(groups.to_frame(), ["group"])
        return groups[of_group], Bins(
            counts,
            totals(confidence * count, starts) / counts,
            totals(right, starts) / counts,
            of_group,
        )

    def _places(self, ordered: pl.DataFrame, starts: Places) -> Places:
        parameters = self.parameters
        assert isinstance(parameters, BinParameters)
        confidence = ordered["confidence"].to_numpy()
        if parameters.binning == "width":
            places: NDArray[np.int64] = confidence_bins(confidence, parameters.bins)
            return places
        if ordered.is_empty():
            return np.empty(0, dtype=np.int64)
        counts = ordered["count"].to_numpy()
        cut = starts[1:]
        parts = zip(np.split(confidence, cut), np.split(counts, cut), strict=True)
        return np.concatenate([equal_mass(*part, parameters.bins) for part in parts])


def equal_mass(confidences: Numbers, counts: Numbers, bins: int) -> Places:
    """Put confidences into bins of as many predictions each.

    Args:
        confidences: Different ones, from low to high.
        counts: How many predictions have each.
        bins: How many bins, at most.

    Returns:
        The number of the bin of each confidence.
    """
    up_to = np.cumsum(counts)
    n = int(up_to[-1])
    size, larger = divmod(n, min(bins, n))
    sizes = np.full(min(bins, n), size)
    sizes[:larger] += 1
    last = np.cumsum(sizes)[:-1]
    below = confidences[np.searchsorted(up_to, last)]
    above = confidences[np.searchsorted(up_to, last + 1)]
    edges = np.unique((below + above) / 2)
    return np.searchsorted(edges, confidences, side="left").astype(np.int64)
