"""What the perturbations after HELM share."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from random import Random
from typing import ClassVar

from evalkit import Perturbation
from evalkit_perturbations_text.text_perturbations import UNCHANGED_LABEL, Effect


class HelmPerturbation(Perturbation):
    """Family `helm`, with HELM's random numbers.

    HELM seeds with the id of an example alone, so that all perturbations draw the same
    numbers; each further copy puts its number before the id. Nothing is protected.
    """

    families: ClassVar[frozenset[str]] = frozenset({"helm"})
    version: ClassVar[str] = "1"
    label_effect: ClassVar[Mapping[str, Effect]] = UNCHANGED_LABEL
    protects: ClassVar[bool] = False

    def make_rng(self, seed: int, uid: str, variant: int) -> Random:
        """Make the random numbers of one example."""
        number = seed + variant
        return Random(uid if number == 0 else f"{number}{uid}")


class HelmTextPerturbation(HelmPerturbation):
    """Changes one text at a time."""

    @abstractmethod
    def perturb(self, text: str, rng: Random) -> str:
        """Change one text."""


def match_case(source: str, target: str) -> str:
    """Return a word the capitals of another, as HELM does."""
    if all(sign.islower() for sign in source):
        return target.lower()
    if all(sign.isupper() for sign in source):
        return target.upper()
    if source[0].isupper():
        return target.capitalize()
    return target
