"""HELM's `lowercase`."""

from __future__ import annotations

from random import Random

from evalkit_perturbations_text.helm.base import HelmTextPerturbation


class HelmLowercase(HelmTextPerturbation):
    """Turns the text into lower case.

    HELM's `lowercase` (Liang et al., Holistic Evaluation of Language Models, 2023;
    version 0.5.16). Deterministic, and nothing is protected: numbers, addresses and
    placeholders are changed as any other text. The answer to a question may not be part
    of the context any more.
    """

    def perturb(self, text: str, rng: Random) -> str:
        """Change one text."""
        return text.lower()
