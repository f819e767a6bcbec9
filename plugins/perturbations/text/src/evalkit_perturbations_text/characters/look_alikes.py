"""Letters of other scripts that look the same."""

from __future__ import annotations

import re
from random import Random
from typing import ClassVar

from pydantic import BaseModel

from evalkit import Edit
from evalkit_perturbations_text.text_perturbations import (
    RandomPerturbation,
    Share,
    StrengthParameters,
)
from evalkit_perturbations_text.words import long_words

_WORD = long_words(2)

LOOK_ALIKES = {
    "a": "а",
    "c": "сϲ",
    "e": "е",
    "h": "һ",
    "i": "і",
    "j": "ј",
    "o": "оο",
    "p": "рρ",
    "s": "ѕ",
    "v": "ν",
    "x": "х",
    "y": "у",
    "A": "АΑ",
    "B": "ВΒ",
    "C": "СϹ",
    "E": "ЕΕ",
    "H": "НΗ",
    "I": "ІΙ",
    "J": "Ј",
    "K": "КΚ",
    "M": "МΜ",
    "N": "Ν",
    "O": "ОΟ",
    "P": "РΡ",
    "S": "Ѕ",
    "T": "ТΤ",
    "X": "ХΧ",
    "Y": "ҮΥ",
    "Z": "Ζ",
}
"""Cyrillic and Greek letters by the Latin one that they are confused with, as the
Unicode Consortium's table of confusable characters (UTS 39) has them."""

_LETTER = re.compile(f"[{''.join(LOOK_ALIKES)}]")


class LookAlikesParameters(StrengthParameters):
    """How many words are changed, and how much of each."""

    letters: Share = 0.3
    """The share of the letters of a chosen word, 0 to 1; at least one is changed."""


class LookAlikes(RandomPerturbation):
    """Writes letters of words as Cyrillic or Greek ones that look the same.

    A place is a word of two letters or more of which one has a look-alike; mild changes
    .1 of them, medium .3, hard .6, and of each .3 of its letters. Dynabench's numbers
    are .3 and .3.
    """

    Parameters: ClassVar[type[BaseModel]] = LookAlikesParameters
    strengths = {"mild": 0.1, "medium": 0.3, "hard": 0.6}

    def __init__(self, parameters: BaseModel | None = None) -> None:
        super().__init__(parameters)
        chosen = self.parameters
        assert isinstance(chosen, LookAlikesParameters)
        self.letters = chosen.letters

    def edits_of(self, text: str, rng: Random) -> list[Edit]:
        """Replace letters of some words."""
        edits: list[Edit] = []
        for word in _WORD.finditer(text):
            if rng.random() < self.prob:
                places = [
                    match.start()
                    for match in _LETTER.finditer(text, word.start(), word.end())
                ]
                edits += [
                    Edit(place, place + 1, rng.choice(LOOK_ALIKES[text[place]]))
                    for place in self._chosen(places, rng)
                ]
        return edits

    def _chosen(self, places: list[int], rng: Random) -> list[int]:
        chosen = [place for place in places if rng.random() < self.letters]
        return chosen or ([rng.choice(places)] if places else [])
