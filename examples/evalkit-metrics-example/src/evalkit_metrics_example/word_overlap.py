"""Word overlap: a metric that scores one example, of which evalkit takes the mean."""

from __future__ import annotations

import re

import evalkit


class WordOverlap(evalkit.Metric):
    """Words that two texts share, as a share of the words that either has.

    It is the Jaccard index (Jaccard 1912) of the two sets of words, in lower case and
    without punctuation; with several acceptable answers, that of the nearest. Two
    texts without words overlap wholly. Range 0 to 1, higher is better.
    """

    unit = "%"
    bounds = (0.0, 1.0)
    higher_is_better = True
    scale = 100.0
    answer_kinds = ("one", "any-of")
    interval = "t"
    worst_value = 0.0

    def score_example(self, prediction: str, target: str | list[str]) -> float:
        """Score one example."""
        accepted = target if isinstance(target, list) else [target]
        return max((overlap(prediction, text) for text in accepted), default=0.0)


def overlap(text: str, other: str) -> float:
    """Compare two texts.

    Args:
        text: One text.
        other: Another text.

    Returns:
        The Jaccard index of their words.
    """
    words, other_words = _words(text), _words(other)
    either = words | other_words
    return len(words & other_words) / len(either) if either else 1.0


def _words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.lower()))
