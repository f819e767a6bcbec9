"""Words with a blank inside them."""

from __future__ import annotations

from random import Random

from evalkit import Edit
from evalkit_perturbations_text.text_perturbations import RandomPerturbation
from evalkit_perturbations_text.words import long_words

_WORD = long_words(4)


class SplitWords(RandomPerturbation):
    """Puts a blank into words.

    A place is a word of four letters or more without apostrophe; mild changes .1 of
    them, medium .3 (Dynabench's number), hard .5.
    """

    strengths = {"mild": 0.1, "medium": 0.3, "hard": 0.5}

    def edits_of(self, text: str, rng: Random) -> list[Edit]:
        """Split some words."""
        edits = []
        for word in _WORD.finditer(text):
            if rng.random() < self.prob:
                place = rng.randrange(word.start() + 1, word.end())
                edits.append(Edit(place, place, " "))
        return edits
