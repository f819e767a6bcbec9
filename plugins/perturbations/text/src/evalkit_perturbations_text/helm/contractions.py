"""HELM's `contraction` and `expansion`."""

from __future__ import annotations

import re
from random import Random

from evalkit_perturbations_text.helm.base import HelmTextPerturbation, match_case
from evalkit_perturbations_text.helm.contraction_table import full_forms

_FULL_FORMS = full_forms()
_SHORT_FORMS = {full: short for short, full in _FULL_FORMS.items() if short != "ain't"}

_FULL = re.compile(rf"\b({'|'.join(_SHORT_FORMS)})\b ", re.IGNORECASE)
_SHORT = re.compile(rf"\b({'|'.join(_FULL_FORMS)})\b", re.IGNORECASE)


def _look_up(table: dict[str, str], word: str) -> str:
    found = table.get(word, table.get(word.lower()))
    return word if found is None else match_case(word, found)


class HelmContractions(HelmTextPerturbation):
    """Draws full forms together wherever a blank follows them."""

    def perturb(self, text: str, rng: Random) -> str:
        """Change one text."""
        return _FULL.sub(lambda match: _look_up(_SHORT_FORMS, match[1]) + " ", text)


class HelmExpansions(HelmTextPerturbation):
    """Writes contractions in full; `isn't it` becomes `is not it`."""

    def perturb(self, text: str, rng: Random) -> str:
        """Change one text."""
        return _SHORT.sub(lambda match: _look_up(_FULL_FORMS, match[0]), text)
