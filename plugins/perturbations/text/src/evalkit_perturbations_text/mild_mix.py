"""Several mild changes at once."""

from __future__ import annotations

from random import Random
from typing import ClassVar

from pydantic import BaseModel

from evalkit import Edit
from evalkit_commands_perturb import apply_edits, checked_edits, compose
from evalkit_perturbations_text.casing import Lowercase
from evalkit_perturbations_text.text_perturbations import (
    RandomPerturbation,
    StrengthParameters,
    TextPerturbation,
)
from evalkit_perturbations_text.typos import Misspellings, RandomSpace
from evalkit_perturbations_text.wording.contractions import Contractions


class MildMix(RandomPerturbation):
    """Lower case, contractions, misspellings and random blanks, one after the other.

    HELM's mixture with its numbers. `prob` is the share of misspelled words, mild .05,
    medium .1 (HELM's), hard .3; all runs of blanks get 1 to 3.
    """

    strengths = {"mild": 0.05, "medium": 0.1, "hard": 0.3}

    Parameters: ClassVar[type[BaseModel]] = StrengthParameters

    def __init__(self, parameters: BaseModel | None = None) -> None:
        super().__init__(parameters)
        self.steps: tuple[TextPerturbation, ...] = (
            Lowercase(),
            Contractions(),
            Misspellings(Misspellings.Parameters(prob=self.prob)),
            RandomSpace(RandomSpace.Parameters(prob=2 / 3)),
        )

    def edits_of(self, text: str, rng: Random) -> list[Edit]:
        """Join the edits of all steps."""
        edits: list[Edit] = []
        changed = text
        for step in self.steps:
            following = checked_edits(changed, step.edits_of(changed, rng))
            if following:
                edits = compose(text, edits, following) if edits else following
                changed = apply_edits(text, edits)
        return edits
