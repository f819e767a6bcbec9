"""HELM's `style`."""

from __future__ import annotations

from random import Random
from typing import Annotated, ClassVar

from pydantic import BaseModel, Field

from evalkit import Parameters
from evalkit_perturbations_text.helm.base import HelmTextPerturbation
from evalkit_perturbations_text.text_perturbations import Effect


class HelmSuffixParameters(Parameters):
    """What is appended."""

    suffix: Annotated[str, Field(min_length=1, examples=["pixel art"])]
    """The text."""


class HelmSuffix(HelmTextPerturbation):
    """Appends a comma, a blank and the user's suffix; it has to be given.

    HELM's `style` (Liang et al., Holistic Evaluation of Language Models, 2023; version
    0.5.16), which it uses for prompts of images. Deterministic. What the suffix does to
    an answer is not known.
    """

    Parameters: ClassVar[type[BaseModel]] = HelmSuffixParameters
    label_effect: ClassVar[dict[str, Effect]] = {"*": "uncertain"}

    def perturb(self, text: str, rng: Random) -> str:
        """Change one text."""
        assert isinstance(self.parameters, HelmSuffixParameters)
        return f"{text}, {self.parameters.suffix}"
