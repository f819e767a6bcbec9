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

    suffix: Annotated[str, Field(min_length=1)]
    """The text."""


class HelmSuffix(HelmTextPerturbation):
    """Appends a comma, a blank and the user's suffix; it has to be given."""

    Parameters: ClassVar[type[BaseModel]] = HelmSuffixParameters
    label_effect: ClassVar[dict[str, Effect]] = {"*": "uncertain"}

    def perturb(self, text: str, rng: Random) -> str:
        """Change one text."""
        assert isinstance(self.parameters, HelmSuffixParameters)
        return f"{text}, {self.parameters.suffix}"
