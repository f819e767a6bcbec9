"""Words turned upside down."""

from __future__ import annotations

from random import Random

from evalkit import Edit
from evalkit_perturbations_text.text_perturbations import RandomPerturbation
from evalkit_perturbations_text.words import long_words

_WORD = long_words(2)

_TURNED = str.maketrans(
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ",
    "ɐqɔpǝɟƃɥᴉɾʞlɯuodbɹsʇnʌʍxʎz∀ᗺƆᗡƎℲ⅁HIſʞ˥WNOԀΌᴚS⊥∩ΛMX⅄Z",
)


class UpsideDown(RandomPerturbation):
    """Writes words from right to left in letters that look turned around.

    A place is a word of two letters or more that does not stay the same; mild changes
    .1 of them, medium .3 (Dynabench's number), hard .6.
    """

    strengths = {"mild": 0.1, "medium": 0.3, "hard": 0.6}

    def edits_of(self, text: str, rng: Random) -> list[Edit]:
        """Turn some words."""
        edits = []
        for word in _WORD.finditer(text):
            if rng.random() < self.prob:
                turned = word[0].translate(_TURNED)[::-1]
                if turned != word[0]:
                    edits.append(Edit(word.start(), word.end(), turned))
        return edits
