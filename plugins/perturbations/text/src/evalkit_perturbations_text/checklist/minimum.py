"""CheckList's test of minimum functionality."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random
from typing import Any, ClassVar

from evalkit import Perturbation
from evalkit_perturbations_text.checklist.invariance import Outcome
from evalkit_perturbations_text.text_perturbations import Effect

_Case = tuple[tuple[str, ...], str]

CASES: Mapping[str, tuple[_Case, ...]] = {
    "sentiment": (
        (("I love this place.",), "positive"),
        (("The food was excellent.",), "positive"),
        (("What a wonderful film!",), "positive"),
        (("I hate this place.",), "negative"),
        (("The food was terrible.",), "negative"),
        (("What a horrible film!",), "negative"),
        (("The shop is on the left side of the street.",), "neutral"),
        (("The film lasts two hours.",), "neutral"),
    ),
    "nli": (
        (("A dog is running in the park.", "An animal is running."), "entailed"),
        (("Anna bought a red car.", "Anna bought a car."), "entailed"),
        (("The door is open.", "The door is not open."), "contradictory"),
        (("All of the lamps are on.", "None of the lamps is on."), "contradictory"),
        (("Anna bought a car.", "Anna bought a red car."), "neutral"),
        (("A man is waiting.", "A man is waiting for his sister."), "neutral"),
    ),
}
"""For each task the texts of its fields, in order, and the right label."""

_ANSWER_FIELDS = ("label", "answer")


class ChecklistMinimum(Perturbation):
    """Puts a short case with a known label in an example's place.

    A minimum functionality test of CheckList (Ribeiro et al. 2020), for the tasks
    `sentiment` and `nli`; others have no copies. The prediction is compared with the
    case's label, and not with the one for the original.
    """

    families: ClassVar[frozenset[str]] = frozenset({"checklist"})
    version: ClassVar[str] = "1"
    protects: ClassVar[bool] = False
    label_effect: ClassVar[Mapping[str, Effect]] = {"*": "transforms"}

    def perturb_example(
        self, rng: Random, fields: Sequence[str], answer_field: str | None, task: str
    ) -> Mapping[str, Any] | None:
        """Draw a case; None where the fields are not those of the task's cases."""
        cases = [case for case in CASES.get(task, ()) if len(case[0]) == len(fields)]
        if not cases or answer_field is None:
            return None
        texts, label = rng.choice(cases)
        return {**dict(zip(fields, texts, strict=True)), answer_field: label}

    def expect(self, perturbed: Mapping[str, Any], perturbed_pred: Any) -> Outcome:
        """Compare the prediction with the label of the case."""
        for field in _ANSWER_FIELDS:
            if field in perturbed and perturbed_pred is not None:
                return "pass" if perturbed[field] == perturbed_pred else "fail"
        return "not applicable"
