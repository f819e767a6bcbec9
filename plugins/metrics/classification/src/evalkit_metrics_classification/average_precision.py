"""Average precision."""

from __future__ import annotations

import numpy as np

from evalkit_metrics_classification.averages import Numbers, ratio
from evalkit_metrics_classification.ranked_labels import RankingMetric
from evalkit_metrics_classification.rankings import Rankings


class AveragePrecision(RankingMetric):
    """Mean precision at the examples of a class, ranked by its probability.

    The sum over thresholds of (R_n - R_n-1) P_n, with P and R precision and recall of
    the examples whose probability of the class is at least the threshold; examples of
    the same probability make one step, and nothing is interpolated. The score is the
    mean over the classes that have gold examples in the group, each against the rest,
    and is flagged with the names of the others; `average-precision:label=irony` is that
    of one class, and null without an example of it. Chance is the share of the class.
    Reads `prob`; a response without it is not scored, and a missing prediction that
    counts is ranked as badly as can be. Range 0 to 1, in %, higher is better; a
    bootstrap interval, in large groups the infinitesimal jackknife's if there are few
    different probabilities, else none.

    Source: Zhu, Recall, Precision and Average Precision, 2004; scikit-learn's
    `average_precision_score` with `average="macro"`.

    Example:
        >>> import evalkit
        >>> prob = [{"a": p, "b": 1 - p} for p in (0.9, 0.6, 0.4, 0.2)]
        >>> said, gold = ["a", "a", "b", "b"], ["a", "b", "a", "b"]
        >>> name = "average-precision:label=a"
        >>> round(evalkit.score(name, said, gold, fields={"prob": prob})[name].value, 4)
        0.8333
    """

    lacking = "no example of the class"

    def class_scores(self, rankings: Rankings) -> Numbers:
        """Return the mean over the examples of the class of precision there."""
        positives = rankings.positives
        hits = rankings.running(positives)
        taken = hits + rankings.running(rankings.negatives)
        precision = np.divide(hits, taken, out=np.zeros_like(hits), where=taken > 0)
        count = rankings.totals(positives)
        return ratio(rankings.totals(positives * precision), count)
