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

_STRICT = ConfigDict(strict=True)


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
    """Return a benchmark's task; an installed one, if nothing is added, by its name."""
    judges = {k: {"annotator": "judge", **v} for k, v in benchmark.judges.items()}
    task: Any = benchmark.task
    if isinstance(task, str):
        if not judges and not computed:
            return task
        base: Any = type(Resolver(Registry()).bind("tasks", task).plugin)
    else:
        base = _declared(task, has_answers=benchmark.data.answer is not None)
    fields: Any = {name: (str, ...) for name in computed}
    attributes = {
        "__doc__": f"Task of the benchmark {benchmark.name}.",
        "name": task if isinstance(task, str) else benchmark.name,
        "Input": create_model("Input", __base__=base.Input, **fields),
        "example": {**base.example, **dict.fromkeys(computed, "text")},
        "annotators": {**base.annotators, **judges},
    }
    if base.input_keys is not None:
        attributes["input_keys"] = (*base.input_keys, *computed)
    if computed:  # what a model is sent
        attributes["perturb_fields"] = tuple(computed)
    return type("DeclaredTask", (base,), attributes)


def _declared(task: Task, *, has_answers: bool) -> type[TaskIO]:
    types = input_types(task)
    fields: dict[str, Any] = {
        field: (TYPES[kind][0] | None, None) if optional else (TYPES[kind][0], ...)
        for field, (kind, optional) in types.items()
    }
    texts = [field for field in task.input if types[field][0] in ("text", "texts")]
    example = {field: TYPES[kind][1] for field, (kind, _) in types.items()}
    shape = SHAPES[task.answer]
    answer, *scored = shape.output
    output: Any = {"id": (str, ...), **shape.output}
    attributes: dict[str, Any] = {
        "Input": create_model("Input", __config__=_STRICT, uid=(str, ...), **fields),
        "Output": create_model("Output", __config__=_STRICT, **output),
        "example": {"uid": "1", **example},
        "input_keys": tuple(types),
        "answer_field": answer,
        "answer_kind": shape.answer_kind if has_answers else "none",
        "perf_metric": shape.perf_metric,
        "eval_metrics": shape.eval_metrics,
        "scored_fields": tuple(scored),
        "perturb_fields": tuple(texts),
        "labels": task.labels,
        "choices_field": CHOICES if task.answer == "choice" else None,
    }
    return type("DeclaredTask", (TaskIO,), attributes)
