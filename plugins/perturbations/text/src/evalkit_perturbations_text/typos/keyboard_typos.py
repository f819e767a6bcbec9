"""Letters hit beside the right key."""

from __future__ import annotations

from random import Random

from evalkit import Edit
from evalkit_perturbations_text.text_perturbations import RandomPerturbation
from evalkit_perturbations_text.words import WORD

_ROWS = ("qwertyuiop", "asdfghjkl", "zxcvbnm")
_SHIFTS = (0.0, 0.25, 0.75)
"""How far a row stands to the right of the top one, in keys."""


def _neighbours() -> dict[str, str]:
    places = {
        letter: (column + shift, line)
        for line, (row, shift) in enumerate(zip(_ROWS, _SHIFTS, strict=True))
        for column, letter in enumerate(row)
    }
    near = {
        letter: "".join(
            other
            for other, (x, y) in places.items()
            if other != letter and abs(x - across) <= 1 and abs(y - down) <= 1
        )
        for letter, (across, down) in places.items()
    }
    return near | {k.upper(): v.upper() for k, v in near.items()}


NEIGHBOURS = _neighbours()
"""The letters whose keys touch that of a letter on a QWERTY keyboard."""


class KeyboardTypos(RandomPerturbation):
    """Replaces letters by one whose key is beside theirs (QWERTY).

    A place is a letter of a word of two letters or more; mild changes .01 of them,
    medium .1, hard .3. Capitals stay capitals.
    """

    strengths = {"mild": 0.01, "medium": 0.1, "hard": 0.3}

    def edits_of(self, text: str, rng: Random) -> list[Edit]:
        """Replace some letters."""
        edits = []
        prob = self.prob
        for word in WORD.finditer(text):
            start, end = word.span()
            if end - start == 1:
                continue
            for place in range(start, end):
                if rng.random() < prob and text[place] in NEIGHBOURS:
                    new = rng.choice(NEIGHBOURS[text[place]])
                    edits.append(Edit(place, place + 1, new))
        return edits
