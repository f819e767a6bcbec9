"""Lists of names: who has them, how often, and where they were published."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from random import Random
from typing import Literal, NamedTuple

from evalkit_perturbations_text import name_words

Gender = Literal["female", "male", "either"]

_SAME_ORDER = 0.04
"""Share, of the more frequent use, from which a name counts as both genders'."""

_MOSTLY_LAST = 4
"""How many times as frequent as a first name a surname is that counts as that only."""

_COMMON = 0.015
"""Percent of a gender that has a common name; about the first 500 names."""


_NEAREST = 20
"""How many names of like frequency a replacement is drawn from."""


class _Frequencies(NamedTuple):
    """Percent of all women and of all men that have a name, most frequent first."""

    female: dict[str, float]
    male: dict[str, float]


@cache
def _census() -> _Frequencies:
    """Read the US census of 1990, as the package `names` (MIT licence) ships it."""
    return _Frequencies(_read("dist.female.first"), _read("dist.male.first"))


def _read(file: str) -> dict[str, float]:
    lines = files("names").joinpath(file).read_text("ascii").splitlines()
    rows = (line.split() for line in lines)
    return {row[0].lower(): float(row[1]) for row in rows}


@cache
def surnames() -> frozenset[str]:
    """Give the 5 000 most frequent surnames of the US census of 1990, in lower case."""
    return frozenset(list(_surname_shares())[:5_000])


@cache
def _surname_shares() -> dict[str, float]:
    """Give the percent of people that have a surname, in lower case."""
    return _read("dist.all.last")


@cache
def first_names() -> dict[str, Gender]:
    """Give who has a first name.

    Returns:
        `female`, `male` or `either`, by name in lower case. From the US census of
        1990, Faker's lists for the US and the UK, and reviewed lists of this package,
        of which the last win.
    """
    female, male = _census()
    found: dict[str, Gender] = {}
    last = _surname_shares()
    for name in [*female, *male]:
        share = max(female.get(name, 0.0), male.get(name, 0.0))
        if last.get(name, 0.0) <= _MOSTLY_LAST * share:
            found[name] = _gender(female.get(name, 0.0), male.get(name, 0.0))
    for locale in ("en_US", "en_GB"):
        _add_locale(found, locale)
    found.update(dict.fromkeys(sorted(name_words.MORE_FEMALE), "female"))
    found.update(dict.fromkeys(sorted(name_words.MORE_MALE), "male"))
    found.update(dict.fromkeys(sorted(name_words.EITHER_GENDER), "either"))
    for name in name_words.NO_NAMES:
        found.pop(name, None)
    return found


def _gender(female: float, male: float) -> Gender:
    if min(female, male) > _SAME_ORDER * max(female, male):
        return "either"
    return "female" if female > male else "male"


def _add_locale(found: dict[str, Gender], locale: str) -> None:
    last = _surname_shares()
    women, men = (frozenset(names) for names in country_names(locale)[:2])
    for name in sorted(women | men):
        lower = name.lower()
        if lower in last and lower not in found:
            continue
        if name in women and name in men:
            found[lower] = "either"
        else:
            found.setdefault(lower, "female" if name in women else "male")


class CountryNames(NamedTuple):
    """Names that Faker lists for one locale, which stands for a country."""

    female: tuple[str, ...]
    male: tuple[str, ...]
    last: tuple[str, ...]


@cache
def country_names(locale: str) -> CountryNames:
    """Give Faker's names of a country, in Latin script and of one word only.

    Args:
        locale: One of Faker's locales, such as `en_US`.

    Returns:
        First names of women and of men, and surnames, sorted; none of a kind where
        Faker lists none.

    Raises:
        ModuleNotFoundError: Faker has no names for the locale.
    """
    from importlib import import_module

    provider = import_module(f"faker.providers.person.{locale}").Provider
    return CountryNames(
        _plain(provider, "first_names_female", "first_names_women"),
        _plain(provider, "first_names_male", "first_names_men"),
        _plain(provider, "last_names", "last_names_female"),
    )


def _plain(provider: object, *attributes: str) -> tuple[str, ...]:
    for attribute in attributes:
        names = getattr(provider, attribute, ())
        plain = {name for name in names if isinstance(name, str) and _is_latin(name)}
        if plain:
            return tuple(sorted(plain))
    return ()


def _is_latin(name: str) -> bool:
    """Tell whether a name is one word in Latin script with a first capital."""
    is_word = name.replace("-", "").replace("'", "").isalpha()
    is_latin = all(sign <= "\u024f" or "\u1e00" <= sign <= "\u1eff" for sign in name)
    return is_word and name[0].isupper() and is_latin


@cache
def common_first_names() -> frozenset[str]:
    """Give first names, in lower case, that are common and no words."""
    female, male = _census()
    common = {
        name
        for frequencies in (female, male)
        for name, share in frequencies.items()
        if share >= _COMMON
    }
    common |= name_words.MORE_FEMALE | name_words.MORE_MALE | name_words.EITHER_GENDER
    return frozenset(common - name_words.WORD_NAMES - name_words.NO_NAMES)


@cache
def ranked_names(gender: Gender) -> tuple[str, ...]:
    """Give names to choose replacements from, most frequent first.

    Args:
        gender: `female` or `male`.

    Returns:
        Names in lower case that one gender has, that are common in the US census of
        1990 and neither words nor places.
    """
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
    """Give the place of a name among those of its gender; 200 for an unlisted one."""
    female, male = _census()
    gender = first_names().get(name)
    ranked = female if gender == "female" else male
    for rank, other in enumerate(ranked):
        if other == name:
            return rank
    return 200


def nearest_in_rank(name: str, gender: Gender, rng: Random) -> Iterator[str]:
    """Give names of a gender, those first that are about as frequent as a name.

    Args:
        name: A name in lower case.
        gender: `female` or `male`.
        rng: Chooses with which of the twenty nearest in rank to begin.

    Yields:
        All of `ranked_names`, in lower case: the twenty nearest, then those that are
        less frequent, then those that are more.
    """
    ranked = ranked_names(gender)
    middle = min(rank_of(name), len(ranked) - _NEAREST // 2)
    low = max(0, min(middle - _NEAREST // 2, len(ranked) - _NEAREST))
    first = low + int(rng.random() * _NEAREST)
    yield from ranked[first : low + _NEAREST]
    yield from ranked[low:first]
    yield from ranked[low + _NEAREST :]
    yield from reversed(ranked[:low])
