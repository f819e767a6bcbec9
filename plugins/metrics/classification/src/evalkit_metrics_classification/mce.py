"""Maximum calibration error."""

from __future__ import annotations

import numpy as np
import polars as pl

from evalkit_metrics_classification.calibration import CalibrationMetric


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
