"""Another number of blanks in some places."""

from __future__ import annotations

import re
from random import Random
from typing import Annotated, ClassVar

from pydantic import BaseModel, Field

from evalkit import Edit
from evalkit_perturbations_text.text_perturbations import (
    UNCHANGED_ANSWER,
    RandomPerturbation,
    StrengthParameters,
)

_BLANKS = re.compile(" +")


class RandomSpaceParameters(StrengthParameters):
    """How much is changed, and into what."""

    most: Annotated[int, Field(ge=2, le=100)] = 3
    """The most blanks in one place."""


class RandomSpace(RandomPerturbation):
    """Gives runs of blanks another length, drawn from 1 to the most.

    A place is a run of blanks (U+0020); mild changes .3 of them, medium .6, hard all.
    The length that it has is not drawn.
    """

    Parameters: ClassVar[type[BaseModel]] = RandomSpaceParameters
    strengths = {"mild": 0.3, "medium": 0.6, "hard": 1.0}
    label_effect = UNCHANGED_ANSWER

    def __init__(self, parameters: BaseModel | None = None) -> None:
        super().__init__(parameters)
        chosen = self.parameters
        assert isinstance(chosen, RandomSpaceParameters)
        self.most = chosen.most

    def edits_of(self, text: str, rng: Random) -> list[Edit]:
        """Draw new lengths for runs of blanks."""
        edits = []
        for run in _BLANKS.finditer(text):
            if rng.random() < self.prob:
                length = self._other_length(len(run[0]), rng)
                edits.append(Edit(run.start(), run.end(), " " * length))
        return edits

    def _other_length(self, length: int, rng: Random) -> int:
        if length > self.most:
            return rng.randint(1, self.most)
        drawn = rng.randint(1, self.most - 1)
        return drawn + (drawn >= length)
