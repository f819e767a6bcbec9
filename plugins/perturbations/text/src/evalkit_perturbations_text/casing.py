"""Upper and lower case."""

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

_CAPITALS = re.compile(r"[A-Z]+")
_TOKEN = re.compile(r"\S+")


class Lowercase(TextPerturbation):
    """Turns all letters into lower case, as `str.lower` does.

    Deterministic. The answer to a question stays, since capitals are not compared.
    """

    label_effect = UNCHANGED_ANSWER

    def edits_of(self, text: str, rng: Random) -> list[Edit]:
        """Find the capitals; runs of them are one edit."""
        if text.isascii():
            return [
                Edit(match.start(), match.end(), match[0].lower())
                for match in _CAPITALS.finditer(text)
            ]
        # the lower case of a sigma depends on the letters around it
        return [
            edit
            for match in _TOKEN.finditer(text)
            for edit in _differences(match[0], match[0].lower(), match.start())
        ]


def _differences(old: str, new: str, start: int) -> list[Edit]:
    if old == new:
        return []
    if len(old) != len(new):
        return [Edit(start, start + len(old), new)]
    edits = []
    first = None
    for place, (before, after) in enumerate(zip(old, new, strict=True)):
        if before != after:
            first = place if first is None else first
        elif first is not None:
            edits.append(Edit(start + first, start + place, new[first:place]))
            first = None
    if first is not None:
        edits.append(Edit(start + first, start + len(old), new[first:]))
    return edits


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
