"""Exact match of texts."""

from __future__ import annotations

from evalkit_metrics_classification.accuracy import Accuracy


class ExactMatch(Accuracy):
    """Share of examples whose predicted text equals an acceptable answer, exactly.

    Right / all examples. Nothing is normalised: capitals, punctuation and blanks count;
    for that there is `squad-em`. It is `accuracy` under the name that question
    answering uses. A missing prediction that counts is wrong. Range 0 to 1, in %,
    higher is better; Wilson's interval.

    Source: HELM's `exact_match`.

    Example:
        >>> import evalkit
        >>> answers = [["two", "2"], ["Paris"]]
        >>> evalkit.score("exact-match", ["2", "paris"], answers)["exact-match"].value
        0.5
    """
