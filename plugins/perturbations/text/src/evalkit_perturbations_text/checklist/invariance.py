"""CheckList's test of invariance."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from evalkit_perturbations_text.typos.character_swaps import CharacterSwaps

Outcome = Literal["pass", "fail", "not applicable"]


class SamePrediction:
    """Expects that a prediction stays; for perturbations that leave the answer."""

    def expect(self, original_pred: Any, perturbed_pred: Any) -> Outcome:
        """Compare the two predictions; `not applicable` where one is missing."""
        if original_pred is None or perturbed_pred is None:
            return "not applicable"
        return "pass" if original_pred == perturbed_pred else "fail"


class ChecklistInvariance(SamePrediction, CharacterSwaps):
    """Swaps letters inside a few words, and expects the same prediction.

    An invariance test of Ribeiro et al.: Beyond Accuracy: Behavioral Testing of NLP
    Models with CheckList. 2020. It changes what `character-swaps` changes; mild .05 of
    the places, medium .1, hard .2.
    """

    families: ClassVar[frozenset[str]] = frozenset({"checklist"})
    strengths = {"mild": 0.05, "medium": 0.1, "hard": 0.2}
