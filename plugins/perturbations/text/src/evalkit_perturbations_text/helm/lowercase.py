"""HELM's `lowercase`."""

from __future__ import annotations

from random import Random

from evalkit_perturbations_text.helm.base import HelmTextPerturbation


class HelmLowercase(HelmTextPerturbation):
    """Turns the text into lower case."""

    def perturb(self, text: str, rng: Random) -> str:
        """Change one text."""
        return text.lower()
