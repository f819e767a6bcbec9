"""Signs after words where none belongs."""

from __future__ import annotations

from random import Random

from evalkit import Edit
from evalkit_perturbations_text.text_perturbations import (
    UNCHANGED_ANSWER,
    RandomPerturbation,
)
from evalkit_perturbations_text.words import WORD

_SIGNS = (".", "?", "!", ",", ";", ":", "-", "...")


class Punctuation(RandomPerturbation):
    """Puts a sign after words that a blank or the end of the text follows.

    Mild changes .05 of these places, medium .2, hard .5. The signs are Dynabench's but
    for the apostrophe. Nothing is put into or beside a number or an abbreviation.
    """

    strengths = {"mild": 0.05, "medium": 0.2, "hard": 0.5}
    label_effect = UNCHANGED_ANSWER

    def edits_of(self, text: str, rng: Random) -> list[Edit]:
        """Insert a drawn sign after some words."""
        edits = []
        size = len(text)
        for word in WORD.finditer(text):
            end = word.end()
            free = end == size or text[end].isspace()
            if free and rng.random() < self.prob:
                edits.append(Edit(end, end, rng.choice(_SIGNS)))
        return edits
