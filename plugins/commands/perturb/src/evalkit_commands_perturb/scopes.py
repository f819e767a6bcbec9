"""What perturbations are told of the examples, and how a user wants them changed."""

from __future__ import annotations

from collections.abc import Sequence
from inspect import isclass
from types import UnionType
from typing import Annotated, Any, NamedTuple, Union, get_args, get_origin

from pydantic import BaseModel

from evalkit.base.ids import EXAMPLE_ID_KEYS
from evalkit.catalog import BoundTask
from evalkit.errors import EvalkitError, PluginError
from evalkit.plugins.bound import Converting
from evalkit_commands_perturb.spans import PROTECTED_KINDS, ProtectedKind
from evalkit_commands_perturb.texts import read_path

OF_COPIES = frozenset(("perturbation", "label_effect", "families"))
"""Columns in which a copy says what made it."""

_OTHER_COLUMNS = ("input_id", "tags", "edits")


class Settings(NamedTuple):
    """How examples are perturbed; the same for all perturbations of a command."""

    seed: int = 0
    variants: int = 1
    """How many copies are made of each example, as far as they differ."""
    fields: tuple[str, ...] | None = None
    """Fields to change; None for the task's."""
    unprotected: tuple[ProtectedKind, ...] = ()
    """What may be changed although it is protected otherwise."""

    @property
    def protected(self) -> frozenset[ProtectedKind]:
        """What is not changed."""
        return frozenset(PROTECTED_KINDS) - {*self.unprotected}


class Scope(NamedTuple):
    """What the perturbations of a command are told of the examples."""

    task: str
    """Name of the task; "" where there is none."""
    fields: tuple[str, ...]
    """Fields to change."""
    is_whole: bool
    """Whether these are all fields that the task names."""
    answer_field: str | None
    """The field that holds the answer, where there is one."""
    answers_are_texts: bool
    """Whether answers are written in words of the text, and not labels of a set."""
    settings: Settings
    bound_task: BoundTask | None
    labels: tuple[str, ...] | None
    """The answers that an example may have, as they are stored; None for any."""
    converter: Converting | None = None
    """Whose method makes the answers, where no field holds them."""


def scope_of(
    task: BoundTask | None,
    settings: Settings,
    answer_field: str | None,
    labels: Sequence[str] | None,
    converter: Converting | None = None,
) -> Scope:
    """Say what the perturbations of a command are told of the examples."""
    name = "" if task is None else task.component.name
    own = () if task is None else task.perturb_fields
    fields = tuple(own) if settings.fields is None else settings.fields
    if not fields:
        raise PluginError(
            f"the task {name or '(none)'} does not say which fields a perturbation "
            "changes; name them (fields=, --fields)"
        )
    _refuse_fields(settings.fields or (), answer_field)
    if task is not None and settings.fields is None:
        _refuse_dead_ends(task, fields)
    is_whole = set(own) <= {*fields}
    if labels is None and task is not None:
        labels = task.labels
    are_texts = task is not None and labels is None
    known = None if labels is None else tuple(labels)
    return Scope(
        name,
        fields,
        is_whole,
        answer_field,
        are_texts,
        settings,
        task,
        known,
        converter,
    )


def _refuse_dead_ends(task: BoundTask, fields: Sequence[str]) -> None:
    """Refuse a path of a task's own that leads to no text of its `Input`."""
    for name in fields:
        steps = read_path(name).steps
        problem = _dead_end(task.Input, steps) if steps else None
        if problem and name not in task.Input.model_fields:
            raise PluginError(
                f"{task.component.origin}: its perturb_fields name {name!r}, and "
                f"{problem}"
            )


def _dead_end(annotation: Any, steps: Sequence[str], so_far: str = "Input") -> str:
    """Say why a path leads to no text; "" where it may."""
    while get_origin(annotation) is Annotated:
        annotation = get_args(annotation)[0]
    if get_origin(annotation) in (Union, UnionType):
        options = [each for each in get_args(annotation) if each is not type(None)]
        found = [_dead_end(each, steps, so_far) for each in options]
        return found[0] if all(found) else ""
    if not steps:
        return ""
    step, *rest = steps
    if get_origin(annotation) in (list, tuple) and step.startswith("["):
        return _dead_end(get_args(annotation)[0], rest, so_far + step)
    if get_origin(annotation) in (list, tuple):
        return f"{so_far} is a list: write {so_far}[].{step}"
    if isclass(annotation) and issubclass(annotation, BaseModel):
        if step in annotation.model_fields:
            below = annotation.model_fields[step].annotation
            return _dead_end(below, rest, f"{so_far}.{step}")
        if annotation.model_config.get("extra") == "allow":
            return ""
        known = ", ".join(annotation.model_fields)
        return f"{so_far} has no field {step!r}; it has {known}"
    is_whole = annotation in (str, int, float, bool)
    return f"{so_far} holds nothing that is called {step!r}" if is_whole else ""


def _refuse_fields(fields: Sequence[str], answer_field: str | None) -> None:
    """Refuse what is no input of a model."""
    for name in fields:
        own = {name, read_path(name).outer}
        if answer_field in own:
            raise EvalkitError(
                f"the field {name!r} holds the answer, which only a perturbation that "
                "changes answers may change, by itself; name fields of the input"
            )
        if not own.isdisjoint((*EXAMPLE_ID_KEYS, *_OTHER_COLUMNS, *OF_COPIES)):
            raise EvalkitError(
                f"the field {name!r} is not part of what a model is asked; name fields "
                "of the input"
            )
