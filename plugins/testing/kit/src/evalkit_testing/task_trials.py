"""One check of a law of tasks: the task, an example, and responses to it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from evalkit import EvalkitError, PluginError, Registry, validate
from evalkit.catalog import BoundTask
from evalkit_adapters_rows import extraction
from evalkit_testing.laws import LawBroken

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Trial:
    """A task, and valid responses to its example."""

    task: BoundTask
    given: Any
    registry: Registry
    example: Row
    responses: Sequence[Row]

    @property
    def answer_field(self) -> str:
        """The field with the answer, of a task that has one."""
        return str(self.task.answer_field)

    def answer_of(self, response: Row) -> Any:
        """Return the right answer that a response gives, out of its text."""
        answer = response.get(self.answer_field)
        if self.task.extract is None or not isinstance(answer, str):
            return answer
        choices = self.task.choices_field and self.example.get(self.task.choices_field)
        try:
            found = extraction(self.task.extract, self.registry).extract(
                pl.Series([answer]),
                pl.Series([list(choices)]) if choices else None,
                self.task.labels,
            )
        except EvalkitError as error:
            raise LawBroken(f"what its `extract` says fails: {error}") from error
        return answer if found.values[0] is None else found.values[0]


def with_answer(trial: Trial, example: Row) -> Row:
    """Give an example the right answer of the first response."""
    if trial.task.answer_field is None:
        return example
    answer = trial.answer_of(trial.responses[0])
    return {trial.answer_field: answer, **example}


def refusal(trial: Trial, response: Row) -> str:
    """Return why a response is invalid; "" where it is valid."""
    example = with_answer(trial, trial.example)
    try:
        found = validate(
            data=[example],
            predictions=[dict(response)],
            task=trial.given,
            model="tried",
            registry=trial.registry,
        )
    except PluginError:
        raise
    except EvalkitError as error:
        return str(error)
    said = [
        f"{violation.field}: {violation.rule}"
        for problem in found.problems
        for violation in problem.violations
    ]
    return "; ".join([*said, *found.refusals])
