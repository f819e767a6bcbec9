"""A model that answers at random."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import Field

import evalkit
from evalkit_models_base import Model


class RandomAnswer(Model):
    """Answers one of given texts at random: what guessing is worth.

    An answer is drawn by the seed and the id of the example alone, so that it depends
    neither on the order of the examples nor on their number.
    """

    batch_requests = 10_000

    class Parameters(evalkit.Parameters):
        """Out of what it draws."""

        answers: tuple[str, ...] = Field(min_length=1, description="The answers.")
        seed: int = Field(0, description="Seed of the draws.")

    def __init__(self, parameters: Parameters) -> None:
        self._answers, self._seed = parameters.answers, parameters.seed

    def predict(self, inputs: Sequence[Mapping[str, Any]]) -> list[str]:
        """Draw an answer for each input."""
        return [self._answer(str(row["uid"])) for row in inputs]

    def _answer(self, uid: str) -> str:
        said = f"{self._seed}:{uid}".encode("utf-8", "surrogatepass")
        drawn = int.from_bytes(hashlib.sha256(said).digest(), "big")
        return self._answers[drawn % len(self._answers)]
