"""Finds people's first names by lists and by the words around them, without a model."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from evalkit_perturbations_text.grammar import pronoun_contexts as contexts
from evalkit_perturbations_text.grammar.pronoun_phrases import (
    PERSONAL_VERBS,
    infinitives,
    verb_forms,
)
from evalkit_perturbations_text.grammar.tokens import APOSTROPHES, Tokens, word_set
from evalkit_perturbations_text.names import words as name_words
from evalkit_perturbations_text.names.country_names import Gender
from evalkit_perturbations_text.names.lists import first_names, surnames
from evalkit_perturbations_text.names.places import (
    is_month,
    is_place,
    is_season,
    may_be_month,
)


class Mention(NamedTuple):
    """A first name where it is used as one."""

    position: int
    """Which token of the text it is."""
    name: str
    """The name in lower case."""
    gender: Gender
    """Who has it."""


def find_first_names(
    texts: Sequence[Tokens], names: Mapping[str, Gender] | None = None
) -> list[list[Mention]]:
    """Find the first names in the texts of one example.

    A name that is also a word is one at the beginning of a sentence if what follows
    says so, or if the texts use it as a name elsewhere. A name that is found once is
    found in other letter cases too, so that nobody is left with two names.
    """
    known = first_names() if names is None else names
    places = [
        [place for place, word in enumerate(text.lower) if word in known]
        for text in texts
    ]
    has_pronoun = any(not _SINGULAR.isdisjoint(text.lower) for text in texts)
    used = {
        text.word(place)
        for text, found in zip(texts, places, strict=True)
        for place in found
        if _is_first_name(text, place, known, has_pronoun)
    }
    if not used:
        return [[] for _ in texts]
    return [
        [
            Mention(place, text.word(place), known[text.word(place)])
            for place in found
            if text.word(place) in used and _is_same_name(text, place, known)
        ]
        for text, found in zip(texts, places, strict=True)
    ]


def _is_first_name(
    tokens: Tokens, place: int, known: Mapping[str, Gender], has_pronoun: bool
) -> bool:
    """Tell whether a known name is used as a first name, by its own text alone."""
    return (
        _has_case_of_name(tokens, place)
        and not _follows_unknown_name(tokens, place, known)
        and not _is_ruled_out(tokens, place, known)
        and _is_used_as_name(tokens, place, known, has_pronoun)
    )


def _is_same_name(tokens: Tokens, place: int, known: Mapping[str, Gender]) -> bool:
    """Tell whether a name that the texts use as one elsewhere is meant here too."""
    if _is_ruled_out(tokens, place, known):
        return False
    if tokens.word(place) not in name_words.WORD_NAMES:
        return True
    if not tokens.is_capital(place):
        return False
    if tokens.starts_sentence(place):
        return not _is_verb_or_modal(tokens, place)
    return _is_name_inside(tokens, place)


_SINGULAR = word_set("he she him her his hers himself herself")


def _has_case_of_name(tokens: Tokens, place: int) -> bool:
    form = tokens.forms[place]
    if not form[0].isupper():
        return False
    if len(form) > 1 and form.isupper():
        shouted = tokens.shouts and len(form) > 3
        return shouted and form.lower() not in name_words.WORD_NAMES
    return True


def _is_ruled_out(tokens: Tokens, place: int, known: Mapping[str, Gender]) -> bool:
    """Tell whether a name is a surname, or part of a place, firm or phrase."""
    word, before = tokens.word(place), tokens.word(place - 1)
    if tokens.is_hyphenated(place) or before in ("@", "#", "/"):
        return True
    if _is_in_phrase(tokens, place):
        return True
    if word == "an" and tokens.word(place + 1)[:1] in _AFTER_ARTICLE:
        return True
    if is_month(tokens, place) or is_place(tokens, place, known):
        return True
    if _has_surname_prefix(tokens, place) or _goes_on(tokens, place):
        return True
    return _is_surname(tokens, place, known)


_AFTER_ARTICLE = frozenset("aeiouh")
"""First letters of words after the article `an`; a name is told from it elsewhere."""


def _has_surname_prefix(tokens: Tokens, place: int) -> bool:
    """Tell `O'Connor`, `D'Angelo` and `de Luca` from first names."""
    if tokens.form(place - 1) in APOSTROPHES:
        is_joined = tokens.touches(place - 1) and tokens.touches(place - 2)
        return is_joined and tokens.word(place - 2) in name_words.ELIDED_PREFIXES
    return tokens.word(place - 1) in name_words.SURNAME_PREFIXES


def _goes_on(tokens: Tokens, place: int) -> bool:
    """Tell `Kata'ib` from `Mary's` and `Mary'll`."""
    if tokens.form(place + 1) not in APOSTROPHES:
        return False
    is_joined = tokens.touches(place) and tokens.touches(place + 1)
    ending = tokens.word(place + 2)
    return is_joined and ending[:1].isalpha() and ending not in _ENDINGS


_ENDINGS = word_set("s ll d ve re m t")
"""What stands after the apostrophe of a possessive or of a verb."""


def _is_in_phrase(tokens: Tokens, place: int) -> bool:
    """Tell whether a name is part of a phrase such as `Uncle Sam`."""
    two, one, word, next_one, next_two = tokens.lower_around(place)
    phrases = {
        (one, word): place - 1,
        (word, next_one): place + 1,
        (two, one, word): place - 2,
        (word, next_one, next_two): place + 2,
    }
    return any(
        phrase in name_words.FIXED_PHRASES and tokens.is_capital(other)
        for phrase, other in phrases.items()
    )


def _is_surname(tokens: Tokens, place: int, known: Mapping[str, Gender]) -> bool:
    """Tell whether a name stands after a title or another name."""
    previous = place - 1
    if tokens.form(previous) == ".":
        abbreviation = tokens.word(place - 2)
        titled = abbreviation in name_words.SURNAME_TITLES
        initial = len(abbreviation) == 1 and tokens.is_capital(place - 2)
        if titled or (initial and tokens.word(place - 3) in known):
            return not _has_surname(tokens, place)
        return False
    if not tokens.is_capital(previous) or tokens.shouts:
        return False
    before = tokens.word(previous)
    if before in name_words.SURNAME_TITLES:
        is_lone = not _has_surname(tokens, place)
        return is_lone and (before != "miss" or tokens.word(place) in surnames())
    if before in name_words.FIRST_NAME_TITLES or before in name_words.CALENDAR:
        return False
    if before == "an" and tokens.word(place)[0] in _AFTER_ARTICLE:
        return False
    if before in known and _has_case_of_name(tokens, previous):
        return _is_second_name_a_surname(tokens, place, known)
    return False


def _follows_unknown_name(
    tokens: Tokens, place: int, known: Mapping[str, Gender]
) -> bool:
    """Tell whether a word with a capital, which may be a name, stands before."""
    previous = place - 1
    before = tokens.word(previous)
    if not tokens.is_capital(previous) or tokens.shouts or tokens.is_title:
        return False
    if before in known or before in name_words.TITLES_IN_CAPITALS:
        return False
    if tokens.starts_sentence(previous) and not _is_initials(tokens, previous):
        return False
    titles = name_words.FIRST_NAME_TITLES | name_words.SURNAME_TITLES
    return before not in titles | name_words.CALENDAR | contexts.FUNCTION_WORDS


def _is_initials(tokens: Tokens, place: int) -> bool:
    """Tell `JP Morgan` from `NEWS: Morgan left` and `TIL Steve Bannon left`."""
    form = tokens.form(place)
    is_short = form.isalpha() and 1 < len(form) <= _MOST_INITIALS
    return is_short and form.isupper() and not _has_surname(tokens, place + 1)


_MOST_INITIALS = 4


def _is_second_name_a_surname(
    tokens: Tokens, place: int, known: Mapping[str, Gender]
) -> bool:
    """Tell `John Thomas` from `Mary Ann` and from `John Thomas Smith`."""
    first, second = tokens.word(place - 1), tokens.word(place)
    is_word = first in name_words.WORD_NAMES and tokens.starts_sentence(place - 1)
    if is_word and (first == "will" or _is_verb_or_modal(tokens, place - 1)):
        return False
    if known[first] != known[second]:
        return True
    return second not in name_words.SECOND_NAMES and not _has_surname(tokens, place)


def _has_surname(tokens: Tokens, place: int) -> bool:
    """Tell whether a word with a capital follows a name directly."""
    after = tokens.form(place + 1)
    return (
        after[:1].isupper()
        and after.isalpha()
        and not tokens.breaks_line(place)
        and after.lower() not in contexts.FUNCTION_WORDS
        and after.lower() not in contexts.DAYS
    )


def _is_name_inside(tokens: Tokens, place: int) -> bool:
    """Decide a word with a capital that no sentence begins with."""
    word = tokens.word(place)
    if word in name_words.MONTHS or word in name_words.SEASONS:
        return not (is_month(tokens, place) or is_season(tokens, place))
    before = tokens.word(place - 1)
    if before in _OWNERS:
        return word not in name_words.MASS_NAMES
    return before not in ("the", "a", "an") and not before[:1].isdigit()


_OWNERS = word_set("my your his her our their its")


def _is_used_as_name(
    tokens: Tokens, place: int, known: Mapping[str, Gender], has_pronoun: bool
) -> bool:
    word = tokens.word(place)
    if word not in name_words.WORD_NAMES:
        return not (len(word) < 3 and tokens.word(place + 1) == ".")
    if tokens.is_title:
        return False
    if not tokens.starts_sentence(place):
        return _is_name_inside(tokens, place) and not may_be_month(tokens, place)
    if is_month(tokens, place) or _is_verb_or_modal(tokens, place):
        return False
    return _begins_as_name(tokens, place, known, has_pronoun)


def _is_verb_or_modal(tokens: Tokens, place: int) -> bool:
    """Tell `Will you`, `Mark the` and `Grant me` from a name."""
    if not tokens.starts_sentence(place):
        return False
    after = tokens.word(place + 1)
    if after in contexts.DETERMINERS or after in contexts.PRONOUNS:
        return True
    if after in APOSTROPHES and tokens.word(place + 2) == "t":
        return True
    return tokens.word(place) in ("will", "may") and _has_surname_like_name(
        tokens, place
    )


def _has_surname_like_name(tokens: Tokens, place: int) -> bool:
    """Tell `Will Mary come` from `Will Smith came`."""
    after, beyond = tokens.word(place + 1), tokens.word(place + 2)
    if not tokens.is_capital(place + 1):
        return False
    return beyond in infinitives() or after not in surnames()


def _begins_as_name(
    tokens: Tokens, place: int, known: Mapping[str, Gender], has_pronoun: bool
) -> bool:
    """Decide a word that is a name too at the beginning of a sentence."""
    word, after = tokens.word(place), tokens.word(place + 1)
    if tokens.has_possessive(place):
        return word not in name_words.MASS_NAMES or has_pronoun
    if after in APOSTROPHES:
        return tokens.word(place + 2) in ("ll", "d") and tokens.touches(place)
    if _has_surname(tokens, place):
        return word not in ("will", "may") or after in surnames()
    if after == "and" and tokens.is_capital(place + 2):
        return True
    if word in name_words.MASS_NAMES and not has_pronoun:
        return after in PERSONAL_VERBS
    if after == ",":
        return word not in name_words.MASS_NAMES
    return (
        after in verb_forms()
        or (after.endswith("ed") and after not in contexts.ED_NOUNS)
        or (after.endswith("ly") and after not in contexts.LY_ADJECTIVES)
    )


def find_last_names(
    texts: Sequence[Tokens], names: Mapping[str, Gender] | None = None
) -> list[list[Mention]]:
    """Find the surnames in the texts of one example."""
    found = {
        text.word(place)
        for text, mentions in zip(texts, find_first_names(texts, names), strict=True)
        for place in _surname_places(text, {mention.position for mention in mentions})
    }
    return [
        [
            Mention(place, word, "either")
            for place, word in enumerate(text.lower)
            if word in found and text.is_capital(place)
        ]
        for text in texts
    ]


_ORDINAL = re.compile("[IVX]+")


def _surname_places(tokens: Tokens, firsts: frozenset[int] | set[int]) -> list[int]:
    places = []
    for place, form in enumerate(tokens.forms):
        if not (form[0].isupper() and form.isalpha() and len(form) > 1):
            continue
        word = form.lower()
        if place in firsts or word in contexts.FUNCTION_WORDS:
            continue
        if word in name_words.SURNAME_TITLES or _ORDINAL.fullmatch(form):
            continue  # `Mr President`, `King Charles III`
        previous = place - 1
        if tokens.form(previous) == "." and tokens.touches(previous - 1):
            previous -= 1
        before = tokens.word(previous)
        is_titled = before in name_words.SURNAME_TITLES and tokens.is_capital(previous)
        is_second = place - 1 in firsts and not tokens.breaks_line(place - 1)
        if is_titled or (is_second and not tokens.shouts):
            places.append(place)
    return places
