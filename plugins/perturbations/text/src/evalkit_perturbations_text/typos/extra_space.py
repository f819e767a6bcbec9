"""More blanks wherever there is one."""

from __future__ import annotations

import re
from random import Random
from typing import Annotated, ClassVar

from pydantic import BaseModel, Field

from evalkit import Edit, Parameters
from evalkit_perturbations_text.text_perturbations import (
    UNCHANGED_ANSWER,
    TextPerturbation,
)

_BLANKS = re.compile(" +")


class ExtraSpaceParameters(Parameters):
    """How many blanks there are then."""

    times: Annotated[int, Field(ge=2, le=100)] = 2
    """For each blank so many."""


class ExtraSpace(TextPerturbation):
    """Writes each blank (U+0020) several times.

    Each run of blanks gets `times` its length, 2 by default (HELM's `extra_space`).
    Deterministic; other white space stays, and so does the answer.
    """

    Parameters: ClassVar[type[BaseModel]] = ExtraSpaceParameters
    label_effect = UNCHANGED_ANSWER

    def __init__(self, parameters: BaseModel | None = None) -> None:
        super().__init__(parameters)
        chosen = self.parameters
        assert isinstance(chosen, ExtraSpaceParameters)
        self.more = chosen.times - 1

    def edits_of(self, text: str, rng: Random) -> list[Edit]:
        """Insert before each run of blanks what it lacks."""
        return [
            Edit(run.start(), run.start(), " " * (self.more * len(run[0])))
            for run in _BLANKS.finditer(text)
        ]
