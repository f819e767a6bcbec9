"""Checks that a task takes what it should, and refuses what it should not."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from evalkit import EvalkitError, Registry
from evalkit.catalog import BoundTask, Resolver
from evalkit_testing.drawn_responses import drawn_responses
from evalkit_testing.laws import (
    LawError,
    MissingOption,
    check_laws,
    chosen_laws,
    told_alone,
)
from evalkit_testing.task_laws import DRAWN, TASK_LAWS
from evalkit_testing.task_trials import Row, Trial, refusal

_ANSWERS = 40
"""The most labels that are tried as answers."""


class TaskLawError(LawError):
    """A task breaks a law.

    Attributes:
        law: Name of the law, one of `TASK_LAWS`.
    """


@told_alone
def check_task(
    task: Any,
    *,
    responses: Sequence[Mapping[str, Any]] | None = None,
    laws: Collection[str] | None = None,
    registry: Registry | None = None,
) -> None:
    """Check that a task keeps the laws of `evalkit_testing.TASK_LAWS`.

    Args:
        task: Name of an installed task, or a class or instance.
        responses: Responses to the task's `example` that are valid; by default one for
            each label, or, without labels, some that are drawn from `Output` and that
            the task takes.
        laws: Names of the laws to check; all by default.
        registry: Where plugins are found; all that are installed by default.

    Raises:
        TaskLawError: It breaks a law; the message has the law, and what was tried. It
            is an AssertionError.
        EvalkitError: There are no responses and none could be drawn, or there is no
            such law.
        PluginError: The task is unknown or broken.
    """
    registry = registry or Registry()
    bound = BoundTask.of(Resolver(registry).bind("tasks", task))
    example = {**bound.example, "uid": str(bound.example.get("uid", "1"))}
    known = _responses(bound, example, responses)
    trial = Trial(bound, task, registry, example, known)
    if not known:
        trial = replace(trial, responses=_drawn_responses(trial))
    chosen = chosen_laws(TASK_LAWS, laws)
    check_laws(chosen, trial, bound.component.origin, TaskLawError)


def _responses(
    task: BoundTask, example: Row, given: Sequence[Row] | None
) -> Sequence[Row]:
    if given is not None:
        if not given:
            raise EvalkitError("responses must be a list that is not empty")
        return [{**each, "id": example["uid"]} for each in given]
    if not task.labels or task.answer_field is None:
        return []
    is_list = task.answer_kind in ("all-of", "ranked")
    return [
        {"id": example["uid"], task.answer_field: [label] if is_list else label}
        for label in task.labels[:_ANSWERS]
    ]


def _drawn_responses(trial: Trial) -> Sequence[Row]:
    """Return responses to the task's example that `Output` and the task take."""
    drawn = [
        {**each, "id": trial.example["uid"]} for each in drawn_responses(trial.task)
    ]
    known = [
        each for each in drawn if not refusal(replace(trial, responses=[each]), each)
    ]
    if known and trial.task.answer_field is not None:
        return known[:DRAWN]
    raise MissingOption(
        f"{trial.task.component.origin} has "
        + ("no labels" if trial.task.answer_field is not None else "no answer_field")
        + ", and no valid response to its `example` could be drawn: give some as "
        "responses=[…], such as {'answer': '7'}, without ids"
    )
