"""What the perturbations about people share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from evalkit import Perturbation
from evalkit_perturbations_text.text_perturbations import Effect


class FairnessPerturbation(Perturbation):
    """Changes all texts of an example alike, for family `fairness`.

    For `qa` an answer is changed as the text is, and labels stay.
    """

    families: ClassVar[frozenset[str]] = frozenset({"fairness"})
    version: ClassVar[str] = "1"
    label_effect: ClassVar[Mapping[str, Effect]] = {
        "qa": "transforms",
        "*": "invariant",
    }
