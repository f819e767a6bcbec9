"""Checks that a model can be asked by the prompts of a task."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from evalkit import Dataset, EvalkitError, Registry
from evalkit.catalog import BoundTask
from evalkit_models_base import Model
from evalkit_testing.laws import LawBroken, MissingOption


class Unasked(Model):
    """Can be asked anything, and is asked nothing."""

    abilities = ("text", "chat", "logprobs", "continuations")

    def generate(self, requests: Any) -> Any:
        """Answer nothing."""
        raise AssertionError("nothing is to be asked")


def check_prompts(
    task: BoundTask, given: Any, example: Mapping[str, Any], registry: Registry
) -> None:
    """Plan what would be asked of the task's example by each of its prompts."""
    if not task.prompts:
        return
    try:
        from evalkit_models_base import plan_requests
    except ImportError as error:
        raise MissingOption(
            f"{task.component.origin}: its prompts were not checked: {error}"
        ) from error
    for name, prompt in task.prompts.items():
        plan = partial(
            plan_requests,
            model=Unasked,
            prompt=name,
            shots=0 if "shots" in prompt else None,  # of splits that there are not
            registry=registry,
        )
        try:
            plan(data=[dict(example)], task=given)
        except EvalkitError as error:
            if task.labels or not _is_planned_with_labels(task, given, example, plan):
                raise LawBroken(f"by its prompt {name!r}: {error}") from error


def _is_planned_with_labels(
    task: BoundTask, given: Any, example: Mapping[str, Any], plan: Callable[..., object]
) -> bool:
    """Tell whether it works for data that declare labels, as data of any task may."""
    field = str(task.answer_field)

    class Example(Dataset):
        """The example of a task, with labels."""

        task = given
        labels = ("a", "b")

        def load(self, split: str) -> list[dict[str, Any]]:
            """Return it."""
            return [{**example, field: "a"}]

    try:
        plan(Example)
    except EvalkitError:
        return False
    return True
