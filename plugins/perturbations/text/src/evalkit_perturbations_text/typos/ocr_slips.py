"""Letters as a scanner misreads them."""

from __future__ import annotations

import re
from random import Random

from evalkit import Edit
from evalkit_perturbations_text.text_perturbations import RandomPerturbation
from evalkit_perturbations_text.words import long_words

_WORD = long_words(3)

SLIPS = {
    "rn": "m",
    "m": "rn",
    "cl": "d",
    "d": "cl",
    "vv": "w",
    "w": "vv",
    "li": "h",
    "ri": "n",
    "nn": "rm",
    "ii": "u",
    "in": "m",
    "tt": "ft",
    "h": "b",
    "b": "h",
    "e": "c",
    "c": "e",
    "i": "l",
    "l": "i",
    "f": "t",
    "I": "l",
    "O": "Q",
    "E": "F",
    "B": "R",
}
"""What is read for what. No letter becomes a digit: `l` read as `1` could make a number
where there was none."""

_SLIP = re.compile("|".join(sorted(SLIPS, key=lambda old: (-len(old), old))))


class OcrSlips(RandomPerturbation):
    """Replaces one letter, or two, of words by what a scanner takes them for.

    A place is a word of three letters or more that can be misread; mild changes .05 of
    them, medium .2 (the number of Dynabench's textflint), hard .5.
    """

    strengths = {"mild": 0.05, "medium": 0.2, "hard": 0.5}

    def edits_of(self, text: str, rng: Random) -> list[Edit]:
        """Misread a place of some words."""
        edits = []
        for word in _WORD.finditer(text):
            if rng.random() < self.prob:
                slips = list(_SLIP.finditer(text, word.start(), word.end()))
                if slips:
                    slip = rng.choice(slips)
                    edits.append(Edit(slip.start(), slip.end(), SLIPS[slip[0]]))
        return edits
