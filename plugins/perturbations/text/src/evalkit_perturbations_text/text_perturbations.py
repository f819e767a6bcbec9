"""What the perturbations of the look of a text share."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from random import Random
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BaseModel, Field

from evalkit import Edit, Parameters, Perturbation

Effect = Literal["invariant", "transforms", "uncertain"]
Preset = Literal["mild", "medium", "hard"]
Share = Annotated[float, Field(ge=0, le=1)]

UNCHANGED_ANSWER: Mapping[str, Effect] = {"*": "invariant"}
"""For what leaves letters, and the order of words, as they are."""

UNCHANGED_LABEL: Mapping[str, Effect] = {"*": "invariant", "qa": "uncertain"}
"""For what may change the letters of the very words that answer a question, so that the
answer is not part of the context any more; labels stay."""


class TextPerturbation(Perturbation):
    """Changes each text of an example by itself, for family `robustness`."""

    families: ClassVar[frozenset[str]] = frozenset({"robustness"})
    version: ClassVar[str] = "1"
    label_effect: ClassVar[Mapping[str, Effect]] = UNCHANGED_LABEL

    def find_edits(self, texts: Sequence[str], rng: Random) -> list[list[Edit]]:
        """Say what to change in the texts of one example."""
        return [self.edits_of(text, rng) for text in texts]

    @abstractmethod
    def edits_of(self, text: str, rng: Random) -> list[Edit]:
        """Say what to change in one text."""


class StrengthParameters(Parameters):
    """How much is changed."""

    preset: Preset = "medium"
    """Sets `prob`; the class has the numbers."""
    prob: Share | None = None
    """The share of places that are changed, 0 to 1, each drawn by itself; 1 changes
    all of them."""


class RandomPerturbation(TextPerturbation):
    """Changes a share of the places in a text that it could change.

    Attributes:
        prob: The share, 0 to 1.
    """

    Parameters: ClassVar[type[BaseModel]] = StrengthParameters
    strengths: ClassVar[Mapping[Preset, float]]

    def __init__(self, parameters: BaseModel | None = None) -> None:
        super().__init__(parameters)
        chosen = self.parameters
        assert isinstance(chosen, StrengthParameters)
        given = chosen.prob
        self.prob = self.strengths[chosen.preset] if given is None else given


_KEPT = frozenset(
    (
        *("uid", "id", "input_id", "perturbation", "label_effect", "families"),
        *("tags", "cluster", "edits"),
    )
)
"""Columns that hold no text of an example."""


def texts_of(row: Mapping[str, Any]) -> Iterator[str]:
    """Return the texts of an example, those in lists too."""
    for name, value in row.items():
        if name in _KEPT:
            continue
        for item in value if isinstance(value, list | tuple) else (value,):
            if isinstance(item, str):
                yield item


def is_changed(original: Mapping[str, Any], copy: Mapping[str, Any]) -> bool:
    """Tell whether a text of the original is another one in its copy."""
    return [*texts_of(original)] != [*texts_of({**original, **copy})]


class FairnessPerturbation(Perturbation):
    """Changes all texts of an example alike, for family `fairness`.

    For `qa` an answer is changed as the text is, and labels stay.
    """

    families: ClassVar[frozenset[str]] = frozenset({"fairness"})
    version: ClassVar[str] = "1"
    label_effect: ClassVar[Mapping[str, Effect]] = {
        "qa": "transforms",
        "*": "invariant",
    }


def with_case_of(original: str, new: str) -> str:
    """Write a word in the letter case of another."""
    if len(original) > 1 and original.isupper():
        return new.upper()
    if original[:1].isupper():
        return new[:1].upper() + new[1:]
    return new


def with_capitals_of(original: str, new: str) -> str:
    """Write the rest of a word in capitals where the word is in capitals."""
    return new.upper() if original.isupper() else new


# marks that belong to the letter before them; a word that has one is left alone
_MARKS = (
    "\u0300-\u036f\u0483-\u0489\u0591-\u05bd\u064b-\u065f\u1ab0-\u1aff\u1dc0-\u1dff"
    "\u200c\u200d\u20d0-\u20ff\u3099\u309a\ufe00-\ufe0f\ufe20-\ufe2f"
    "\U0001f3fb-\U0001f3ff\U000e0020-\U000e007f\U000e0100-\U000e01ef"
)

_BEFORE = rf"(?<![\w{_MARKS}@#])(?<!\w[.'’])"
_AFTER = rf"(?!['’.]?[\w{_MARKS}])"

WORD = re.compile(rf"{_BEFORE}[A-Za-z]+(?:['’][A-Za-z]+)*{_AFTER}")
"""A word of plain letters, with the apostrophes inside it (`isn't`, `o'clock`).

Not part of it: words with digits, underscores or other letters (`16th`, `café`),
abbreviations with inner dots (`U.S.`, `e.g.`), `@user` and `#tag`.
"""

LETTERS = re.compile(rf"{_BEFORE}[A-Za-z]+{_AFTER}")
"""The same without those that hold an apostrophe."""


def long_words(least: int) -> re.Pattern[str]:
    """Return the pattern of words without apostrophe of at least some letters."""
    return re.compile(rf"{_BEFORE}[A-Za-z]{{{least},}}{_AFTER}")


def find_gaps(text: str) -> Iterator[int]:
    """Find the single blanks between two words of plain letters."""
    last = -2
    for word in WORD.finditer(text):
        start = word.start()
        if start == last + 1 and text[last] == " ":
            yield last
        last = word.end()


class SuffixParameters(Parameters):
    """What is appended."""

    suffix: Annotated[str, Field(min_length=1, examples=["pixel art"])]
    """The text."""
    separator: str = ", "
    """What stands between the two."""


class Suffix(TextPerturbation):
    """Appends the user's suffix, such as `pixel art`; it has to be given.

    Deterministic. Blanks at the end of the text stay at the end. What the suffix does
    to an answer is not known.
    """

    Parameters: ClassVar[type[BaseModel]] = SuffixParameters
    families = frozenset({"style"})
    label_effect: ClassVar[Mapping[str, Effect]] = {"*": "uncertain"}

    def __init__(self, parameters: BaseModel | None = None) -> None:
        super().__init__(parameters)
        chosen = self.parameters
        assert isinstance(chosen, SuffixParameters)
        self.addition = chosen.separator + chosen.suffix

    def edits_of(self, text: str, rng: Random) -> list[Edit]:
        """Insert after the last sign that is no blank."""
        place = len(text.rstrip())
        return [Edit(place, place, self.addition)]
