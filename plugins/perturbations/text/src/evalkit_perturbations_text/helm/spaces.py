"""HELM's `extra_space` and `space`."""

from __future__ import annotations

import re
from random import Random
from typing import Annotated, ClassVar

from pydantic import BaseModel, Field

from evalkit import Parameters
from evalkit_perturbations_text.helm.base import HelmTextPerturbation

_BLANKS = re.compile(" +")


class HelmExtraSpaceParameters(Parameters):
    """How many blanks there are then."""

    num_spaces: Annotated[int, Field(ge=1, le=100)] = 2
    """For each blank so many."""


class HelmExtraSpace(HelmTextPerturbation):
    """Writes each blank several times.

    HELM's `extra_space` (Liang et al., Holistic Evaluation of Language Models, 2023;
    version 0.5.16); `num_spaces` for each. Deterministic.
    """

    Parameters: ClassVar[type[BaseModel]] = HelmExtraSpaceParameters

    def perturb(self, text: str, rng: Random) -> str:
        """Change one text."""
        assert isinstance(self.parameters, HelmExtraSpaceParameters)
        return text.replace(" ", " " * self.parameters.num_spaces)


class HelmSpaceParameters(Parameters):
    """How many blanks there may be."""

    max_spaces: Annotated[int, Field(ge=1, le=100)] = 3
    """The most in one place."""


class HelmSpace(HelmTextPerturbation):
    """Gives each run of blanks a drawn length, which may be the one that it has.

    HELM's `space` (Liang et al., Holistic Evaluation of Language Models, 2023; version
    0.5.16): from 1 to `max_spaces`, each as likely. `random-space` changes every run
    that it draws.
    """

    Parameters: ClassVar[type[BaseModel]] = HelmSpaceParameters

    def perturb(self, text: str, rng: Random) -> str:
        """Change one text."""
        assert isinstance(self.parameters, HelmSpaceParameters)
        most = self.parameters.max_spaces
        return _BLANKS.sub(lambda _: " " * rng.randint(1, most), text)
