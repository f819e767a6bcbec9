"""Words without the blank between them."""

from __future__ import annotations

from random import Random

from evalkit import Edit
from evalkit_perturbations_text.text_perturbations import RandomPerturbation
from evalkit_perturbations_text.words import find_gaps


class MergeWords(RandomPerturbation):
    """Drops blanks between two words.

    A place is a single blank between two words of plain letters; mild changes .05 of
    them, medium .1, hard .3.
    """

    strengths = {"mild": 0.05, "medium": 0.1, "hard": 0.3}

    def edits_of(self, text: str, rng: Random) -> list[Edit]:
        """Drop some blanks."""
        return [
            Edit(place, place + 1, "")
            for place in find_gaps(text)
            if rng.random() < self.prob
        ]
