"""Label shift: the simplest way to write a metric, a plain function."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import evalkit


@evalkit.metric(unit="%", bounds=(0, 1), higher_is_better=False, scale=100)
def get_label_shift(predictions: Sequence[str], targets: Sequence[str]) -> float:
    """Tell how differently often the labels are predicted and are right.

    It is the total variation distance between the two distributions of labels: the
    share of predictions that would have to be another label to make them equal. A
    model may be wrong everywhere and still have no shift. It is never negative, so in
    a small sample chance alone makes it positive, and its interval reaches high.

    Args:
        predictions: The predicted labels.
        targets: The right labels.

    Returns:
        0 (each label is predicted as often as it is right) to 1.
    """
    predicted, right = Counter(predictions), Counter(targets)
    differences = (abs(predicted[label] - right[label]) for label in predicted | right)
    return sum(differences) / (2 * len(targets))
