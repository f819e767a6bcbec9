"""What an `eval.yaml` of a dataset on the Hugging Face hub says."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field


class _Spec(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class FieldSpec(_Spec):
    """Columns of the dataset."""

    input: str = "input"
    target: str = "target"
    choices: str | list[str] | None = None
    metadata: list[str] | None = None
    input_image: str | None = None
    id: str | None = None
    sandbox: str | None = None
    files: str | None = None
    setup: str | None = None
    checkpoint: str | None = None
    description: str | None = None


class Solver(_Spec):
    """A step that makes the prompt or asks the model."""

    name: Literal[
        "prompt_template",
        "system_message",
        "user_message",
        "chain_of_thought",
        "use_tools",
        "generate",
        "self_critique",
        "multiple_choice",
    ]
    args: dict[str, Any] = {}


class Scorer(_Spec):
    """A score."""

    name: Literal[
        "includes",
        "match",
        "pattern",
        "answer",
        "exact",
        "f1",
        "model_graded_qa",
        "model_graded_fact",
        "choice",
        "math",
    ]
    args: dict[str, Any] = {}


class HubTask(_Spec):
    """A task."""

    id: str | None = None
    config: str = "default"
    split: str = "test"
    field_spec: FieldSpec
    shuffle_choices: bool | None = None
    epochs: Annotated[int, Field(ge=1)] = 1
    epoch_reducer: (
        Annotated[
            str, Field(pattern=r"^(pass_at_\d+|at_least_\d+|max|mode|median|mean)$")
        ]
        | None
    ) = None
    solvers: Annotated[list[Solver], Field(min_length=1)]
    scorers: Annotated[list[Scorer], Field(min_length=1)]


class EvalFile(_Spec):
    """The file."""

    name: str | None = None
    description: str | None = None
    evaluation_framework: str | None = None
    tasks: Annotated[list[HubTask], Field(min_length=1)]
