"""How probable a language model finds texts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

from pydantic import Field

from evalkit import TaskIO
from evalkit_tasks_text.rows import InputRow, OutputRow

_Count = Annotated[int, Field(ge=0)]


class TextInput(InputRow):
    """A text."""

    text: str


class ProbabilityOutput(OutputRow):
    """How probable a model finds the text, and its size."""

    logprob: float | None = None
    """The natural logarithm of the probability of the whole text."""
    token_logprobs: list[float | None] | None = None
    """The same of each token, in place of `logprob`."""
    num_tokens: _Count | None = None
    num_bytes: _Count | None = None
    num_characters: _Count | None = None


class LanguageModelling(TaskIO):
    """How probable is the text? There is no right answer.

    A response holds `logprob`, the natural logarithm of the probability of the whole
    text, or `token_logprobs`, those of its tokens; and `num_bytes`, `num_tokens` or
    `num_characters`, by which metrics divide.
    """

    Input = TextInput
    Output = ProbabilityOutput
    input_keys = ("text",)
    answer_kind = "none"
    scored_fields = (
        "logprob",
        "token_logprobs",
        "num_tokens",
        "num_bytes",
        "num_characters",
    )
    perf_metric = "bits-per-byte"
    eval_metrics: ClassVar[tuple[str, ...]] = ("perplexity",)
    perturb_fields = ("text",)
    prompts: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "default": {"method": "language-modelling", "query": "{text}"}
    }
    example: ClassVar[Mapping[str, Any]] = {"uid": "text-1", "text": "It rains."}
    label_field_converter: ClassVar[Mapping[str, str]] = {"id": "uid"}
    pred_field_converter: ClassVar[Mapping[str, str]] = {"id": "id", "pred": "logprob"}
