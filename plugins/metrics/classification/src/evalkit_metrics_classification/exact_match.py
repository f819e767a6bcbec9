"""Exact match of texts."""

from __future__ import annotations

from evalkit_metrics_classification.accuracy import Accuracy


class ExactMatch(Accuracy):
    """Share of examples whose predicted text equals an acceptable answer, exactly.

    Nothing is normalised: capitals, punctuation and blanks count. It is accuracy under
    the name that question answering uses.
    """
