"""Balanced accuracy."""

from __future__ import annotations

from evalkit import Parameters
from evalkit_metrics_classification.averages import LabelChoice
from evalkit_metrics_classification.macro_recall import MacroRecall


class BalancedAccuracy(MacroRecall):
    """Mean recall, hits / gold, of the classes that have gold examples in the group.

    It is `macro-recall` without parameters, under its other name. Chance is 1 / classes
    however often each class occurs. A missing prediction is a miss. Range 0 to 1, in %,
    higher is better; a multinomial interval, with clusters a bootstrap.

    Source: Brodersen et al., The Balanced Accuracy and Its Posterior Distribution,
    2010; scikit-learn's `balanced_accuracy_score`.

    Example:
        >>> import evalkit
        >>> said, gold = ["a", "a", "a", "b"], ["a", "a", "b", "b"]
        >>> evalkit.score("balanced-accuracy", said, gold)["balanced-accuracy"].value
        0.75
    """

    Parameters = Parameters

    @property
    def labels(self) -> LabelChoice:
        """The classes: those with gold examples."""
        return "gold"
