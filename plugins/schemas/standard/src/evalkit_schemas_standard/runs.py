"""Named schemas of the files that a run folder holds."""

from __future__ import annotations

from types import NoneType
from typing import (
    Annotated,
    Any,
    Literal,
    TypeAlias,
    get_args,
    get_origin,
    get_type_hints,
)

from pydantic import BaseModel, Field, create_model

from evalkit.runs import Score as StoredScore
from evalkit_schemas_standard.models import SchemaModel
from evalkit_schemas_standard.scalars import Int64, UInt32, UInt64


def _score_model() -> type[SchemaModel]:
    """Return a model with the columns of `scores.parquet`, as core declares them."""
    columns: dict[str, Any] = {}
    for name, hint in get_type_hints(StoredScore, include_extras=True).items():
        kind, *marks = get_args(hint) if get_origin(hint) is Annotated else (hint,)
        rules = {
            k: v for mark in marks if isinstance(mark, dict) for k, v in mark.items()
        }
        columns[name] = (_annotation(kind, rules), ...)
    return create_model(
        "Score",
        __base__=SchemaModel,
        __module__=__name__,
        __doc__="A score of a run: a row of `scores.parquet`.",
        **columns,
    )


def _annotation(kind: Any, rules: dict[str, Any]) -> Any:
    """Return the annotation of a column from its type and its rules of JSON Schema."""
    plain = next(each for each in (get_args(kind) or (kind,)) if each is not NoneType)
    names = {"pattern": "pattern", "ge": "minimum", "le": "maximum"}
    own = {name: rules[word] for name, word in names.items() if word in rules}
    found: Any = Annotated[Int64 if plain is int else plain, Field(**own)]
    if "enum" in rules:
        found = Literal[tuple(rules["enum"])]
    return found | None if plain is not kind else found


Score = _score_model()
"""A row of `scores.parquet`."""


Status: TypeAlias = Literal["scored", "invalid", "missing"]


class Example(BaseModel):
    """A row of `examples.parquet`, which has columns of the task and metrics too."""

    id: str = Field(min_length=1, description="Id of the example")
    input_id: str | None = Field(description="Id of the original; null for originals")
    perturbation: str | None = Field(
        description="Name of the perturbation; null for originals"
    )
    replication: str | None = Field(
        description="Which of several answers it is; null where there is one"
    )
    tags: list[str] = Field(description="The tags of the example")
    cluster: UInt64 | None = Field(
        description="Number of the cluster; null where there are none"
    )
    status: Status = Field(description="What became of the prediction")


class Annotation(SchemaModel):
    """A row of `columns/ANNOTATOR.parquet`."""

    id: str = Field(description="Id of the example or copy")
    replication: str | None = Field(
        description="Which of several answers it is; null where there is one"
    )
    text: str | None = Field(description="What the annotator said")
    reason: str | None = Field(description="Why there is no value")
    failed: bool = Field(description="Whether the annotator failed")
    seconds: float | None = Field(description="How long it took")
    cost: float | None = Field(description="What it cost")
    repeated: bool = Field(description="Whether it has the answer of an equal row")


class Statistic(BaseModel):
    """A row of `statistics/METRIC.parquet`, which has columns of the metric too."""

    position: UInt32 = Field(description="The row in `examples.parquet`, from 0")


class Violation(SchemaModel):
    """A rule that a row breaks."""

    field: str = Field(description="Name of the field, with a path into it")
    rule: str = Field(description="What must hold")
    value: Any = Field(description="What was found instead")


class Problem(SchemaModel):
    """A line of `problems.jsonl`."""

    status: Literal[
        "unreadable",
        "unknown",
        "duplicate",
        "invalid",
        "missing",
        "not scored",
        "failed",
    ] = Field(description="Why the row or example was not scored")
    line: int | None = Field(
        description="Line of the predictions, from 1; null for a missing example"
    )
    id: str | None = Field(description="Id of the example; null where unreadable")
    violations: list[Violation] = Field(description="All rules that the row breaks")
    replication: str | None = Field(
        default=None, description="The replication, where there are several"
    )
    metric: str | None = Field(
        default=None, description="The metric that did not score the answer"
    )
    reason: str | None = Field(default=None, description="Why it did not")
