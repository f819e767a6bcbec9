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
    """Draws full forms together wherever a blank follows them.

    HELM's `contraction` (Liang et al., Holistic Evaluation of Language Models, 2023;
    version 0.5.16). Deterministic. Also where English has no short form: `yes, it is
    and` becomes `yes, it's and`; `contractions` is more careful.
    """

    def perturb(self, text: str, rng: Random) -> str:
        """Change one text."""
        return _FULL.sub(lambda match: _look_up(_SHORT_FORMS, match[1]) + " ", text)


class HelmExpansions(HelmTextPerturbation):
    """Writes contractions in full; `isn't it` becomes `is not it`.

    HELM's `expansion` (Liang et al., Holistic Evaluation of Language Models, 2023;
    version 0.5.16). Deterministic. Questions are not turned around, and each `'s` of
    its list of words is written in full; `expansions` is more careful.
    """

    def perturb(self, text: str, rng: Random) -> str:
        """Change one text."""
        return _SHORT.sub(lambda match: _look_up(_FULL_FORMS, match[0]), text)
