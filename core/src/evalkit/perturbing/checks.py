"""What the copies of an example must keep before they are written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from pydantic import BaseModel, ValidationError

from evalkit.base.violations import describe, from_pydantic, shorten
from evalkit.errors import PluginError
from evalkit.examples.conversion import LABEL_CONVERTER, converted
from evalkit.perturbing.scopes import Scope
from evalkit.perturbing.texts import EACH, FieldPath
from evalkit.plugins.bound import BoundPerturbation, BoundTask
from evalkit.reading.schemas import has_own_rules

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
            task is not None and _has_rules(task.Input, fields)
        )

    def refuse(
        self, before: Mapping[str, Any], after: Mapping[str, Any], uid: str
    ) -> None:
        """Refuse a changed example that is none of its task.

        Args:
            before: The example.
            after: The changed one, before it has an id of its own.
            uid: The example's id.

        Raises:
            PluginError: The copy breaks the task's `Input`, has an answer that is none
                of the labels, or another answer where it is said to stay.
        """
        problem = self._problem_of_answer(before, after, uid)
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
        items = new if isinstance(new, list | tuple) else [new]
        wrong = [each for each in items if labels and str(each) not in labels]
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
        made = converter.label_field_converter(given)
        return converted(converter, LABEL_CONVERTER, made, uid)["answer"]


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
