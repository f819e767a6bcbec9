"""Tells months and seasons from first names: `in May`, `by June` and `with May`."""

from __future__ import annotations

from evalkit_perturbations_text.grammar import pronoun_verbs as verbs
from evalkit_perturbations_text.grammar.tokens import Tokens, word_set
from evalkit_perturbations_text.names import words as name_words

_PERSON_PREPOSITIONS = word_set("of from by after before between on")
"""Prepositions that stand before months and before persons."""

_OPEN_PREPOSITIONS = _PERSON_PREPOSITIONS | word_set("for around about")

_PARTS_OF_TIME = word_set("month months end beginning middle start rest day days half")


def is_month(tokens: Tokens, place: int) -> bool:
    """Tell `in May` and `May 5` from `with May`."""
    if tokens.word(place) not in name_words.MONTHS:
        return False
    before, after = tokens.word(place - 1), tokens.word(place + 1)
    if after[:1].isdigit() or (after == "." and tokens.word(place + 2)[:1].isdigit()):
        return True
    part = before == "of" and tokens.word(place - 2) in _PARTS_OF_TIME
    if part or before[:1].isdigit():
        return True
    if before in name_words.MONTH_PREPOSITIONS - _PERSON_PREPOSITIONS:
        return True
    if after in ("of", "through", "to", "until"):
        return True
    if before in ("and", "or", "to", "through") or before in ",-–":
        others = {tokens.word(place - 2), tokens.word(place - 3)}
        return not others.isdisjoint(name_words.CALENDAR - {"i"})
    beyond = {tokens.word(place + 2), tokens.word(place + 3)}
    return after in ("and", "or", ",") and not beyond.isdisjoint(
        name_words.CALENDAR - {"i"}
    )


def may_be_month(tokens: Tokens, place: int) -> bool:
    """Tell whether nothing but other texts can say that a month is a person."""
    if tokens.word(place) not in name_words.MONTHS:
        return False
    if tokens.word(place - 1) not in _OPEN_PREPOSITIONS or tokens.has_possessive(place):
        return False
    doing = tokens.word(place - 2)
    is_done = doing.endswith("ed") or doing in verbs.PARTICIPLES
    return not (tokens.word(place - 1) == "by" and is_done)


def is_season(tokens: Tokens, place: int) -> bool:
    """Tell `in Summer` and `the Summer` from `told Summer`."""
    if tokens.word(place) not in name_words.SEASONS:
        return False
    return tokens.word(place - 1) in (*name_words.MONTH_PREPOSITIONS, "the")
