"""How few edits make a prediction the answer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from evalkit import Parameters
from evalkit_metrics_text.comparison import ComparisonMetric


class EditParameters(Parameters):
    """What is edited."""

    tokens: Literal["characters", "blanks"] = "characters"
    """`characters` (Unicode code points), or what stands between `blanks`."""


class EditSimilarity(ComparisonMetric[Sequence[str]]):
    """Mean similarity of prediction and answer by Levenshtein's distance.

    Per example 1 - edits / the greater length, and then the mean. Edits are insertions,
    deletions and substitutions of characters, or with `tokens=blanks` of what stands
    between blanks; nothing is normalised. Of several acceptable answers the most
    similar counts. Two empty texts score 1; a missing prediction that counts is 0.
    Range 0 to 1, in %, higher is better; Student's interval.

    Source: Levenshtein, Binary Codes Capable of Correcting Deletions, Insertions, and
    Reversals, 1966; rapidfuzz's `Levenshtein.normalized_similarity`, and HELM's
    `edit_similarity` of tokens.

    Example:
        >>> import evalkit
        >>> found = evalkit.score("edit-similarity", ["kitten"], ["sitting"])
        >>> round(found["edit-similarity"].value, 4)
        0.5714
    """

    Parameters = EditParameters
    interval = "t"

    def __init__(self, parameters: EditParameters | None = None) -> None:
        super().__init__(parameters)
        self._by_words = (parameters or EditParameters()).tokens == "blanks"

    def form_of(self, text: str) -> Sequence[str]:
        """Return what is edited."""
        return text.split() if self._by_words else text

    def compare(self, prediction: Sequence[str], answer: Sequence[str]) -> float:
        """Return 1 - edits / the greater length."""
        from rapidfuzz.distance import Levenshtein

        longest = max(len(prediction), len(answer))
        edits = Levenshtein.distance(prediction, answer)
        return 1 - edits / longest if longest else 1.0
