"""CheckList's test of direction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random
from typing import Any, ClassVar

from evalkit import Edit, Perturbation
from evalkit_perturbations_text.checklist.invariance import Outcome
from evalkit_perturbations_text.text_perturbations import Effect

SENTENCES = (
    "I did not like it.",
    "It was a disappointment.",
    "I would not recommend it.",
    "I regret it.",
    "It was awful.",
)
"""Negative statements that go with most texts."""

_RANKS = {"negative": 0, "neutral": 1, "positive": 2}

_ENDS = (".", "!", "?", "…")


class ChecklistDirection(Perturbation):
    """Appends a negative sentence, and expects no more positive prediction.

    A directional expectation test of CheckList (Ribeiro et al. 2020), for task
    `sentiment` and for data without a task; others have no copies. The sentence is
    appended to the first text. What the right label is then is uncertain, but not that
    it is no better than before.
    """

    families: ClassVar[frozenset[str]] = frozenset({"checklist"})
    version: ClassVar[str] = "1"
    label_effect: ClassVar[Mapping[str, Effect]] = {"*": "uncertain"}

    def find_edits(
        self, texts: Sequence[str], rng: Random, task: str
    ) -> list[list[Edit]]:
        """Append a drawn sentence to the first text."""
        edits: list[list[Edit]] = [[] for _ in texts]
        if task in ("sentiment", "") and texts and texts[0].strip():
            stripped = texts[0].rstrip()
            stop = "" if stripped.endswith(_ENDS) else "."
            new = f"{stop} {rng.choice(SENTENCES)}"
            edits[0] = [Edit(len(stripped), len(stripped), new)]
        return edits

    def expect(self, original_pred: Any, perturbed_pred: Any) -> Outcome:
        """Compare the two labels; `not applicable` where they are no sentiments."""
        before, after = _rank(original_pred), _rank(perturbed_pred)
        if before is None or after is None:
            return "not applicable"
        return "pass" if after <= before else "fail"


def _rank(label: Any) -> int | None:
    return _RANKS.get(label) if isinstance(label, str) else None
