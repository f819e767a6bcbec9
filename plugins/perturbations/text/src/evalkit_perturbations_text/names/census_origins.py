"""Names of the US census of 1990 that mostly people with roots elsewhere have.

Written and reviewed for this package. The census does not say where a name is from, and
Faker's lists of countries hold international names too (`Nancy` is on those of Mexico
and Sweden), so neither tells these apart by itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from evalkit_perturbations_text.grammar.tokens import word_set

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
