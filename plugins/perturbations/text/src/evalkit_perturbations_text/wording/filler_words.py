"""Words drawn from lists: fillers and synonyms."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from random import Random
from typing import Annotated, Any, ClassVar

from pydantic import BaseModel, Field

from evalkit import Edit, PluginContractError, RequiredParameterError
from evalkit_perturbations_text.text_perturbations import (
    UNCHANGED_LABEL,
    WORD,
    Effect,
    RandomPerturbation,
    StrengthParameters,
    find_gaps,
    with_case_of,
)

FILLERS = ("uh", "um", "uhm", "er", "hmm", "ah", "well", "you know")
"""What says nothing."""

HEDGES = (
    "maybe",
    "perhaps",
    "probably",
    "possibly",
    "I think",
    "I guess",
    "I believe",
    "I suppose",
)
"""What makes a statement less certain."""


class FillerWordsParameters(StrengthParameters):
    """How much is inserted, and what."""

    hedges: bool = False
    """Whether also words that make a statement less certain."""


class FillerWords(RandomPerturbation):
    """Puts words of hesitation between others.

    A place is a single blank between two words; mild changes .1 of them, medium .2,
    hard .4 (HELM has .1 and .3). With hedges (`maybe`, `I think`) what follows from the
    text may change: the answer is then uncertain for `nli`.
    """

    Parameters: ClassVar[type[BaseModel]] = FillerWordsParameters
    strengths = {"mild": 0.1, "medium": 0.2, "hard": 0.4}

    def __init__(self, parameters: BaseModel | None = None) -> None:
        super().__init__(parameters)
        chosen = self.parameters
        assert isinstance(chosen, FillerWordsParameters)
        self.words = FILLERS + HEDGES if chosen.hedges else FILLERS
        if chosen.hedges:
            vars(self)["label_effect"] = {**UNCHANGED_LABEL, "nli": "uncertain"}

    def edits_of(self, text: str, rng: Random) -> list[Edit]:
        """Insert into some gaps."""
        return [
            Edit(place, place, f" {rng.choice(self.words)}")
            for place in find_gaps(text)
            if rng.random() < self.prob
        ]


def read_lexicon(path: str | Path) -> Mapping[str, Sequence[str]]:
    """Read a user's lexicon."""
    from evalkit.catalog import local_file

    file = local_file(path)
    try:
        text = file.read_text(encoding="utf-8-sig")
        pairs = _json_pairs(text) if file.suffix == ".json" else _lines(text)
    except (OSError, ValueError) as error:
        raise PluginContractError(
            f"perturbations/synonyms: the lexicon {file} cannot be used: {error}; give "
            "a JSON file with an object of lists of texts, or a file with lines of a "
            "word, a tab and its synonyms"
        ) from error
    found: dict[str, list[str]] = {}
    for word, synonyms in pairs:
        known = found.setdefault(word.lower(), [])
        for synonym in synonyms:
            if synonym and synonym.lower() != word.lower() and synonym not in known:
                known.append(synonym)
    return found


def _json_pairs(text: str) -> list[tuple[str, list[str]]]:
    content: Any = json.loads(text)
    if not isinstance(content, dict):
        raise ValueError("it is no object")
    pairs = []
    for word, synonyms in content.items():
        given = [synonyms] if isinstance(synonyms, str) else synonyms
        if not isinstance(given, list) or not all(isinstance(s, str) for s in given):
            raise ValueError(f"the synonyms of {word!r} are no list of texts")
        pairs.append((word, given))
    return pairs


def _lines(text: str) -> list[tuple[str, list[str]]]:
    pairs = []
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip() or line.startswith("#"):
            continue
        word, tab, synonyms = line.partition("\t")
        if not tab or not word.strip():
            raise ValueError(f"line {number} has no word before a tab")
        pairs.append((word.strip(), [part.strip() for part in synonyms.split(",")]))
    return pairs


def wordnet_lookup() -> Callable[[str], Sequence[str]]:
    """Return a function that looks words up in WordNet."""
    try:
        from nltk.corpus import wordnet  # type: ignore[import-not-found, unused-ignore]

        wordnet.ensure_loaded()
    except (ImportError, LookupError) as error:
        raise RequiredParameterError(
            "perturbations/synonyms: WordNet is not there; give a lexicon of your own "
            "with lexicon=FILE, or install the package nltk and its data with "
            "python -m nltk.downloader wordnet"
        ) from error

    @lru_cache(maxsize=65_536)
    def look_up(word: str) -> Sequence[str]:
        meanings = wordnet.synsets(word)
        if len({_part_of_speech(meaning) for meaning in meanings}) != 1:
            return ()
        names = meanings[0].lemma_names()
        if word not in names:
            return ()
        return tuple(name for name in names if name != word and name.isalpha())

    return look_up


def _part_of_speech(meaning: Any) -> str:
    # a satellite adjective is an adjective
    name: str = meaning.pos()
    return "a" if name == "s" else name


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
