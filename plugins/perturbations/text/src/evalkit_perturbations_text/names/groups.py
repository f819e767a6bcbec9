"""Groups of names that a name may come from.

A group says what a published study or list says of the names: their association with a
group of people in that study, or the country under which a list is kept. It says
nothing about the identity of anybody who has such a name.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, Literal, NamedTuple

from evalkit import DataError
from evalkit_perturbations_text.grammar.tokens import Tokens
from evalkit_perturbations_text.names.country_names import country_names
from evalkit_perturbations_text.names.lists import first_names, ranked_names, surnames
from evalkit_perturbations_text.text_perturbations import texts_of

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


Kind = Literal["first", "last"]

_GENDERS = ("female", "male")


def read_names(path: Path, kind: Kind, *, needs_gender: bool = False) -> NameGroup:
    """Read a user's list of names."""
    from evalkit.catalog import local_file

    path = local_file(path)
    found: dict[str, list[str]] = {"female": [], "male": [], "": []}
    lines: dict[str, int] = {}
    for number, line in enumerate(_read(path).splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        place = f"{path}, line {number}"
        name, gender = _split(place, line, kind)
        earlier = lines.setdefault(name.lower(), number)
        if earlier != number:
            raise DataError(f"{place}: {name!r} is on line {earlier} already")
        gender = gender or _known_gender(name, kind)
        if needs_gender and not gender:
            raise DataError(
                f"{place}: the gender of {name!r} is not known; write a tab and female "
                "or male behind it, or choose preserve_gender=false"
            )
        found[gender].append(name)
    if not lines:
        raise DataError(f"{path}: the list of names is empty; add at least one")
    female, male, other = (tuple(names) for names in found.values())
    if kind == "last":
        return NameGroup((), (), other)
    return NameGroup(female, male, (), other)


def _read(path: Path) -> str:
    try:
        return path.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(
            f"{path}: the list of names cannot be read: {error}; give the path of a "
            "file in UTF-8 with a name in each line"
        ) from error


def _split(place: str, line: str, kind: Kind) -> tuple[str, str]:
    name, tab, gender = line.partition("\t")
    name, gender = name.strip(), gender.strip()
    if len(Tokens(name).forms) != 1 or not name[0].isalpha():
        raise DataError(f"{place}: {name!r} is not one word that begins with a letter")
    if tab and kind == "last":
        raise DataError(f"{place}: surnames stand alone, and a tab follows {name!r}")
    if gender and gender not in _GENDERS:
        raise DataError(f"{place}: {gender!r} is neither 'female' nor 'male'")
    return name, gender


def _known_gender(name: str, kind: Kind) -> str:
    gender = first_names().get(name.lower()) if kind == "first" else None
    return gender if gender in _GENDERS else ""


NAME_GROUP = "name-group:"
"""Beginning of the tag that names a group."""


def with_name_groups(
    tags: Sequence[str],
    original: Mapping[str, Any],
    copy: Mapping[str, Any],
    targets: Iterable[str],
    own: Mapping[str, NameGroup],
) -> list[str]:
    """Return the tags of a copy whose names were replaced."""
    changed = {**original, **copy}
    new = _capital_words(changed) - _all_words(original)
    left = _capital_words(original) & _all_words(changed)
    added = [
        NAME_GROUP + group
        for group in targets
        if not new.isdisjoint(_words_of(group, own))
    ]
    kept = [tag for tag in tags if tag not in added and _may_hold(tag, left, own)]
    return [*kept, *added]


def _may_hold(tag: str, words: frozenset[str], own: Mapping[str, NameGroup]) -> bool:
    """Tell whether a tag is of another kind, or of a group that has such a word."""
    group = tag.removeprefix(NAME_GROUP)
    if group == tag:
        return True
    is_known = group in own or not group_problem(group)
    return is_known and not words.isdisjoint(_words_of(group, own))


def _all_words(row: Mapping[str, Any]) -> frozenset[str]:
    return frozenset(word for text in texts_of(row) for word in Tokens(text).lower)


def _capital_words(row: Mapping[str, Any]) -> frozenset[str]:
    """Return the words that may be names, in lower case."""
    forms = [form for text in texts_of(row) for form in Tokens(text).forms]
    capital = [form for form in forms if form[0].isupper()]
    return frozenset(form.lower() for form in capital or forms)


def _words_of(group: str, own: Mapping[str, NameGroup]) -> frozenset[str]:
    return _words_in(own[group] if group in own else name_group(group))


@lru_cache(maxsize=16)
def _words_in(names: NameGroup) -> frozenset[str]:
    """Return the words of all names of a group, in lower case."""
    return frozenset(
        word
        for name in (*names.female, *names.male, *names.last, *names.either)
        for word in Tokens(name).lower
        if word.isalpha()
    )
