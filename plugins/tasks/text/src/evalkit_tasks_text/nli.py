"""Natural language inference."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from evalkit_tasks_text.labelled import LabelTask
from evalkit_tasks_text.rows import InputRow


class NliInput(InputRow):
    """A context, and a hypothesis about it."""

    context: str
    hypothesis: str


class Nli(LabelTask):
    """Does the context entail the hypothesis, contradict it, or neither?"""

    Input = NliInput
    labels = ("entailed", "neutral", "contradictory")
    example = {
        "uid": "nli-1",
        "context": "Old Trafford is the largest club football stadium in England.",
        "hypothesis": "No club football stadium in England is larger.",
    }
    perf_metric = "accuracy"
    eval_metrics = ("macro-f1",)
    perturb_fields = ("context", "hypothesis")
    prompts: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "default": {
            "instructions": "Say whether the context entails the hypothesis, "
            "contradicts it, or neither. Answer with one of: {labels}.",
            "query": "Context: {context}\nHypothesis: {hypothesis}",
            "cue": "Label:",
            "extract": "labels",
            "generate": {"max_tokens": 16},
        }
    }
