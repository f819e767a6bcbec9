"""Words in the bold, italic and other alphabets of Unicode."""

from __future__ import annotations

from random import Random
from typing import ClassVar, Literal

from pydantic import BaseModel

from evalkit import Edit
from evalkit_perturbations_text.text_perturbations import (
    RandomPerturbation,
    StrengthParameters,
)
from evalkit_perturbations_text.words import LETTERS

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
