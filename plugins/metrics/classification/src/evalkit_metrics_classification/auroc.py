"""Area under the ROC curve."""

from __future__ import annotations

from evalkit_metrics_classification.averages import Numbers, ratio
from evalkit_metrics_classification.ranked_labels import RankingMetric
from evalkit_metrics_classification.rankings import Rankings


class AUROC(RankingMetric):
    """Chance that an example of a class is given a higher probability than another.

    Of all pairs of an example of the class and one of the others, the share in which
    the former has the higher probability of the class; a tie counts half. It is the
    area under the curve of the true by the false positive rate. The score is the mean
    over classes, each against the rest; of two classes, which rank examples alike, the
    one number; `auroc:label=irony` is that of one class. A class without examples, or
    without others, in a group has none and the score is flagged with its name; where
    all answers of a group are of one class it is null. Reads `prob`; a response without
    it is not scored, and a missing prediction that counts is ranked as badly as can be.
    Range 0 to 1, in %, higher is better, .5 is chance; Newcombe's interval (2006), of
    several classes or in clusters a bootstrap.

    Source: Hanley and McNeil, The Meaning and Use of the Area under a Receiver
    Operating Characteristic Curve, 1982; scikit-learn's `roc_auc_score` with
    `multi_class="ovr"`.

    Example:
        >>> import evalkit
        >>> prob = [{"a": p, "b": 1 - p} for p in (0.9, 0.4, 0.6, 0.2)]
        >>> said, gold = ["a", "b", "a", "b"], ["a", "a", "b", "b"]
        >>> evalkit.score("auroc", said, gold, fields={"prob": prob})["auroc"].value
        0.75
    """

    interval = "auroc"
    both_classes = False
    lacking = "all answers are of one class, or none is of the class"

    def class_scores(self, rankings: Rankings) -> Numbers:
        """Return the share of pairs that are ranked rightly."""
        positives, negatives = rankings.positives, rankings.negatives
        above = rankings.running(positives) - positives / 2
        pairs = rankings.totals(positives) * rankings.totals(negatives)
        return ratio(rankings.totals(negatives * above), pairs)
