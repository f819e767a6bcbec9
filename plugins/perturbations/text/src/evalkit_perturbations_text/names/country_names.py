"""Names that Faker lists for countries: which ones, who has them, and where."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Literal, NamedTuple

from evalkit_perturbations_text.names.country_name_words import OTHER_WORDS
from evalkit_perturbations_text.names.reviewed_country_names import REVIEWED_NAMES

Gender = Literal["female", "male", "either"]
OneGender = Literal["female", "male"]

_IN_ORDER = """
    pl_PL cs_CZ sk_SK hu_HU sl_SI hr_HR ro_RO tr_TR az_AZ uz_UZ lv_LV et_EE fi_FI it_IT
    pt_PT pt_BR es_ES es_MX es_AR es_CO es_CL es_CA fr_FR da_DK no_NO sv_SE de_DE de_AT
    nl_NL en_IE ga_IE en_IN ig_NG ha_NG yo_NG tw_GH en_KE zu_ZA ja_JP id_ID fr_DZ en_GB
    en_NZ en_US fr_CA fr_CH fr_BE nl_BE de_CH
    """

LOCALES = tuple(_IN_ORDER.split())
"""Faker's locales whose first names are known, those whose list has few names of people
who came from elsewhere first. They are the lists in Latin script, apart by gender, but
`en`, which is of no country; `is_IS`, `sw` and `vi_VN`, which hold many words; and
`de_LI`, `de_LU`, `en_NG` and `fr_QC`, which have nearly all from another."""

_FEWEST_LETTERS = 3

_LETTERS = str.maketrans(
    {"ø": "o", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "æ": "ae", "ß": "ss"}
    | {"ı": "i", "œ": "oe"}
)
"""Letters that are no letter and a mark in Unicode."""


class CountryNames(NamedTuple):
    """Names that Faker lists for one locale, which stands for a country."""

    female: tuple[str, ...]
    male: tuple[str, ...]
    last: tuple[str, ...]


class CountryName(NamedTuple):
    """What the lists of countries say of a first name."""

    gender: Gender
    """`either` where a list of women has it, and a list of men, accents aside."""
    locale: str
    """The first of `LOCALES` that holds the name, reviewed names before Faker's."""


@cache
def country_names(locale: str) -> CountryNames:
    """Return Faker's names of a country, in Latin script and of one word only."""
    from importlib import import_module

    provider = import_module(f"faker.providers.person.{locale}").Provider
    women = ("first_names_female", "first_names_women", "first_romanized_names_female")
    men = ("first_names_male", "first_names_men", "first_romanized_names_male")
    last = ("last_names", "last_names_female", "last_romanized_names")
    return CountryNames(*(_plain(provider, *names) for names in (women, men, last)))


def _plain(provider: object, *attributes: str) -> tuple[str, ...]:
    for attribute in attributes:
        names = getattr(provider, attribute, ())
        plain = {name for name in names if isinstance(name, str) and _is_latin(name)}
        if plain:
            return tuple(sorted(plain))
    return ()


def _is_latin(name: str) -> bool:
    """Tell whether a name is one word in Latin script with a first capital."""
    is_word = name.isalpha() or name.replace("-", "").replace("'", "").isalpha()
    if not is_word or not name[0].isupper():
        return False
    return name.isascii() or all(
        sign <= "\u024f" or "\u1e00" <= sign <= "\u1eff" for sign in name
    )


def without_accents(word: str) -> str:
    """Write a word in lower case with plain letters `a` to `z`."""
    if word.isascii():
        return word
    apart = unicodedata.normalize("NFKD", word.translate(_LETTERS))
    return "".join(sign for sign in apart if not unicodedata.combining(sign))


def _usable(names: tuple[str, ...]) -> Iterator[str]:
    """Return the names that have three letters or more, and no hyphen or apostrophe."""
    return (name for name in names if len(name) >= _FEWEST_LETTERS and name.isalpha())


def _lower(names: tuple[str, ...]) -> frozenset[str]:
    return frozenset(name.lower() for name in _usable(names))


def _gender(is_womans: bool, is_mans: bool) -> Gender:
    if is_womans and is_mans:
        return "either"
    return "female" if is_womans else "male"


@cache
def country_first_names() -> Mapping[str, CountryName]:
    """Return the first names in all lists of `LOCALES`."""
    lists = [(locale, *names) for locale, names in REVIEWED_NAMES.items()]
    lists += [
        (locale, _lower(names.female), _lower(names.male))
        for locale, names in zip(LOCALES, map(country_names, LOCALES), strict=True)
    ]
    women = {without_accents(name) for _, names, _ in lists for name in names}
    men = {without_accents(name) for _, _, names in lists for name in names}
    for female, male in REVIEWED_NAMES.values():
        women -= {without_accents(name) for name in male - female}
        men -= {without_accents(name) for name in female - male}
    found: dict[str, CountryName] = {}
    for locale, female, male in lists:
        for name in (female | male) - found.keys():
            plain = without_accents(name)
            known = CountryName(_gender(plain in women, plain in men), locale)
            found[name] = known
            if plain != name:
                found.setdefault(plain, known)
                found.setdefault(unicodedata.normalize("NFD", name), known)
    for word in OTHER_WORDS:
        found.pop(word, None)
    return found


@cache
def country_spellings(locale: str, gender: OneGender) -> tuple[str, ...]:
    """Return a country's names that only one gender's list has."""
    women, men, _ = country_names(locale)
    known = country_first_names()
    return tuple(
        name
        for name in _usable(women if gender == "female" else men)
        if name.lower() in known and known[name.lower()].gender == gender
    )
