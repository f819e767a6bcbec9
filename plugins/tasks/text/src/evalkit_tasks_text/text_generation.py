"""Translations, transcripts and summaries, compared with reference texts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from evalkit import TaskIO
from evalkit_tasks_text.rows import InputRow, OutputRow


class SourceInput(InputRow):
    """What a text is made of, where it is a text itself."""

    source: str | None = None


class TextOutput(OutputRow):
    """A text; it may be empty."""

    text: str


class TextGeneration(TaskIO):
    """What does the source say in another form: a translation, summary or transcript?

    The field `text` is the reference in the data (or a list of several), and what the
    model wrote in a response. `source` may be left out.
    """

    Input = SourceInput
    Output = TextOutput
    input_keys = ("source",)
    answer_field = "text"
    answer_kind = "any-of"
    perf_metric = "chrf"
    eval_metrics: ClassVar[tuple[str, ...]] = ("bleu",)
    delta_metrics = ("robustness",)
    perturb_fields = ("source",)
    prompts: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "default": {
            "query": "Source: {source}",
            "cue": "Text:",
            "extract": "strip",
            "generate": {"max_tokens": 512},
        }
    }
    example: ClassVar[Mapping[str, Any]] = {"uid": "text-1", "source": "Es regnet."}
