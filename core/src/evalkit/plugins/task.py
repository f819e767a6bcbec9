"""Base class of tasks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from evalkit.plugins.classes import Plugin

if TYPE_CHECKING:
    from evalkit.base.terms import AnswerKind


class TaskIO(Plugin):
    """A task: the shape of input and output, and how answers are scored by default.

    A subclass sets `Input`, `Output`, `example` and `perf_metric`, and either
    `answer_field` or converters. `evalkit.hookspecs.TaskIOAttributes` says what each
    attribute means.
    """

    eval_metrics: ClassVar[Sequence[str]] = ()
    delta_metrics: ClassVar[Sequence[str]] = ()
    labels: Sequence[str] | None = None
    answer_kind: ClassVar[AnswerKind] = "one"
    answer_field: ClassVar[str | None] = None
    input_keys: ClassVar[Sequence[str] | None] = None
    scored_fields: ClassVar[Sequence[str]] = ()
    verify_fields: ClassVar[Sequence[str] | None] = None
    perturb_fields: ClassVar[Sequence[str]] = ()
    content_warning: ClassVar[str | None] = None


def default_label_converter(answer_field: str) -> Mapping[str, Any]:
    """Declare the converter that reads `uid`, the answer field and `tags`."""
    return {"id": "uid", "answer": answer_field, "tags": "tags"}


def default_pred_converter(answer_field: str) -> Mapping[str, Any]:
    """Declare the converter that reads `id` and the answer field."""
    return {"id": "id", "pred": answer_field}
