"""Groups of names that a name may come from.

A group says what a published study or list says of the names: their association with a
group of people in that study, or the country under which a list is kept. It says
nothing about the identity of anybody who has such a name.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

from evalkit_perturbations_text.names.country_names import country_names
from evalkit_perturbations_text.names.lists import ranked_names, surnames

_BERTRAND = "bertrand-mullainathan-2004"

CITATION = """@article{bertrand-mullainathan-2004,
  title = {Are {Emily} and {Greg} More Employable than {Lakisha} and {Jamal}? A Field
           Experiment on Labor Market Discrimination},
  author = {Bertrand, Marianne and Mullainathan, Sendhil},
  journal = {American Economic Review},
  volume = {94},
  number = {4},
  pages = {991--1013},
  year = {2004},
  doi = {10.1257/0002828042002561}
}"""
"""Where the names of `bertrand-mullainathan-2004-white` and `-black` are from: first
names that were distinctive in birth certificates of Massachusetts from 1974 to 1979,
and that people asked in Chicago took for white or African-American names."""

_PUBLISHED = {
    f"{_BERTRAND}-white": (
        "Allison Anne Carrie Emily Jill Kristen Laurie Meredith Sarah",
        "Brad Brendan Brett Geoffrey Greg Jay Matthew Neil Todd",
    ),
    f"{_BERTRAND}-black": (
        "Aisha Ebony Keisha Kenya Lakisha Latonya Latoya Tamika Tanisha",
        "Darnell Hakim Jamal Jermaine Kareem Leroy Rasheed Tremayne Tyrone",
    ),
}

PAIRED = tuple(_PUBLISHED)
"""The two groups of the study, of which the default target draws one."""

COUNTRY = "country:"
"""Beginning of the name of a group that is one of Faker's locales."""

CENSUS = "us-census-1990"
"""Common names of the US census of 1990."""


class NameGroup(NamedTuple):
    """Names that a study or list puts together."""

    female: tuple[str, ...]
    """First names of women."""
    male: tuple[str, ...]
    """First names of men."""
    last: tuple[str, ...]
    """Surnames; none where the source has none."""
    either: tuple[str, ...] = ()
    """First names whose gender nobody said, of a user's list only."""


def group_problem(name: str) -> str:
    """Say why there is no group of a name."""
    if name in _PUBLISHED or name == CENSUS:
        return ""
    known = ", ".join([*_PUBLISHED, CENSUS])
    advice = f"groups are {known}, and {COUNTRY}LOCALE with one of Faker's locales"
    if not name.startswith(COUNTRY):
        return f"there is no group of names {name!r}; {advice}"
    from faker.config import AVAILABLE_LOCALES

    locale = name.removeprefix(COUNTRY)
    if locale not in AVAILABLE_LOCALES:
        return f"Faker has no locale {locale!r}; {advice}, such as {COUNTRY}en_GB"
    try:
        group = name_group(name)
    except ModuleNotFoundError:
        return f"Faker has no names of its own for {locale!r}; {advice}"
    if not (group.female and group.male):
        return (
            f"Faker's first names for {locale!r} are not in Latin script, or not apart "
            f"by gender; {advice}"
        )
    return ""


def _as_surname(word: str) -> str:
    """Write a surname of the census, which has all in lower case, as usual."""
    if word.startswith("mc") and len(word) > len("mccc"):
        return "Mc" + word[2:].capitalize()
    return word.capitalize()


@cache
def name_group(name: str) -> NameGroup:
    """Return a group."""
    if name.startswith(COUNTRY):
        return NameGroup(*country_names(name.removeprefix(COUNTRY)))
    if name == CENSUS:
        last = tuple(map(_as_surname, sorted(surnames())))
        return NameGroup(ranked_names("female"), ranked_names("male"), last)
    female, male = _PUBLISHED[name]
    return NameGroup(tuple(female.split()), tuple(male.split()), ())
