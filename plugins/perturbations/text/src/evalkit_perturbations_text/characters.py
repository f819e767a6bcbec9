"""Characters that look alike, or that cannot be seen."""

from __future__ import annotations

import re
from random import Random
from typing import ClassVar, Literal

from pydantic import BaseModel

from evalkit import Edit
from evalkit_perturbations_text.text_perturbations import (
    LETTERS,
    RandomPerturbation,
    Share,
    StrengthParameters,
    long_words,
)

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


LOOK_ALIKES = {
    "a": "а",
    "c": "сϲ",
    "e": "е",
    "h": "һ",
    "i": "і",
    "j": "ј",
    "o": "оο",
    "p": "рρ",
    "s": "ѕ",
    "v": "ν",
    "x": "х",
    "y": "у",
    "A": "АΑ",
    "B": "ВΒ",
    "C": "СϹ",
    "E": "ЕΕ",
    "H": "НΗ",
    "I": "ІΙ",
    "J": "Ј",
    "K": "КΚ",
    "M": "МΜ",
    "N": "Ν",
    "O": "ОΟ",
    "P": "РΡ",
    "S": "Ѕ",
    "T": "ТΤ",
    "X": "ХΧ",
    "Y": "ҮΥ",
    "Z": "Ζ",
}
"""Cyrillic and Greek letters by the Latin one that they are confused with, as the
Unicode Consortium's table of confusable characters (UTS 39) has them."""

_LETTER = re.compile(f"[{''.join(LOOK_ALIKES)}]")


class LookAlikesParameters(StrengthParameters):
    """How many words are changed, and how much of each."""

    letters: Share = 0.3
    """The share of the letters of a chosen word, 0 to 1; at least one is changed."""


class LookAlikes(RandomPerturbation):
    """Writes letters of words as Cyrillic or Greek ones that look the same.

    A place is a word of two letters or more of which one has a look-alike; mild changes
    .1 of them, medium .3, hard .6, and of each .3 of its letters. Dynabench's numbers
    are .3 and .3.
    """

    Parameters: ClassVar[type[BaseModel]] = LookAlikesParameters
    strengths = {"mild": 0.1, "medium": 0.3, "hard": 0.6}

    def __init__(self, parameters: BaseModel | None = None) -> None:
        super().__init__(parameters)
        chosen = self.parameters
        assert isinstance(chosen, LookAlikesParameters)
        self.letters = chosen.letters

    def edits_of(self, text: str, rng: Random) -> list[Edit]:
        """Replace letters of some words."""
        edits: list[Edit] = []
        for word in _WORD.finditer(text):
            if rng.random() < self.prob:
                places = [
                    match.start()
                    for match in _LETTER.finditer(text, word.start(), word.end())
                ]
                edits += [
                    Edit(place, place + 1, rng.choice(LOOK_ALIKES[text[place]]))
                    for place in self._chosen(places, rng)
                ]
        return edits

    def _chosen(self, places: list[int], rng: Random) -> list[int]:
        chosen = [place for place in places if rng.random() < self.letters]
        return chosen or ([rng.choice(places)] if places else [])


Style = Literal[
    "bold",
    "italic",
    "bold-italic",
    "bold-script",
    "bold-fraktur",
    "double-struck",
    "sans-serif",
    "sans-serif-bold",
    "monospace",
    "full-width",
]

_STARTS: dict[Style, int] = {
    "bold": 0x1D400,
    "italic": 0x1D434,
    "bold-italic": 0x1D468,
    "bold-script": 0x1D4D0,
    "bold-fraktur": 0x1D56C,
    "double-struck": 0x1D538,
    "sans-serif": 0x1D5A0,
    "sans-serif-bold": 0x1D5D4,
    "monospace": 0x1D670,
}

# letters that Unicode had before it had the alphabet
_ELSEWHERE: dict[Style, dict[str, str]] = {
    "italic": {"h": "ℎ"},
    "double-struck": dict(zip("CHNPQRZ", "ℂℍℕℙℚℝℤ", strict=True)),
}


def _alphabet(style: Style) -> dict[int, str]:
    if style == "full-width":
        capitals, small = 0xFF21, 0xFF41
    else:
        capitals = _STARTS[style]
        small = capitals + 26
    table = {65 + place: chr(capitals + place) for place in range(26)}
    table |= {97 + place: chr(small + place) for place in range(26)}
    return table | {ord(k): v for k, v in _ELSEWHERE.get(style, {}).items()}


ALPHABETS: dict[Style, dict[int, str]] = {
    style: _alphabet(style) for style in (*_STARTS, "full-width")
}
"""For each style what `str.translate` takes."""


class StyledUnicodeParameters(StrengthParameters):
    """How many words are changed, and in which alphabet."""

    style: Style | None = None
    """The alphabet; without one it is drawn for each text."""


class StyledUnicode(RandomPerturbation):
    """Writes words in an alphabet that Unicode has for mathematics, or full-width.

    A place is a word without apostrophe; mild changes .1 of them, medium .3, hard .6.
    """

    Parameters: ClassVar[type[BaseModel]] = StyledUnicodeParameters
    strengths = {"mild": 0.1, "medium": 0.3, "hard": 0.6}

    def __init__(self, parameters: BaseModel | None = None) -> None:
        super().__init__(parameters)
        chosen = self.parameters
        assert isinstance(chosen, StyledUnicodeParameters)
        self.tables = (
            list(ALPHABETS.values())
            if chosen.style is None
            else [ALPHABETS[chosen.style]]
        )

    def edits_of(self, text: str, rng: Random) -> list[Edit]:
        """Replace some words."""
        table = rng.choice(self.tables)
        return [
            Edit(word.start(), word.end(), word[0].translate(table))
            for word in LETTERS.finditer(text)
            if rng.random() < self.prob
        ]


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
