"""Words for others that mean about the same."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Annotated, ClassVar

from pydantic import BaseModel, Field

from evalkit import Edit
from evalkit_perturbations_text.letter_case import with_case_of
from evalkit_perturbations_text.text_perturbations import (
    Effect,
    RandomPerturbation,
    StrengthParameters,
)
from evalkit_perturbations_text.wording.lexicons import read_lexicon, wordnet_lookup
from evalkit_perturbations_text.words import WORD

_EXAMPLE = "big\tlarge, huge\nnew\trecent\nhappy\tglad\nfilm\tmovie\ngood\tfine\n"


class SynonymsParameters(StrengthParameters):
    """How much is changed, and where the synonyms come from."""

    lexicon: Annotated[Path | None, Field(examples=[_EXAMPLE])] = None
    """Path of a JSON file with an object of lists, or of a tab-separated file with a
    word and its synonyms in each line, commas between them; WordNet without one."""


class Synonyms(RandomPerturbation):
    """Replaces words by a synonym of the user's lexicon or of WordNet.

    A place is a word that has a synonym there; mild changes .1 of them, medium .3, hard
    .5 (HELM has .1 and .5). After `a` and `an` only a synonym that goes with it is
    taken. Since a synonym may mean something else where it stands, the answer is
    uncertain. From WordNet come words that have one part of speech and are in their
    base form; it needs nltk and its data `wordnet`.
    """

    Parameters: ClassVar[type[BaseModel]] = SynonymsParameters
    strengths = {"mild": 0.1, "medium": 0.3, "hard": 0.5}
    label_effect: ClassVar[Mapping[str, Effect]] = {"*": "uncertain"}

    def __init__(self, parameters: BaseModel | None = None) -> None:
        super().__init__(parameters)
        chosen = self.parameters
        assert isinstance(chosen, SynonymsParameters)
        self.look_up: Callable[[str], Sequence[str]]
        if chosen.lexicon is None:
            self.look_up = wordnet_lookup()
        else:
            lexicon = read_lexicon(chosen.lexicon)
            self.look_up = lambda word: lexicon.get(word, ())

    def edits_of(self, text: str, rng: Random) -> list[Edit]:
        """Replace some words that have synonyms."""
        edits = []
        before = ""
        for match in WORD.finditer(text):
            word = match[0]
            found = _that_fit(self.look_up(word.lower()), word, before)
            if found and rng.random() < self.prob:
                new = with_case_of(word, rng.choice(found))
                edits.append(Edit(match.start(), match.end(), new))
            before = word.lower()
        return edits


def _that_fit(synonyms: Sequence[str], word: str, before: str) -> list[str]:
    """Return the synonyms that go with an article before the word."""
    if before not in ("a", "an"):
        return list(synonyms)
    vowel = _has_vowel(word)
    return [synonym for synonym in synonyms if _has_vowel(synonym) == vowel]


def _has_vowel(word: str) -> bool:
    return word[:1].lower() in "aeiou"
