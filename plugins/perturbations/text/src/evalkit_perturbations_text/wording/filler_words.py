"""Words of hesitation between the others."""

from __future__ import annotations

from random import Random
from typing import ClassVar

from pydantic import BaseModel

from evalkit import Edit
from evalkit_perturbations_text.text_perturbations import (
    UNCHANGED_LABEL,
    RandomPerturbation,
    StrengthParameters,
)
from evalkit_perturbations_text.words import find_gaps

FILLERS = ("uh", "um", "uhm", "er", "hmm", "ah", "well", "you know")
"""What says nothing."""

HEDGES = (
    "maybe",
    "perhaps",
    "probably",
    "possibly",
    "I think",
    "I guess",
    "I believe",
    "I suppose",
)
"""What makes a statement less certain."""


class FillerWordsParameters(StrengthParameters):
    """How much is inserted, and what."""

    hedges: bool = False
    """Whether also words that make a statement less certain."""


class FillerWords(RandomPerturbation):
    """Puts words of hesitation between others.

    A place is a single blank between two words; mild changes .1 of them, medium .2,
    hard .4 (HELM has .1 and .3). With hedges (`maybe`, `I think`) what follows from the
    text may change: the answer is then uncertain for `nli`.
    """

    Parameters: ClassVar[type[BaseModel]] = FillerWordsParameters
    strengths = {"mild": 0.1, "medium": 0.2, "hard": 0.4}

    def __init__(self, parameters: BaseModel | None = None) -> None:
        super().__init__(parameters)
        chosen = self.parameters
        assert isinstance(chosen, FillerWordsParameters)
        self.words = FILLERS + HEDGES if chosen.hedges else FILLERS
        if chosen.hedges:
            vars(self)["label_effect"] = {**UNCHANGED_LABEL, "nli": "uncertain"}

    def edits_of(self, text: str, rng: Random) -> list[Edit]:
        """Insert into some gaps."""
        return [
            Edit(place, place, f" {rng.choice(self.words)}")
            for place in find_gaps(text)
            if rng.random() < self.prob
        ]
