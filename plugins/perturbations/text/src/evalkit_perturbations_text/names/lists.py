"""Lists of names: who has them, how often, and where they were published."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from itertools import islice
from typing import NamedTuple

from evalkit_perturbations_text.names import words as name_words
from evalkit_perturbations_text.names.country_names import (
    REVIEWED_NAMES,
    Gender,
    OneGender,
    country_first_names,
    country_spellings,
    without_accents,
)

_SAME_ORDER = 0.04
"""Share, of the more frequent use, from which a name counts as both genders'."""

_MOSTLY_LAST = 4
"""How many times as frequent as a first name a surname is that counts as that only."""

_COMMON = 0.015
"""Percent of a gender that has a common name; about the first 500 names."""


class _Frequencies(NamedTuple):
    """Percent of all women and of all men that have a name, most frequent first."""

    female: dict[str, float]
    male: dict[str, float]


@cache
def _census() -> _Frequencies:
    """Read the US census of 1990, as the package `names` (MIT licence) ships it."""
    return _Frequencies(_read("dist.female.first"), _read("dist.male.first"))


def _read(file: str, most: int | None = None) -> dict[str, float]:
    with files("names").joinpath(file).open(encoding="ascii") as lines:
        words = "".join(islice(lines, most)).lower().split()
    # each line has a name, its percentage, their sum so far, and its rank
    return dict(zip(words[::4], map(float, words[1::4]), strict=True))


@cache
def surnames() -> frozenset[str]:
    """Return the 5 000 most frequent surnames of the 1990 US census, in lower case."""
    return frozenset(_surname_shares())


@cache
def _surname_shares() -> dict[str, float]:
    """Return the percent of people that have one of these surnames, in lower case."""
    return _read("dist.all.last", 5_000)


@cache
def first_names() -> dict[str, Gender]:
    """Return who has a first name."""
    female, male = _census()
    found: dict[str, Gender] = {}
    last = _surname_shares()
    for name in [*female, *male]:
        share = max(female.get(name, 0.0), male.get(name, 0.0))
        if last.get(name, 0.0) <= _MOSTLY_LAST * share:
            found[name] = _gender(female.get(name, 0.0), male.get(name, 0.0))
    reviewed: dict[str, Gender] = {
        **dict.fromkeys(sorted(name_words.MORE_FEMALE), "female"),
        **dict.fromkeys(sorted(name_words.MORE_MALE), "male"),
        **dict.fromkeys(sorted(name_words.EITHER_GENDER), "either"),
    }
    found.update(_names_of_countries({**found, **reviewed}))
    found.update(reviewed)
    for name in name_words.NO_NAMES:
        found.pop(name, None)
    return found


def _names_of_countries(known: Mapping[str, Gender]) -> dict[str, Gender]:
    """Return what the lists of all countries add to, or say against, what is known.

    A name with accents that both have is as it is known without them.
    """
    female, male = _census()
    mostly_last = surnames() | ((female.keys() | male.keys()) - known.keys())
    found: dict[str, Gender] = {}
    for name, (gender, _) in country_first_names().items():
        if name in known:
            share = max(female.get(name, 0.0), male.get(name, 0.0))
            if gender != known[name] and share < _COMMON:
                found[name] = "either"
        elif name not in mostly_last:
            plain = known.get(without_accents(name), "either")
            if plain != "either" or gender != "either":
                found[name] = plain if gender == "either" else gender
    return found


def _gender(female: float, male: float) -> Gender:
    if min(female, male) > _SAME_ORDER * max(female, male):
        return "either"
    return "female" if female > male else "male"


@cache
def common_first_names() -> frozenset[str]:
    """Return first names, in lower case, that are common and no words."""
    female, male = _census()
    common = {
        name
        for frequencies in (female, male)
        for name, share in frequencies.items()
        if share >= _COMMON
    }
    common |= name_words.MORE_FEMALE | name_words.MORE_MALE | name_words.EITHER_GENDER
    common.update(*(names for each in REVIEWED_NAMES.values() for names in each))
    return frozenset(common - name_words.WORD_NAMES - name_words.NO_NAMES)


@cache
def ranked_names(gender: Gender) -> tuple[str, ...]:
    """Return names to choose replacements from, most frequent first."""
    frequencies = _census().female if gender == "female" else _census().male
    genders = first_names()
    places = name_words.PLACE_NAMES | name_words.TOWNS
    return tuple(
        name
        for name in frequencies
        if name in common_first_names()
        and genders.get(name) == gender
        and name not in places
        and len(name) > 2
    )


@cache
def rank_of(name: str) -> int:
    """Return the place of a name among those of its gender; 200 for an unlisted one."""
    female, male = _census()
    gender = first_names().get(name)
    ranked = female if gender == "female" else male
    for rank, other in enumerate(ranked):
        if other == name:
            return rank
    return 200


def is_census_name(name: str) -> bool:
    """Tell whether the US census of 1990 lists a first name."""
    female, male = _census()
    return name in female or name in male


def country_of(name: str) -> str:
    """Return the country whose list a name is taken from."""
    known = country_first_names().get(name)
    return _HOME if known is None else known.locale


_HOME = "en_US"
"""Country of the reviewed names that no list of a country has."""


@cache
def names_of_country(locale: str, gender: OneGender) -> tuple[str, ...]:
    """Return the names of a gender on a country's list that are no words or places."""
    known = first_names()
    others = name_words.WORD_NAMES | name_words.PLACE_NAMES | name_words.TOWNS
    return tuple(
        name
        for name in country_spellings(locale, gender)
        if known.get(name.lower()) == gender and name.lower() not in others
    )
