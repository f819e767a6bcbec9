"""Code points of no width inside words."""

from __future__ import annotations

from random import Random

from evalkit import Edit
from evalkit_perturbations_text.text_perturbations import RandomPerturbation
from evalkit_perturbations_text.words import long_words

_WORD = long_words(2)

CODE_POINTS = "\u200b\u200c\u200d\u2060\ufeff"
"""Space, non-joiner, joiner, word joiner and no-break space, all of no width."""


class ZeroWidth(RandomPerturbation):
    """Puts a code point of no width between two letters of a word.

    A place is a word of two letters or more; mild changes .1 of them, medium .3, hard
    .6. A reader sees no difference.
    """

    strengths = {"mild": 0.1, "medium": 0.3, "hard": 0.6}

    def edits_of(self, text: str, rng: Random) -> list[Edit]:
        """Insert one code point into some words."""
        edits = []
        for word in _WORD.finditer(text):
            if rng.random() < self.prob:
                place = rng.randrange(word.start() + 1, word.end())
                edits.append(Edit(place, place, rng.choice(CODE_POINTS)))
        return edits
