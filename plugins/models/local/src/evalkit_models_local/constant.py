"""A model that always answers the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import Field

import evalkit
from evalkit_models_base import Model


class Constant(Model):
    """Answers every input alike: what a task is worth without a model."""

    batch_requests = 10_000

    class Parameters(evalkit.Parameters):
        """What it answers."""

        answer: str = Field(description="The answer.")

    def __init__(self, parameters: Parameters) -> None:
        self._answer = parameters.answer

    def predict(self, inputs: Sequence[Mapping[str, Any]]) -> list[str]:
        """Return the answer for each input."""
        return [self._answer for _ in inputs]
