"""Names of the other gender that keep the group which a list says a name is of."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from random import Random

from evalkit_perturbations_text.grammar.tokens import word_set
from evalkit_perturbations_text.names.country_names import (
    OneGender,
    country_first_names,
    country_names,
)
from evalkit_perturbations_text.names.groups import PAIRED, name_group
from evalkit_perturbations_text.names.lists import (
    common_first_names,
    country_of,
    is_census_name,
    names_of_country,
    rank_of,
    ranked_names,
)

_ORIGINS = {
    "es_MX": word_set(
        """
        adriana angelica beatriz blanca camila catalina consuelo cristina elvira
        esperanza francisca gabriela graciela guadalupe inez isabel josefina juana
        juanita leticia lorena luisa luz manuela margarita maribel marisol maritza marta
        mayra mireya ofelia paola raquel rosalba silvia socorro yadira yolanda

        agustin alberto alejandro alfonso alfredo andres antonio armando arturo benito
        carlos cesar domingo eduardo efrain efren emilio enrique ernesto felipe fernando
        francisco gerardo gilberto guillermo gustavo hector humberto ignacio ismael
        javier joaquin jorge jose juan julio leonardo lorenzo luis manuel marcos mario
        miguel pablo pedro rafael ramiro ramon raul reynaldo ricardo rigoberto roberto
        rodolfo rogelio rolando ruben salvador santiago sergio tomas vicente
        """
    ),
    "fr_DZ": word_set(
        """
        amina fatima jamila karima layla leila malika mariam maryam samira yasmin
        yasmine

        abdul ahmad ahmed hassan mohamed mohammad mohammed omar
        """
    ),
    "ja_JP": word_set("keiko miki yoko yuko"),
    "en_IN": word_set("indira kamala nisha"),
    "et_EE": word_set("galina irina svetlana boris"),
    "it_IT": word_set("francesca giovanni salvatore"),
    "fr_FR": word_set("jacques pierre"),
    "de_DE": word_set("birgit inge hans"),
}
"""By Faker's locale whose list has names like them; Spanish ones by Mexico's, Arabic
ones by Algeria's, and Russian ones by Estonia's."""

_REVIEWED = """
    az_AZ cs_CZ de_DE es_ES es_MX fr_DZ fr_FR ha_NG it_IT ja_JP pl_PL pt_BR pt_PT tr_TR
    uz_UZ
    """

REVIEWED_LOCALES = frozenset(_REVIEWED.split())
"""Locales whose list tells where a rare name of the census is from, where no list of
an English-speaking country has it; others, as Kenya's, hold many English names."""

ENGLISH_LOCALES = ("en_US", "en_GB", "en_NZ", "en_IE", "ga_IE")


@cache
def census_origins() -> Mapping[str, str]:
    """Return the locale of each of these names, by name in lower case."""
    return {name: locale for locale, names in _ORIGINS.items() for name in names}


UNMARKED = ""
"""The group of names that no list gives to a group of people: most of the US census."""

_NEAREST = 20
"""How many names of like frequency a replacement is drawn from."""


@cache
def group_of(name: str) -> str:
    """Say which group of people the lists give a first name to."""
    for study in PAIRED:
        if name in _of_study(study):
            return study
    if not is_census_name(name):
        locale = country_of(name)
        return UNMARKED if locale in ENGLISH_LOCALES else locale
    origin = census_origins().get(name)
    if origin is not None:
        return origin
    known = country_first_names().get(name)
    if known is None or name in common_first_names() or name in _english_names():
        return UNMARKED
    return known.locale if known.locale in REVIEWED_LOCALES else UNMARKED


@cache
def _of_study(study: str) -> frozenset[str]:
    names = name_group(study)
    return frozenset(name.lower() for name in (*names.female, *names.male))


@cache
def _english_names() -> frozenset[str]:
    """Return the names on the lists of English-speaking countries, in lower case."""
    return frozenset(
        name.lower()
        for locale in ENGLISH_LOCALES
        for names in country_names(locale)[:2]
        for name in names
    )


def counterparts(name: str, gender: OneGender, rng: Random) -> Iterator[str]:
    """Return names of a gender that are of the group of a name."""
    group = group_of(name)
    if group == UNMARKED:
        yield from nearest_in_rank(name, gender, rng)
        return
    names = _names_of(group, gender)
    first = int(rng.random() * len(names))
    yield from names[first:]
    yield from names[:first]


@cache
def _names_of(group: str, gender: OneGender) -> tuple[str, ...]:
    """Return the names of a group; a country's without those known from elsewhere."""
    if group in PAIRED:
        names = name_group(group)
        return names.female if gender == "female" else names.male
    return tuple(
        name
        for name in names_of_country(group, gender)
        if region_of(group_of(name.lower())) == region_of(group)
    )


def region_of(group: str) -> str:
    """Return the countries of a language as one, where their lists have like names."""
    language = group.partition("_")[0]
    is_shared = language in ("es", "pt", "de", "fr", "nl") and group != "fr_DZ"
    return language if is_shared else group


@cache
def unmarked_names(gender: OneGender) -> tuple[str, ...]:
    """Return the names that an unmarked one may become, most frequent first."""
    return tuple(name for name in ranked_names(gender) if group_of(name) == UNMARKED)


def nearest_in_rank(name: str, gender: OneGender, rng: Random) -> Iterator[str]:
    """Return unmarked names of a gender, those first that are about as frequent."""
    ranked = unmarked_names(gender)
    middle = min(rank_of(name), len(ranked) - _NEAREST // 2)
    low = max(0, min(middle - _NEAREST // 2, len(ranked) - _NEAREST))
    first = low + int(rng.random() * _NEAREST)
    yield from ranked[first : low + _NEAREST]
    yield from ranked[low:first]
    yield from ranked[low + _NEAREST :]
    yield from reversed(ranked[:low])
