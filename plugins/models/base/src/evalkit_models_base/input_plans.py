"""Inputs that a model answers as they are, in their order."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from evalkit_models_base.asking import Answer, Question
from evalkit_models_base.empty_fields import notices_of_empty
from evalkit_models_base.inputs import ModelInputs
from evalkit_models_base.responses import InputReply


class InputPlan:
    """What a model without prompts is asked: all inputs, in each repetition."""

    def __init__(self, inputs: ModelInputs, replications: int = 1) -> None:
        self._inputs, self._replications = inputs, replications
        self.total = len(inputs) * replications
        self._taken = 0

    @property
    def notices(self) -> tuple[str, ...]:
        """What a user should know of the inputs."""
        keys = self._inputs.keys
        return notices_of_empty(keys, self._inputs.rows, "the model is sent")

    @property
    def said(self) -> dict[str, Any]:
        """Nothing: there is no prompt."""
        return {}

    def questions(self) -> Iterator[Question]:
        """Make the questions, one after another, as they are needed."""
        for repetition in range(1, self._replications + 1):
            # the first repetition is what one alone would be, also in the cache
            key = "" if repetition == 1 else str(repetition)
            for row in self._inputs.rows:
                yield Question(row["uid"], row, key)

    def take(self, answer: Answer) -> dict[str, Any]:
        """Take the next answer, in the order of the questions."""
        reply, row = answer.reply, {"id": answer.question.uid}
        if reply.error is not None:
            row["error"] = reply.error
        elif isinstance(reply, InputReply):
            row |= reply.response
        if self._replications > 1:
            row["_replication_"] = answer.question.replication or "1"
        return row
