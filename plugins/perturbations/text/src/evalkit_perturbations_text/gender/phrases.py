"""Phrases with gendered words that are left alone."""

from __future__ import annotations

from functools import cache

from evalkit_perturbations_text.grammar.tokens import APOSTROPHES, HYPHENS, Tokens

_FIXED = frozenset(
    tuple(phrase.split())
    for phrase in (
        "isle of man",
        "burning man",
        "man united",
        "man utd",
        "man city",
        "spider man",
        "iron man",
        "ant man",
        "x men",
        "man made",
        "man hour",
        "man hours",
        "man eating",
        "man eater",
        "men at arms",
        "man at arms",
        "no man s",
        "man s best friend",
        "mother nature",
        "mother earth",
        "mother tongue",
        "mother teresa",
        "mother lode",
        "mother ship",
        "father time",
        "father christmas",
        "founding fathers",
        "founding father",
        "uncle sam",
        "aunt jemima",
        "king kong",
        "king s college",
        "king s cross",
        "queen s college",
        "queen s university",
        "queen latifah",
        "lady gaga",
        "lady luck",
        "our lady",
        "lady liberty",
        "wonder woman",
        "king size",
        "king sized",
        "queen size",
        "queen sized",
        "boy george",
        "beach boys",
        "backstreet boys",
        "spice girls",
        "golden girls",
        "gilmore girls",
        "warner brothers",
        "brothers grimm",
        "dairy queen",
        "burger king",
        "bachelor s degree",
        "bachelor s degrees",
        "bachelor of",
        "bachelor degree",
        "bachelors degree",
        "old man winter",
        "he man",
        "man ray",
        "king cake",
        "king salmon",
        "king crab",
        "queen bed",
        "queen bee",
        "prince edward island",
        "miss universe",
        "miss america",
        "oh man",
        "yo man",
        "damn man",
        "oh boy",
        "oh brother",
        "boy oh",
        "come on man",
        "c mon man",
        "thanks man",
        "witch hunt",
        "witch hazel",
    )
)


_CAPITAL_FIXED = frozenset(
    {
        ("big", "brother"),
        ("pretty", "woman"),
        ("little", "women"),
        ("mad", "men"),
        ("big", "brothers"),
    }
)
"""Phrases that are fixed only where each word has a capital."""


@cache
def _phrases_by_word() -> dict[str, list[tuple[int, tuple[str, ...]]]]:
    found: dict[str, list[tuple[int, tuple[str, ...]]]] = {}
    for phrase in sorted(_FIXED | _CAPITAL_FIXED):
        for place, word in enumerate(phrase):
            found.setdefault(word, []).append((place, phrase))
    return found


def is_fixed(tokens: Tokens, position: int) -> bool:
    """Tell whether a word is part of a phrase that is left alone."""
    for place, phrase in _phrases_by_word().get(tokens.word(position), ()):
        places = _phrase_places(tokens, position, place, phrase)
        if not places:
            continue
        if phrase not in _CAPITAL_FIXED or all(map(tokens.is_capital, places)):
            return True
    return False


def _phrase_places(
    tokens: Tokens, position: int, place: int, phrase: tuple[str, ...]
) -> list[int]:
    """Return where the words of a phrase are, if they are all there."""
    before, after = phrase[:place][::-1], phrase[place + 1 :]
    places = [position]
    for words, step in ((before, -1), (after, 1)):
        at = position
        for word in words:
            at += step
            if tokens.word(at) in APOSTROPHES | HYPHENS:
                at += step
            if tokens.word(at) != word:
                return []
            places.append(at)
    return places
