"""Two neighbouring letters in the wrong order."""

from __future__ import annotations

from random import Random

from evalkit import Edit
from evalkit_perturbations_text.text_perturbations import RandomPerturbation
from evalkit_perturbations_text.words import long_words

_WORD = long_words(4)


class CharacterSwaps(RandomPerturbation):
    """Swaps two neighbouring inner letters of words.

    A place is a word of four letters or more with two different inner letters beside
    each other; mild changes .1 of them, medium .3 (Dynabench's number), hard .5. The
    first and last letter stay.
    """

    strengths = {"mild": 0.1, "medium": 0.3, "hard": 0.5}

    def edits_of(self, text: str, rng: Random) -> list[Edit]:
        """Swap two letters of some words."""
        edits = []
        for word in _WORD.finditer(text):
            if rng.random() < self.prob:
                places = [
                    place
                    for place in range(word.start() + 1, word.end() - 2)
                    if text[place] != text[place + 1]
                ]
                if places:
                    place = rng.choice(places)
                    swapped = text[place + 1] + text[place]
                    edits.append(Edit(place, place + 2, swapped))
        return edits
