"""Spearman's rank correlation."""

from __future__ import annotations

import numpy as np

from evalkit_metrics_statistics.ranks import Floats, RankMetric, mean_ranks


class Spearman(RankMetric):
    """Correlation of the ranks: how far predictions rise where answers do.

    Pearson's correlation of both lists' ranks, where equal numbers share the mean of
    their ranks. Any rising function of the answers is 1. Where all predictions, or all
    answers, are equal it is 0 / 0, and null. An answer or prediction that is NaN or
    infinite is not scored, and the score is null where a missing prediction counts. All
    numbers are kept, 16 bytes an example. Range -1 to 1, 0 is chance, higher is better;
    a bootstrap interval up to 10 000 examples.

    Source: Spearman, The Proof and Measurement of Association between Two Things, 1904;
    `scipy.stats.spearmanr`.

    Example:
        >>> import evalkit
        >>> evalkit.score("spearman", [1, 2, 9], [10, 30, 20])["spearman"].value
        0.5
    """

    def association(self, predictions: Floats, targets: Floats) -> float | None:
        """Return the correlation of the ranks."""
        middle = (len(predictions) + 1) / 2
        one, other = mean_ranks(predictions) - middle, mean_ranks(targets) - middle
        value = one @ other / np.sqrt((one @ one) * (other @ other))
        return float(np.clip(value, -1.0, 1.0))
