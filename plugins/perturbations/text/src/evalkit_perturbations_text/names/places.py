"""Tells places, firms, teams and storms from the first names that they have."""

from __future__ import annotations

from collections.abc import Mapping

from evalkit_perturbations_text.grammar import pronoun_verbs as verbs
from evalkit_perturbations_text.grammar.tokens import Tokens, word_set
from evalkit_perturbations_text.names import words as name_words
from evalkit_perturbations_text.names.country_names import Gender
from evalkit_perturbations_text.names.lists import surnames

_STATES = word_set(
    """
    alabama alaska arizona arkansas california carolina colorado connecticut delaware
    florida georgia hawaii idaho illinois indiana iowa kansas kentucky louisiana maine
    maryland massachusetts michigan minnesota mississippi missouri montana nebraska
    nevada ohio oklahoma oregon pennsylvania tennessee texas utah vermont virginia
    washington wisconsin wyoming ontario quebec alberta manitoba saskatchewan queensland
    victoria tasmania england scotland wales ireland britain france germany italy spain
    portugal greece turkey poland hungary austria switzerland belgium netherlands
    denmark norway sweden finland iceland russia ukraine romania bulgaria serbia croatia
    slovenia slovakia czechia albania cyprus malta egypt morocco algeria tunisia libya
    israel jordan lebanon syria iraq iran india pakistan bangladesh nepal china japan
    korea vietnam thailand indonesia malaysia philippines australia canada mexico cuba
    brazil argentina chile peru colombia venezuela ecuador bolivia kenya uganda tanzania
    ethiopia nigeria ghana chad sudan africa europe asia america usa uk u.s dc
    """
)
"""States and countries, in lower case."""

_PLACE_NOUNS = word_set(
    """
    city capital state town county country province village region suburb borough port
    """
)

_HEADS_OF_PLACES = word_set(
    """
    governor mayor senator senators capital legislature population economy coast airport
    border skyline downtown government parliament suburbs voters residents streets
    weather climate
    """
)
"""What places have, and persons do not."""

_LOOK_AHEAD = 6

_SPOKEN_OR_GIVEN = word_set(
    """
    gave give gives given giving say says said talk talks talked talking speak speaks
    spoke spoken speaking listen listens listened listening belong belongs belonged
    explain explains explained apologize apologizes apologized apologise apologised
    married engaged thanks according similar compared sell sells sold lend lends lent
    loaned show shows showed shown offer offers offered hand handed pass passed next
    mention mentioned lie lied sing sang sung read
    """
)
"""Words after which `to` has a person behind it."""

_GOT = word_set(
    """
    receive receives received get gets got borrow borrows borrowed hear heard learn
    learned stole stolen
    """
)
"""Words after which `from` has a person behind it."""


def is_place(tokens: Tokens, place: int, known: Mapping[str, Gender]) -> bool:
    """Tell whether a name is a place's, or part of a name of a street, firm or team."""
    if _has_place_suffix(tokens, place) or _is_firm(tokens, place, known):
        return True
    before = tokens.word(place - 1)
    if before in name_words.PLACE_PREFIXES and tokens.is_capital(place - 1):
        return True
    if before == "." and tokens.word(place - 2) in ("st", "mt", "ft"):
        return True
    return tokens.word(place) in name_words.TOWNS and _is_town(tokens, place, known)


def _has_place_suffix(tokens: Tokens, place: int) -> bool:
    """Tell whether a street, school or the like is named after somebody."""
    for following in range(place + 1, place + 4):
        if not tokens.is_capital(following):
            return False
        if tokens.word(following) in name_words.PLACE_SUFFIXES:
            return not tokens.is_title
    return False


def _is_firm(tokens: Tokens, place: int, known: Mapping[str, Gender]) -> bool:
    """Tell `Marks & Spencer` from `Ben & Kate` and `Flair & Muhammad Ali`."""
    if tokens.form(place - 1) == "&" and not tokens.is_capital(place + 1):
        return tokens.is_capital(place - 2) and tokens.word(place - 2) not in known
    if tokens.form(place + 1) == "&":
        return tokens.is_capital(place + 2) and tokens.word(place + 2) not in known
    return False


def _is_town(tokens: Tokens, place: int, known: Mapping[str, Gender]) -> bool:
    if tokens.has_possessive(place):
        return tokens.word(place + 3) in _HEADS_OF_PLACES
    before, after = tokens.word(place - 1), tokens.word(place + 1)
    if before in name_words.PLACE_PREPOSITIONS and not _is_to_person(tokens, place):
        return True
    if before in ("the", "a", "an"):
        return after[:1].isalpha() and not tokens.is_capital(place + 1)
    return (
        _is_beside_place(tokens, place, known)
        or _is_described_as_place(tokens, place)
        or _is_team(tokens, place)
    )


def _is_to_person(tokens: Tokens, place: int) -> bool:
    """Tell `gave it to Charlotte` from `moved to Charlotte`."""
    verbs = {"to": _SPOKEN_OR_GIVEN, "from": _GOT}.get(tokens.word(place - 1))
    if verbs is None or tokens.starts_sentence(place - 1):
        return False
    for earlier in range(place - 2, place - 2 - _LOOK_AHEAD, -1):
        if tokens.word(earlier) in verbs:
            return True
        if tokens.starts_sentence(earlier):
            return False
    return False


def _is_beside_place(tokens: Tokens, place: int, known: Mapping[str, Gender]) -> bool:
    """Tell `Florence, Italy` and `Georgia and Florida` from `Georgia and Mary`."""
    for sign, other in ((place - 1, place - 2), (place + 1, place + 2)):
        if tokens.word(sign) not in (",", "and", "or") or not tokens.is_capital(other):
            continue
        word = tokens.word(other)
        if word in _STATES:
            return True
        is_address = tokens.word(sign) == "," and word not in known
        if is_address and (other > place or tokens.word(place) in _STATES):
            return True
    return False


def _is_described_as_place(tokens: Tokens, place: int) -> bool:
    """Tell `Austin is the capital of Texas` and `Lorraine is in France`."""
    if tokens.word(place + 1) not in ("is", "was", "lies"):
        return False
    if tokens.word(place + 2) in ("in", "near") and tokens.is_capital(place + 3):
        return True
    for following in range(place + 2, place + 2 + _LOOK_AHEAD):
        if not tokens.word(following)[:1].isalpha():
            return False
        if tokens.word(following) in _PLACE_NOUNS:
            return True
    return False


def _is_team(tokens: Tokens, place: int) -> bool:
    """Tell `Charlotte Hornets` from `Charlotte Jones`."""
    after = tokens.word(place + 1)
    is_plural = after.endswith("s") and len(after) > len("ross")
    return is_plural and tokens.is_capital(place + 1) and after not in surnames()


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
