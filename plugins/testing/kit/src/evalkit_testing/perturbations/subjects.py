"""The perturbation that is checked, and what it makes of examples."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from random import Random
from typing import Any

from pydantic import ValidationError

from evalkit import EvalkitError, PluginError
from evalkit.catalog import (
    BoundPerturbation,
    BoundTask,
    Registry,
    Resolver,
    load_component,
)
from evalkit_commands_perturb import (
    PROTECTED_KINDS,
    effect_of,
    find_texts,
    perturb,
    read_path,
)
from evalkit_testing.laws import LawBroken
from evalkit_testing.perturbations.another_process import Made

HOOKS = ("perturb_example", "find_edits", "perturb_batch", "perturb")
"""The ways to write a perturbation; the first that it has is called."""

_STRONGEST: Mapping[str, Any] = {"preset": "hard", "prob": 1.0}

Example = Mapping[str, Any]


def texts_by_name(
    example: Mapping[str, Any], fields: Iterable[str], lists: bool = True
) -> dict[str, str]:
    """Return the texts of some fields."""
    found: dict[str, Any] = {}
    for name in fields:
        value = example.get(name)
        path = read_path(name)
        if path.steps and name not in example:
            if lists or "[]" not in path.steps:
                texts = find_texts(example, [path])
                found |= {str(place): text for place, text in texts}
            continue
        if isinstance(value, list | tuple) and lists:
            found |= {f"{name}[{place}]": item for place, item in enumerate(value)}
        else:
            found[name] = value
    return {name: text for name, text in found.items() if isinstance(text, str)}


class Target:
    """What a perturbation is applied to.

    Args:
        task: The task; None where there is none.
        fields: The fields that are changed.
        answer_field: The field that holds the answer, where there is one.

    Attributes:
        task: The same.
        fields: The same.
        answer_field: The same.
        task_name: The task's name; "" where there is none.
        labels: The task's labels, where it has some.
    """

    def __init__(
        self, task: BoundTask | None, fields: Sequence[str], answer_field: str | None
    ) -> None:
        self.task = task
        self.fields = tuple(fields)
        self.answer_field = answer_field
        self.task_name = "" if task is None else task.component.name
        known = None if task is None else task.labels
        self.labels: tuple[str, ...] | None = None if known is None else tuple(known)

    @property
    def is_installed(self) -> bool:
        """Whether there is no task, or one that can be named."""
        return self.task is None or self.task.loaded_with is not None

    def copies(
        self,
        perturbation: Any,
        example: Example,
        seed: int,
        variants: int = 1,
        registry: Registry | None = None,
    ) -> list[dict[str, Any]]:
        """Make the copies of an example, as `perturb` does."""
        made = perturb(
            [example],
            perturbation,
            task=self.task,
            fields=self.fields,
            answer_field=self.answer_field,
            seed=seed,
            variants=variants,
            again=True,
            edits=True,
            registry=registry,
        )
        return list(made)


class Instance:
    """A perturbation as it was made, before it saw any text.

    Args:
        bound: The perturbation; no other uses it.
        target: What it is applied to.
    """

    def __init__(self, bound: BoundPerturbation, target: Target) -> None:
        self._bound = bound
        self._target = target

    def copies(
        self, example: Example, seed: int, variants: int = 1
    ) -> list[dict[str, Any]]:
        """Make the copies of an example, as `perturb` does."""
        return self._target.copies(self._bound, example, seed, variants)

    def arguments(self, example: Example, seed: int) -> dict[str, Any]:
        """Return what the hooks are called with for an example."""
        own = copy.deepcopy(dict(example))
        named = texts_by_name(own, self._target.fields)
        texts = [text for text in named.values() if text]
        return {
            "texts": texts,
            "text": texts[0] if texts else "",
            "example": own,
            "rng": Random(seed),
            "rngs": [Random(f"{seed} {place}") for place in range(len(texts))],
            "fields": self._target.fields,
            "answer_field": self._target.answer_field,
            "task": self._target.task_name,
        }

    def call(self, hook: str, arguments: Mapping[str, Any]) -> Any:
        """Call a hook, which may change none of its arguments."""
        before = {
            name: copy.deepcopy(value)
            for name, value in arguments.items()
            if name not in ("rng", "rngs")
        }
        found = self._bound.row_function(hook)(**arguments)
        for name, value in before.items():
            if arguments[name] != value:
                raise LawBroken(
                    f"{hook} changed its argument {name!r} from {value!r} to "
                    f"{arguments[name]!r}"
                )
        return found


class PerturbationSubject:
    """A perturbation that is checked, with one set of parameters.

    Args:
        bound: The perturbation.
        target: What it is applied to.
        registry: Where plugins are found.

    Attributes:
        target: The same.
        registry: The same.
        origin: The perturbation's name with its parameters and its distribution.
        attributes: What it declares.
        effect: What it says that it does to the task's answers.
        hook: The way in which it is written.
        copies_seen: How many copies it made.
        answers_changed: How many of them had another answer.
        made: Some that another process is to make again.
    """

    def __init__(
        self, bound: BoundPerturbation, target: Target, registry: Registry
    ) -> None:
        self._as_given = bound
        self.target = target
        self.registry = registry
        component = bound.component
        self.origin = f"{component.kind}/{bound.name} ({component.distribution})"
        self.attributes: Mapping[str, Any] = bound.attributes
        self.effect: str = effect_of(bound, target.task_name)
        self.hook = next(hook for hook in HOOKS if bound.has(hook))
        self.copies_seen = 0
        self.answers_changed = 0
        self.made: list[Made] = []

    @property
    def is_installed(self) -> bool:
        """Whether it can be named, and was not only given as an object."""
        return self._as_given.loaded_with is not None

    def has(self, hook: str) -> bool:
        """Tell whether it implements a hook."""
        return self._as_given.has(hook)

    def fresh(self) -> Instance:
        """Return the perturbation as it was made, whatever was done with it since."""
        bound = copy.copy(self._as_given)
        try:
            bound = replace(bound, plugin=copy.deepcopy(bound.plugin))
        except Exception:
            # it holds something that has no copy, such as a lock or an open file
            bound = replace(bound, plugin=copy.copy(bound.plugin))
        return Instance(bound, self.target)

    def changes_unprotected(self, text: str) -> bool:
        """Tell whether it changes a text where nothing is protected."""
        bound = copy.copy(self._as_given)
        example = {"uid": "1", "text": text}
        try:
            made = perturb(
                [example], bound, fields=("text",), unprotected=PROTECTED_KINDS
            )
            return bool([*made])
        except EvalkitError:
            return False

    def copies_by_name(
        self, name: str, example: Example, seed: int
    ) -> list[dict[str, Any]]:
        """Make the copies of an example by what the column `perturbation` holds."""
        return self.target.copies(name, example, seed, registry=self.registry)


def strengths_of(
    bound: BoundPerturbation, resolver: Resolver
) -> list[BoundPerturbation]:
    """Return a perturbation as it is, and at its full strength."""
    if bound.parameters is None:
        return [bound]
    wanted = {}
    for name in type(bound.parameters).model_fields:
        known = "prob" if name.endswith("_prob") else name
        if known in _STRONGEST:
            wanted[name] = _STRONGEST[known]
    for values in _fewer_and_fewer(wanted):
        given = {**bound.changed_parameters, **values}
        try:
            strong = _bind_again(bound, resolver, given)
        except (PluginError, ValidationError):
            # it has another meaning there, or another range
            continue
        return [bound, *([strong] if strong.name != bound.name else [])]
    return [bound]


def _bind_again(
    bound: BoundPerturbation, resolver: Resolver, given: Mapping[str, Any]
) -> BoundPerturbation:
    if bound.loaded_with is not None:
        return BoundPerturbation.of(load_component(bound.component, given))
    return resolver.perturbation(type(bound.plugin), given)


def _fewer_and_fewer(values: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield all of them, then each alone."""
    if values:
        yield dict(values)
    if len(values) > 1:
        for name, value in values.items():
            yield {name: value}
