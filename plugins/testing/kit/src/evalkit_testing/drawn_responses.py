"""Draws examples of a task, and responses to it, from its `Input` and `Output`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hypothesis import strategies as st

from evalkit.catalog import BoundTask
from evalkit_testing.model_rows import drawn_rows, read_values_of

_MANY = 40


def drawn_examples(task: BoundTask, count: int) -> list[dict[str, Any]]:
    """Return examples that the task's `Input` takes."""
    return drawn_rows(task.Input, count)


def drawn_responses(task: BoundTask, count: int = _MANY) -> list[dict[str, Any]]:
    """Return responses that the task's `Output` takes, with answers that are labels."""
    return drawn_rows(task.Output, count, _answers(task))


def _answers(task: BoundTask) -> Mapping[str, st.SearchStrategy[Any]]:
    if task.answer_field is None or not task.labels:
        return {}
    return {task.answer_field: _labels(task)}


def answers_of(task: BoundTask) -> st.SearchStrategy[Any] | None:
    """Draw answers: labels where there are some, or what `Output` takes, once read."""
    field = task.Output.model_fields.get(task.answer_field or "")
    if field is None:
        return None
    return _labels(task) if task.labels else read_values_of(field)


def _labels(task: BoundTask) -> st.SearchStrategy[Any]:
    label = st.sampled_from([*(task.labels or ())])
    is_list = task.answer_kind in ("all-of", "ranked")
    return st.lists(label, max_size=3, unique=True) if is_list else label
