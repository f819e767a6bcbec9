"""What the perturbations of the look of a text share."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from random import Random
from typing import Annotated, ClassVar, Literal

from pydantic import BaseModel, Field

from evalkit import Edit, Parameters, Perturbation

Effect = Literal["invariant", "transforms", "uncertain"]
Preset = Literal["mild", "medium", "hard"]
Share = Annotated[float, Field(ge=0, le=1)]

UNCHANGED_ANSWER: Mapping[str, Effect] = {"*": "invariant"}
"""For what leaves letters, and the order of words, as they are."""

UNCHANGED_LABEL: Mapping[str, Effect] = {"*": "invariant", "qa": "uncertain"}
"""For what may change the letters of the very words that answer a question, so that the
answer is not part of the context any more; labels stay."""


class TextPerturbation(Perturbation):
    """Changes each text of an example by itself, for family `robustness`."""

    families: ClassVar[frozenset[str]] = frozenset({"robustness"})
    version: ClassVar[str] = "1"
    label_effect: ClassVar[Mapping[str, Effect]] = UNCHANGED_LABEL

    def find_edits(self, texts: Sequence[str], rng: Random) -> list[list[Edit]]:
        """Say what to change in the texts of one example."""
        return [self.edits_of(text, rng) for text in texts]

    @abstractmethod
    def edits_of(self, text: str, rng: Random) -> list[Edit]:
        """Say what to change in one text."""


class StrengthParameters(Parameters):
    """How much is changed."""

    preset: Preset = "medium"
    """Sets `prob`; the class has the numbers."""
    prob: Share | None = None
    """The share of places that are changed, 0 to 1, each drawn by itself; 1 changes
    all of them."""


class RandomPerturbation(TextPerturbation):
    """Changes a share of the places in a text that it could change.

    Attributes:
        prob: The share, 0 to 1.
    """

    Parameters: ClassVar[type[BaseModel]] = StrengthParameters
    strengths: ClassVar[Mapping[Preset, float]]

    def __init__(self, parameters: BaseModel | None = None) -> None:
        super().__init__(parameters)
        chosen = self.parameters
        assert isinstance(chosen, StrengthParameters)
        given = chosen.prob
        self.prob = self.strengths[chosen.preset] if given is None else given
