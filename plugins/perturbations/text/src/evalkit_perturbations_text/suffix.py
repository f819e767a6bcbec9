"""A text of the user's at the end."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import Annotated, ClassVar

from pydantic import BaseModel, Field

from evalkit import Edit, Parameters
from evalkit_perturbations_text.text_perturbations import Effect, TextPerturbation


class SuffixParameters(Parameters):
    """What is appended."""

    suffix: Annotated[str, Field(min_length=1, examples=["pixel art"])]
    """The text."""
    separator: str = ", "
    """What stands between the two."""


class Suffix(TextPerturbation):
    """Appends the user's suffix, such as `pixel art`; it has to be given.

    Deterministic. Blanks at the end of the text stay at the end. What the suffix does
    to an answer is not known.
    """

    Parameters: ClassVar[type[BaseModel]] = SuffixParameters
    families = frozenset({"style"})
    label_effect: ClassVar[Mapping[str, Effect]] = {"*": "uncertain"}

    def __init__(self, parameters: BaseModel | None = None) -> None:
        super().__init__(parameters)
        chosen = self.parameters
        assert isinstance(chosen, SuffixParameters)
        self.addition = chosen.separator + chosen.suffix

    def edits_of(self, text: str, rng: Random) -> list[Edit]:
        """Insert after the last sign that is no blank."""
        place = len(text.rstrip())
        return [Edit(place, place, self.addition)]
