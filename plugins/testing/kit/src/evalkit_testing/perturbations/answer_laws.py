"""Laws of what a perturbation declares, and of answers, tags and expectations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from evalkit.catalog import is_component_name
from evalkit_testing.laws import LawBroken
from evalkit_testing.perturbations.drawing import TAGS
from evalkit_testing.perturbations.trials import PerturbationTrial

OUTCOMES = ("pass", "fail", "not applicable")
"""What `expect` may return."""


def check_attributes(trial: PerturbationTrial) -> None:
    """Families and tasks are names, the version is not empty."""
    attributes = trial.subject.attributes
    for family in attributes["families"]:
        if not is_component_name(family):
            raise LawBroken(
                f"families: {family!r} is no name that --family could ask for; use "
                "small letters, digits and dashes"
            )
    if not attributes["version"].strip():
        raise LawBroken("version is empty")
    effects = attributes["label_effect"]
    if not effects:
        raise LawBroken(
            "label_effect is empty; say at least what holds for all tasks, as in "
            "{'*': 'uncertain'}"
        )
    for task in effects:
        if task != "*" and not is_component_name(task):
            raise LawBroken(f"label_effect: {task!r} is no name of a task, and not '*'")


def check_invariant(trial: PerturbationTrial) -> None:
    """Where the answer is said to stay, it stays; evalkit refuses other copies."""
    assert isinstance(trial.copies, list)


def count_answers(trial: PerturbationTrial) -> None:
    """Count the copies with another answer; what they show is seen in the end."""
    field = trial.subject.target.answer_field
    if field is not None:
        before = trial.example.get(field)
        trial.subject.answers_changed += sum(
            made.get(field) != before for made in trial.copies
        )


def check_tags(trial: PerturbationTrial) -> None:
    """The tags of a copy are texts."""
    if not trial.subject.has("change_tags"):
        return
    for made in trial.copies:
        arguments = {
            "tags": list(trial.example.get(TAGS) or ()),
            "original": dict(trial.example),
            "perturbed": made,
            "task": trial.subject.target.task_name,
        }
        found = trial.subject.fresh().call("change_tags", arguments)
        is_list = isinstance(found, list | tuple)
        if not is_list or not all(isinstance(tag, str) for tag in found):
            raise LawBroken(f"change_tags must give a list of texts, gave {found!r}")


def check_expectation(trial: PerturbationTrial) -> None:
    """What is expected is met, is not, or cannot be told."""
    if not trial.subject.has("expect"):
        return
    for made in trial.copies:
        for before, after in _predictions(trial, made):
            arguments = {
                "original": dict(trial.example),
                "perturbed": made,
                "original_pred": before,
                "perturbed_pred": after,
            }
            found = trial.subject.fresh().call("expect", arguments)
            if found not in OUTCOMES:
                raise LawBroken(
                    f"expect must give one of {', '.join(map(repr, OUTCOMES))}, gave "
                    f"{found!r} for the predictions {before!r} and {after!r}"
                )


def _predictions(
    trial: PerturbationTrial, made: Mapping[str, Any]
) -> list[tuple[Any, Any]]:
    """Return pairs of predictions: right, wrong and missing ones."""
    target = trial.subject.target
    known: list[Any] = ["a", *(target.labels or ()), None]
    if target.answer_field is not None:
        for row in (trial.example, made):
            answer = row.get(target.answer_field)
            known += answer if isinstance(answer, list | tuple) else [answer]
    return [(before, after) for before in known for after in known]
