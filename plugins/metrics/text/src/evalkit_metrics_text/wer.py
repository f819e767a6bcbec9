"""Word error rate."""

from __future__ import annotations

import re
from collections.abc import Sequence

from evalkit_metrics_text.error_rate import ErrorRate


class WordErrorRate(ErrorRate):
    """Word error rate: edits of words / words of the answers, over the whole set.

    Edits are the fewest insertions, deletions and substitutions of words that make the
    prediction the answer; they and the words of the answers are added up before they
    are divided, so that a long text counts more than a short one. Above 1 where more
    words are wrong or added than the answers have. Words stand between spaces or two
    blanks of any kind, and are compared as they are: `lowercase=true` ignores capitals,
    `punctuation=false` deletes punctuation. Of several acceptable answers the one with
    the lowest rate counts. A missing prediction that counts has all words of the
    longest answer deleted. Null where the answers have no words. Range 0 to infinity,
    in %, lower is better; the delta method's interval of the logarithm.

    Source: Woodard and Nelson, An Information Theoretic Measure of Speech Recognition
    Performance, 1982; jiwer's `wer`.

    Example:
        >>> import evalkit
        >>> said, gold = ["the cat sat", "yes"], ["a cat sat", "yes"]
        >>> evalkit.score("wer", said, gold)["wer"].value
        0.25
    """

    parts = "words"

    def parts_of(self, text: str) -> Sequence[str]:
        """Return the words, as jiwer splits them: one tab is part of a word."""
        spaced = re.sub(r"\s\s+", " ", text).strip()
        return [word for word in spaced.split(" ") if word]
