"""Makes the task that a benchmark file declares in place."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, create_model

from evalkit import Label, Probabilities, TaskIO
from evalkit_benchmarks_declared.schema import Task

CHOICES = "choices"
"""Input field with an example's own options."""


class InputRow(BaseModel):
    """Base of the input of declared tasks."""

    model_config = ConfigDict(strict=True)

    uid: str


class OutputRow(BaseModel):
    """Base of the responses to declared tasks."""

    model_config = ConfigDict(strict=True)

    id: str


class LabelOutput(OutputRow):
    """A label, and optionally a probability for every label."""

    label: Label
    prob: Probabilities | None = None


class TextOutput(OutputRow):
    """A text; it may be empty."""

    answer: str


class NumberOutput(OutputRow):
    """A finite number."""

    answer: float = Field(allow_inf_nan=False)


class LabelsOutput(OutputRow):
    """Several labels."""

    labels: list[str]


class Span(BaseModel):
    """A part of a text, and its type."""

    start: int
    end: int
    label: str = ""


class SpansOutput(OutputRow):
    """Parts of a text."""

    spans: list[Span]


class Shape(NamedTuple):
    """What a type of answer implies for its task."""

    output: type[OutputRow]
    answer_field: str
    answer_kind: str
    perf_metric: str
    eval_metrics: tuple[str, ...] = ()
    scored_fields: tuple[str, ...] = ()


SHAPES: Mapping[str, Shape] = {
    "label": Shape(LabelOutput, "label", "one", "accuracy", ("macro-f1",), ("prob",)),
    "choice": Shape(TextOutput, "answer", "one", "accuracy"),
    "text": Shape(TextOutput, "answer", "any-of", "exact-match"),
    "number": Shape(NumberOutput, "answer", "number", "mae"),
    "labels": Shape(LabelsOutput, "labels", "all-of", "multilabel-f1"),
    "spans": Shape(SpansOutput, "spans", "spans", "span-f1"),
}
"""Output, answer field, answer kind and metrics by type of answer."""

TYPES: Mapping[str, Any] = {
    "text": str,
    "texts": list[str],
    "number": float,
    "integer": int,
    "boolean": bool,
}
"""Python type by type of input field."""

_EXAMPLES: Mapping[str, Any] = {
    "text": "text",
    "texts": ["first", "second"],
    "number": 1.0,
    "integer": 1,
    "boolean": True,
}


def field_type(written: str) -> tuple[str, bool]:
    """Split the type of an input field from the `?` of an optional field."""
    name = written.strip()
    return name.removesuffix("?"), name.endswith("?")


def task_class(
    task: Task,
    name: str,
    computed: Iterable[str] = (),
    annotators: Mapping[str, Mapping[str, Any]] | None = None,
    has_answers: bool = True,
) -> type[TaskIO]:
    """Make the task of a benchmark.

    Args:
        task: What the file declares.
        name: Name of the task.
        computed: Further text fields of the input, which the loader computes.
        annotators: Judges by name.
        has_answers: Whether the examples have right answers.

    Returns:
        A subclass of `evalkit.TaskIO`.
    """
    types = {field: field_type(written) for field, written in task.input.items()}
    if task.answer == "choice":
        types.setdefault(CHOICES, ("texts", False))
    types |= {field: ("text", False) for field in computed}
    fields: dict[str, Any] = {
        field: (TYPES[kind] | None, None) if optional else (TYPES[kind], ...)
        for field, (kind, optional) in types.items()
    }
    shape = SHAPES[task.answer]
    texts: Sequence[str] = [
        field
        for field, written in task.input.items()
        if field_type(written)[0] in ("text", "texts")
    ]
    attributes: dict[str, Any] = {
        "__doc__": f"Task of the benchmark {name}.",
        "name": name,
        "Input": create_model("Input", __base__=InputRow, **fields),
        "Output": shape.output,
        "example": {
            "uid": "1",
            **{field: _EXAMPLES[kind] for field, (kind, _) in types.items()},
        },
        "input_keys": tuple(types),
        "answer_field": shape.answer_field,
        "answer_kind": shape.answer_kind if has_answers else "none",
        "perf_metric": shape.perf_metric,
        "eval_metrics": shape.eval_metrics,
        "scored_fields": shape.scored_fields,
        "perturb_fields": tuple(texts),
        "delta_metrics": ("fairness", "robustness"),
        "annotators": dict(annotators or {}),
    }
    if task.labels is not None:
        attributes["labels"] = tuple(task.labels)
    if task.answer == "choice":
        attributes["choices_field"] = CHOICES
    return type("DeclaredTask", (TaskIO,), attributes)
