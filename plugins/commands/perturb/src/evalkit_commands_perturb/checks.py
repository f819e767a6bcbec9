"""What the copies of an example must keep before they are written."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from pydantic import BaseModel, ValidationError

from evalkit.base.violations import from_pydantic, shorten
from evalkit.catalog import BoundPerturbation, BoundTask
from evalkit.errors import PluginError
from evalkit.examples.conversion import LABEL_CONVERTER, converted
from evalkit.reading.schemas import has_own_rules
from evalkit.reporting import describe
from evalkit_commands_perturb.scopes import Scope
from evalkit_commands_perturb.texts import EACH, FieldPath

_TEXTS = (str, str | None, list[str], list[str] | None)
"""Annotations of fields in which any text may stand."""


class CopyChecks:
    """What one perturbation must not break.

    Args:
        bound: The perturbation.
        hook: The way in which it is written.
        scope: What it is told of the examples.
        effect: What it says that it does to answers.
        fields: The fields whose texts it changes.

    Attributes:
        concern_texts: Whether another text in these fields may be wrong.
    """

    def __init__(
        self,
        bound: BoundPerturbation,
        hook: str,
        scope: Scope,
        effect: str,
        fields: Sequence[FieldPath],
    ) -> None:
        self._origin = bound.component.origin
        self._hook = hook
        self._scope = scope
        self._effect = effect
        task = scope.bound_task
        self.concern_texts = scope.converter is not None or (
            task is not None
            and (
                _has_rules(task.Input, fields)
                or any(field.outer == task.choices_field for field in fields)
            )
        )

    def refuse(
        self, before: Mapping[str, Any], after: Mapping[str, Any], uid: str
    ) -> None:
        """Refuse a changed example that is none of its task."""
        problem = (
            self._problem_of_answer(before, after, uid)
            or self._problem_of_choices(before, after)
            or _unstorable(before, after)
        )
        if problem is None and self._scope.bound_task is not None:
            problem = _problem_of_input(self._scope.bound_task, before, after, uid)
        if problem:
            raise PluginError(
                f"{self._origin}: {self._hook} made of the example {uid!r} a copy that "
                f"{problem}"
            )

    def _problem_of_answer(
        self, before: Mapping[str, Any], after: Mapping[str, Any], uid: str
    ) -> str | None:
        field, labels = self._scope.answer_field, self._scope.labels
        if self._scope.converter is not None:
            field = f"answer (by {LABEL_CONVERTER})"
            old = self._made_answer(before, uid)
            try:
                new = self._made_answer(after, uid)
            except PluginError as error:
                return f"has no answer any more: {error}"
        elif field is None or field not in before:
            return None
        else:
            old, new = before[field], after.get(field)
        if old == new:
            return None
        if self._effect == "invariant":
            of_task = f" for the task {self._scope.task}" if self._scope.task else ""
            return (
                f"has another answer ({field}: {shorten(old)} became {shorten(new)}), "
                f"and its label_effect{of_task} is 'invariant'; 'transforms' says that "
                "answers change"
            )
        wrong = [each for each in _items(new) if labels and str(each) not in labels]
        if wrong:
            return (
                f"has an answer that is none of the labels ({field}: must be one of "
                f"{', '.join(labels or ())}, found {shorten(wrong[0])})"
            )
        return None

    def _made_answer(self, row: Mapping[str, Any], uid: str) -> Any:
        """Return what the method makes of a row as pydantic returns it."""
        task, converter = self._scope.bound_task, self._scope.converter
        given = {**row, "uid": uid}
        if task is None or converter is None:
            return None
        with suppress(ValidationError):
            given |= task.validate_input(given).model_dump()
        made = converter.call("label_field_converter", example=given)
        return converted(converter, LABEL_CONVERTER, made, uid)["answer"]

    def _problem_of_choices(
        self, before: Mapping[str, Any], after: Mapping[str, Any]
    ) -> str | None:
        """Say that the answer is none of the options any more."""
        task, answer = self._scope.bound_task, self._scope.answer_field
        field = None if task is None else task.choices_field
        if field is None or answer is None or answer not in before:
            return None
        if before.get(field) is None:
            return None
        was, now = before[field], after.get(field) or ()
        lost = [
            item
            for item in _items(after.get(answer))
            if item not in now and (item in was or item not in _items(before[answer]))
        ]
        if not lost:
            return None
        return (
            f"has an answer that is none of its choices ({answer}: must be one of "
            f"{', '.join(map(str, now))}, found {shorten(lost[0])})"
        )


def _items(answer: Any) -> Sequence[Any]:
    return answer if isinstance(answer, list | tuple) else [answer]


def _unstorable(before: Mapping[str, Any], after: Mapping[str, Any]) -> str | None:
    """Say what of a changed example could not be read again from a file."""
    for name, value in after.items():
        if name in before and value == before[name]:
            continue
        problem = _storage_problem(value)
        # what the example itself held is not the perturbation's fault
        if problem and not (name in before and _storage_problem(before[name])):
            return f"cannot be stored ({name}: {problem})"
        is_list = isinstance(value, list | tuple)
        are_texts = is_list and all(isinstance(each, str) for each in value)
        if name == "tags" and not (value is None or are_texts):
            return f"has tags that are no list of texts (found {shorten(value)})"
    return None


def _storage_problem(value: Any) -> str:
    """Say why a value cannot be written to a file; "" where it can."""
    try:
        json.dumps(value, ensure_ascii=False, default=str).encode("utf-8")
    except ValueError as error:
        return str(error)
    return ""


def _problem_of_input(
    task: BoundTask, before: Mapping[str, Any], after: Mapping[str, Any], uid: str
) -> str | None:
    try:
        task.validate_input({**after, "uid": uid})
    except ValidationError as error:
        try:
            task.validate_input({**before, "uid": uid})
        except ValidationError:
            return None  # rows of a caller's own need not be whole
        return (
            f"breaks the input of the task {task.component.name}: "
            f"{describe(from_pydantic(error))}"
        )
    return None


def _has_rules(model: type[BaseModel], fields: Sequence[FieldPath]) -> bool:
    """Tell whether a model may refuse a text in one of some fields."""
    known = model.model_fields
    if has_own_rules(model) or any(each.validation_alias for each in known.values()):
        return True
    for field in fields:
        declared = known.get(field.outer)
        is_plain = set(field.steps[1:]) <= {EACH}
        if declared is not None and (
            declared.metadata or declared.annotation not in _TEXTS or not is_plain
        ):
            return True
    return False
