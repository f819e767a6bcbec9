"""Bins of confidences, and how far each lies from its share of right predictions."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal, NamedTuple

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
        if not len(confidence):
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


class ECE(CalibrationMetric):
    """Mean distance of confidence from the share of right predictions, over bins.

    The sum over bins of (predictions in the bin / all) * |mean confidence - share of
    right ones|. Confidence is the probability of the predicted label. There are 15 bins
    of equal width (`ece:bins=10`); `ece:binning=mass` has as many predictions in each.
    It lies too high, the more so the fewer predictions there are: that of a perfectly
    calibrated model is about sqrt(bins / n) / 4. So it has no interval, as that of
    resampled examples would lie higher still. `ece#debiased` takes off what chance
    would add once more, two fifths of the excess where the model is calibrated and
    nearly all where it is not; it may be below 0. A response that gives its label no
    probability is not scored; a missing prediction that counts is sure and wrong. Range
    0 to 1, in %, lower is better; no interval.

    Source: Naeini, Cooper and Hauskrecht, Obtaining Well Calibrated Probabilities Using
    Bayesian Binning, 2015; Guo et al., On Calibration of Modern Neural Networks, 2017.
    Equal mass as in HELM's `ece_10_bin`; debiased as in Kumar, Liang and Ma, Verified
    Uncertainty Calibration, 2019, with the exact mean of what they draw (Broecker 2012
    has the same for squared distances).

    Example:
        >>> import evalkit
        >>> prob = [{"a": p, "b": 1 - p} for p in (0.9, 0.9, 0.6, 0.6)]
        >>> gold = ["a", "b", "a", "b"]
        >>> found = evalkit.score("ece", ["a"] * 4, gold, fields={"prob": prob})
        >>> round(found["ece"].value, 4)
        0.25
    """

    scores: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "": {},
        "debiased": {"bounds": (-1.0, 1.0)},
    }

    def finalize(self, sums: pl.DataFrame) -> pl.DataFrame:
        """Score every group, with and without what chance adds."""
        groups, bins = self.bins_of(sums)
        plain = totals(bins.shares * bins.gaps, bins.starts)
        expected = totals(bins.shares * _expected_gaps(bins), bins.starts)
        return pl.concat(
            [
                pl.DataFrame({"group": groups, "value": values}).with_columns(
                    score=pl.lit(name)
                )
                for name, values in (("", plain), ("debiased", 2 * plain - expected))
            ]
        )


def _expected_gaps(bins: Bins) -> Numbers:
    """Return the mean distance if the share of right ones is drawn again.

    That of a folded normal variable: chance adds as much to it as it added to the
    distance that was seen.
    """
    gaps = bins.gaps
    error = np.sqrt(bins.accuracy * (1 - bins.accuracy) / bins.counts)
    is_drawn = error > 0
    ratio = np.divide(gaps, error, out=np.zeros(len(gaps)), where=is_drawn)
    folded = error * np.sqrt(2 / np.pi) * np.exp(-(ratio**2) / 2)
    folded += gaps * [math.erf(each / math.sqrt(2)) for each in ratio.tolist()]
    expected: Numbers = np.where(is_drawn, folded, gaps)
    return expected


class MCE(CalibrationMetric):
    """Greatest distance of confidence from the share of right predictions in a bin.

    The bins are those of `ece`, with the same parameters. A bin of few predictions is
    far off by chance, and the greatest of them decides: read it beside the reliability
    table of `evalkit report`, and with `mce:binning=mass` where there are few. It lies
    too high, and has no interval. Confidence is the probability of the predicted label;
    a response that gives its label none is not scored, and a missing prediction that
    counts is sure and wrong. Range 0 to 1, in %, lower is better; no interval.

    Source: Naeini, Cooper and Hauskrecht, Obtaining Well Calibrated Probabilities Using
    Bayesian Binning, 2015.

    Example:
        >>> import evalkit
        >>> prob = [{"a": p, "b": 1 - p} for p in (0.9, 0.9, 0.6, 0.6)]
        >>> gold = ["a", "b", "a", "b"]
        >>> found = evalkit.score("mce", ["a"] * 4, gold, fields={"prob": prob})
        >>> round(found["mce"].value, 4)
        0.4
    """

    def finalize(self, sums: pl.DataFrame) -> pl.DataFrame:
        """Score every group."""
        groups, bins = self.bins_of(sums)
        values = np.maximum.reduceat(bins.gaps, bins.starts)
        return pl.DataFrame({"group": groups, "value": values})
