"""Slips of keys, spaces, spelling and scanning."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files
from random import Random
from typing import Annotated, ClassVar

from pydantic import BaseModel, Field

from evalkit import Edit, Parameters
from evalkit_perturbations_text.text_perturbations import (
    LETTERS,
    UNCHANGED_ANSWER,
    WORD,
    RandomPerturbation,
    StrengthParameters,
    TextPerturbation,
    find_gaps,
    long_words,
    with_case_of,
)

_BLANKS = re.compile(" +")


class ExtraSpaceParameters(Parameters):
    """How many blanks there are then."""

    times: Annotated[int, Field(ge=2, le=100)] = 2
    """For each blank so many."""


class ExtraSpace(TextPerturbation):
    """Writes each blank (U+0020) several times.

    Each run of blanks gets `times` its length, 2 by default (HELM's `extra_space`).
    Deterministic; other white space stays, and so does the answer.
    """

    Parameters: ClassVar[type[BaseModel]] = ExtraSpaceParameters
    label_effect = UNCHANGED_ANSWER

    def __init__(self, parameters: BaseModel | None = None) -> None:
        super().__init__(parameters)
        chosen = self.parameters
        assert isinstance(chosen, ExtraSpaceParameters)
        self.more = chosen.times - 1

    def edits_of(self, text: str, rng: Random) -> list[Edit]:
        """Insert before each run of blanks what it lacks."""
        return [
            Edit(run.start(), run.start(), " " * (self.more * len(run[0])))
            for run in _BLANKS.finditer(text)
        ]


class RandomSpaceParameters(StrengthParameters):
    """How much is changed, and into what."""

    most: Annotated[int, Field(ge=2, le=100)] = 3
    """The most blanks in one place."""


class RandomSpace(RandomPerturbation):
    """Gives runs of blanks another length, drawn from 1 to the most.

    A place is a run of blanks (U+0020); mild changes .3 of them, medium .6, hard all.
    The length that it has is not drawn.
    """

    Parameters: ClassVar[type[BaseModel]] = RandomSpaceParameters
    strengths = {"mild": 0.3, "medium": 0.6, "hard": 1.0}
    label_effect = UNCHANGED_ANSWER

    def __init__(self, parameters: BaseModel | None = None) -> None:
        super().__init__(parameters)
        chosen = self.parameters
        assert isinstance(chosen, RandomSpaceParameters)
        self.most = chosen.most

    def edits_of(self, text: str, rng: Random) -> list[Edit]:
        """Draw new lengths for runs of blanks."""
        edits = []
        for run in _BLANKS.finditer(text):
            if rng.random() < self.prob:
                length = self._other_length(len(run[0]), rng)
                edits.append(Edit(run.start(), run.end(), " " * length))
        return edits

    def _other_length(self, length: int, rng: Random) -> int:
        if length > self.most:
            return rng.randint(1, self.most)
        drawn = rng.randint(1, self.most - 1)
        return drawn + (drawn >= length)


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


_SHORT_WORD = long_words(3)

_SLIPS = (
    "rn:m m:rn cl:d d:cl vv:w w:vv li:h ri:n nn:rm ii:u in:m tt:ft h:b b:h e:c "
    "c:e i:l l:i f:t I:l O:Q E:F B:R"
)
SLIPS = dict(pair.split(":") for pair in _SLIPS.split(" "))
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
        for word in _SHORT_WORD.finditer(text):
            if rng.random() < self.prob:
                slips = list(_SLIP.finditer(text, word.start(), word.end()))
                if slips:
                    slip = rng.choice(slips)
                    edits.append(Edit(slip.start(), slip.end(), SLIPS[slip[0]]))
        return edits


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
