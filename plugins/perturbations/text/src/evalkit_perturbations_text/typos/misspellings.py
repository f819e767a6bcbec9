"""Words as people misspell them."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files
from random import Random

from evalkit import Edit
from evalkit_perturbations_text.letter_case import with_case_of
from evalkit_perturbations_text.text_perturbations import RandomPerturbation
from evalkit_perturbations_text.words import LETTERS

_RUN = re.compile("[A-Za-z]{2,}")


@cache
def read_misspellings() -> dict[str, str]:
    """Read the list that comes with this package, once a process."""
    path = files("evalkit_perturbations_text") / "data/misspellings-CC-BY-SA-3.0.tsv"
    lines = path.read_text(encoding="utf-8").splitlines()
    return dict(line.split("\t") for line in lines)


class Misspellings(RandomPerturbation):
    """Replaces words by one of their common misspellings.

    A place is a word of the list, which has 13 053 words with up to five misspellings
    each, from the dictionary of codespell; mild changes .05 of them, medium .2, hard
    .5, HELM's numbers. The first letter stays; in words of up to four letters two
    letters are swapped, or one is doubled or undoubled (`teh`, `adn`). Capitals are
    kept, also of words in capitals.
    """

    strengths = {"mild": 0.05, "medium": 0.2, "hard": 0.5}

    def edits_of(self, text: str, rng: Random) -> list[Edit]:
        """Replace some words of the list."""
        known = read_misspellings()
        prob = self.prob
        edits = []
        for run in _RUN.finditer(text):
            letters = run[0]
            found = known.get(letters.lower())
            if found is None or rng.random() >= prob:
                continue
            start, end = run.span()
            # looked at last, since it takes the most time
            word = LETTERS.match(text, start)
            if word is not None and word.end() == end:
                choices = found.split()
                new = choices[int(rng.random() * len(choices))]
                edits.append(Edit(start, end, with_case_of(letters, new)))
        return edits
