"""Numbers that are estimated."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from pydantic import Field

from evalkit import TaskIO
from evalkit_tasks_text.rows import InputRow, OutputRow


class OptionalTextInput(InputRow):
    """What is looked at, where it is a text."""

    text: str | None = None


class NumberOutput(OutputRow):
    """A finite number."""

    value: float = Field(allow_inf_nan=False)


class Regression(TaskIO):
    """What number belongs to the text: a grade, a price, a similarity?

    The field `value` is the right number in the data, and the estimate in a response.
    `text` may be left out.
    """

    Input = OptionalTextInput
    Output = NumberOutput
    input_keys = ("text",)
    answer_field = "value"
    answer_kind = "number"
    perf_metric = "mae"
    eval_metrics: ClassVar[tuple[str, ...]] = ("rmse", "pearson", "spearman")
    delta_metrics = ("robustness",)
    perturb_fields = ("text",)
    prompts: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "default": {
            "instructions": "Say what number belongs to the text. "
            "Write the number only.",
            "query": "Text: {text}",
            "cue": "Number:",
            "extract": "final-number",
            "generate": {"max_tokens": 16},
        }
    }
    example: ClassVar[Mapping[str, Any]] = {"uid": "number-1", "text": "Good value."}
