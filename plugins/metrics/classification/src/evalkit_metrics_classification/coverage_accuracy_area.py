"""Area under the curve of accuracy by coverage."""

from __future__ import annotations

import numpy as np

from evalkit_metrics_classification.averages import Numbers
from evalkit_metrics_classification.confidence_ranking import ConfidenceRanking
from evalkit_metrics_classification.rankings import Rankings


class CoverageAccuracyArea(ConfidenceRanking):
    """Mean over k of the accuracy of the k most confident predictions.

    With k from 1 to n: near 1 where the wrong predictions are those of which the model
    is least sure; accuracy, on average, where confidence says nothing. Confidence is
    the probability of the predicted label. Predictions of equal confidence stand in no
    order: for each k the mean accuracy over all their orders is taken. A response that
    gives its label no probability is not scored; a missing prediction that counts is
    sure and wrong. Range 0 to 1, in %, higher is better; a bootstrap interval.

    Source: HELM's `selective_cov_acc_area`, but for ties, which are in the order of the
    examples there; 1 minus the area under the risk-coverage curve of Geifman et al.,
    Bias-Reduced Uncertainty Estimation for Deep Neural Classifiers, 2019.

    Example:
        >>> import evalkit
        >>> prob = [{"a": p, "b": 1 - p} for p in (0.9, 0.8, 0.7, 0.6, 0.55)]
        >>> gold = ["a", "a", "b", "a", "b"]
        >>> name = "coverage-accuracy-area"
        >>> found = evalkit.score(name, ["a"] * 5, gold, fields={"prob": prob})
        >>> round(found[name].value, 6)
        0.803333
    """

    def sample_scores(self, rankings: Rankings) -> Numbers:
        """Return the mean accuracy, over all orders of what is equally confident."""
        right, counts = rankings.positives, rankings.positives + rankings.negatives
        taken, hits = rankings.running(counts), rankings.running(right)
        before, hits_before = rankings.higher(taken), rankings.higher(hits)
        share = np.divide(right, counts, out=np.zeros_like(counts), where=counts > 0)
        # the sum over j of (hits + j share) / (before + j), from 1 to the count
        harmonic = _harmonic(int(np.ceil(taken.max(initial=0))))
        reached = _at(taken, harmonic)
        steps = reached - rankings.higher(reached)
        areas = right + (hits_before - share * before) * steps
        np.divide(hits, taken, out=areas, where=counts == 1)
        area: Numbers = rankings.totals(areas) / rankings.totals(counts)
        return area


def _at(counts: Numbers, harmonic: Numbers) -> Numbers:
    """Return the harmonic number of each count, interpolated between whole ones."""
    whole = counts.astype(np.int64)
    if (whole == counts).all():
        found: Numbers = harmonic[whole]
        return found
    # which the delta method asks for
    return np.interp(counts, np.arange(len(harmonic)), harmonic)


def _harmonic(most: int) -> Numbers:
    """Return the harmonic numbers from 0 to the given one."""
    numbers: Numbers = np.concatenate([[0.0], np.cumsum(1 / np.arange(1, most + 1))])
    return numbers
