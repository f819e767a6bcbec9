"""Expected calibration error."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
import polars as pl

from evalkit_metrics_classification.averages import Numbers, totals
from evalkit_metrics_classification.calibration import Bins, CalibrationMetric


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
