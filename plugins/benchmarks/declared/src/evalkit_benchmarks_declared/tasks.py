"""Makes the task that a benchmark file declares in place."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, create_model

from evalkit import Label, Probabilities, TaskIO
from evalkit.catalog import Registry, Resolver
from evalkit_benchmarks_declared.schema import Benchmark, Task

CHOICES = "choices"
"""Input field with an example's own options."""


class Row(BaseModel):
    """Base of the input of declared tasks, and of the responses to them."""

    model_config = ConfigDict(strict=True)


class Span(BaseModel):
    """A part of a text, and its type."""

    start: int
    end: int
    label: str = ""


class Shape(NamedTuple):
    """What a type of answer implies for its task."""

    output: Mapping[str, Any]
    """Fields of a response, of which the first is the answer."""
    answer_kind: str
    perf_metric: str
    eval_metrics: tuple[str, ...] = ()


_LABEL = {"label": (Label, ...), "prob": (Probabilities | None, None)}
_RANKING = {"items": (list[str], ...), "scores": (list[float] | None, None)}
_NUMBER = Annotated[float, Field(allow_inf_nan=False)]

SHAPES: Mapping[str, Shape] = {
    "label": Shape(_LABEL, "one", "accuracy", ("macro-f1",)),
    "choice": Shape({"answer": (str, ...)}, "one", "accuracy"),
    "text": Shape({"answer": (str, ...)}, "any-of", "exact-match"),
    "number": Shape({"answer": (_NUMBER, ...)}, "number", "mae"),
    "labels": Shape({"labels": (list[str], ...)}, "all-of", "multilabel-f1"),
    "spans": Shape({"spans": (list[Span], ...)}, "spans", "span-f1"),
    "ranking": Shape(_RANKING, "ranked", "ndcg", ("mrr", "recall-at-k")),
    "none": Shape({"logprob": (_NUMBER, ...)}, "none", "perplexity"),
}
"""Response, answer kind and metrics by type of answer."""

TYPES: Mapping[str, tuple[Any, Any]] = {
    "text": (str, "text"),
    "texts": (list[str], ["first", "second"]),
    "number": (float, 1.0),
    "integer": (int, 1),
    "boolean": (bool, True),
}
"""Python type and an example by type of input field."""


def input_types(task: Task) -> dict[str, tuple[str, bool]]:
    """Return the type of each input field, and whether examples may lack it."""
    types = {
        name: (written.removesuffix("?"), written.endswith("?"))
        for name, written in task.input.items()
    }
    return types | ({CHOICES: ("texts", False)} if task.answer == "choice" else {})


def task_of(benchmark: Benchmark, computed: Mapping[str, str]) -> str | type[TaskIO]:
    """Return a benchmark's task, with judges and the fields that the loader computes.

    An installed task to which nothing is added is returned by its name.
    """
    task = benchmark.task
    judges = {
        name: {"annotator": "judge", **each} for name, each in benchmark.judges.items()
    }
    if isinstance(task, str):
        return (
            task if not judges and not computed else _extended(task, computed, judges)
        )
    types = input_types(task)
    texts = [field for field in task.input if types[field][0] in ("text", "texts")]
    types |= {field: ("text", False) for field in computed}
    fields: dict[str, Any] = {
        field: (TYPES[kind][0] | None, None) if optional else (TYPES[kind][0], ...)
        for field, (kind, optional) in types.items()
    }
    shape = SHAPES[task.answer]
    answer, *scored = shape.output
    output: Any = {"id": (str, ...), **shape.output}
    example = {field: TYPES[kind][1] for field, (kind, _) in types.items()}
    has_answers = benchmark.data.answer is not None
    attributes: dict[str, Any] = {
        "__doc__": f"Task of the benchmark {benchmark.name}.",
        "name": benchmark.name,
        "Input": create_model("Input", __base__=Row, uid=(str, ...), **fields),
        "Output": create_model("Output", __base__=Row, **output),
        "example": {"uid": "1", **example},
        "input_keys": tuple(types),
        "answer_field": answer,
        "answer_kind": shape.answer_kind if has_answers else "none",
        "perf_metric": shape.perf_metric,
        "eval_metrics": shape.eval_metrics,
        "scored_fields": tuple(scored),
        "perturb_fields": tuple(computed or texts),  # what a model is sent
        "annotators": judges,
        "labels": task.labels,
        "choices_field": CHOICES if task.answer == "choice" else None,
    }
    return type("DeclaredTask", (TaskIO,), attributes)


def _extended(
    name: str, computed: Mapping[str, str], judges: Mapping[str, Any]
) -> type[TaskIO]:
    plugin: Any = Resolver(Registry()).bind("tasks", name).plugin
    fields: Any = {name: (str, ...) for name in computed}
    attributes = {
        "name": name,
        "Input": create_model("Input", __base__=plugin.Input, **fields),
        "example": {**plugin.example, **dict.fromkeys(computed, "text")},
        "annotators": {**plugin.annotators, **judges},
    }
    if plugin.input_keys is not None:
        attributes["input_keys"] = (*plugin.input_keys, *computed)
    return type("DeclaredTask", (type(plugin),), attributes)
