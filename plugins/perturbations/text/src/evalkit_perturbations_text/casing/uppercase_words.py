"""Some words in capitals."""

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

_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")


class UppercaseWordsParameters(Parameters):
    """Which words are changed."""

    every: Annotated[int, Field(ge=1)] = 3
    """Every so many words, from the first; 1 for all."""


class UppercaseWords(TextPerturbation):
    """Writes every third word in capitals, the first one first.

    Deterministic. The default is Dynabench's cadence of 3.
    """

    Parameters: ClassVar[type[BaseModel]] = UppercaseWordsParameters
    label_effect = UNCHANGED_ANSWER

    def __init__(self, parameters: BaseModel | None = None) -> None:
        super().__init__(parameters)
        chosen = self.parameters
        assert isinstance(chosen, UppercaseWordsParameters)
        self.every = chosen.every

    def edits_of(self, text: str, rng: Random) -> list[Edit]:
        """Find the words; those that are in capitals already count and stay."""
        words = list(_WORD.finditer(text))[:: self.every]
        return [
            Edit(word.start(), word.end(), word[0].upper())
            for word in words
            if word[0].upper() != word[0]
        ]
