"""What SEA-HELM's metric classes compute, by metrics, extractors and judges."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

from evalkit_benchmarks_peers.seahelm_config import SeahelmTask

_JUDGE_KEYS = (
    *("judge_model_name", "judge_model_type", "batch_api_calls", "judge_init_args"),
    *("judge_generation_kwargs", "judge_prompts", "classifications"),
)
_SAMPLING = ("temperature", "top_p", "top_k", "max_tokens", "stop", "seed")
_SERVERS = ("vllm", "online_vllm", "online_sglang", "local_openai", "litellm")
_LOCAL = "http://127.0.0.1:8000/v1"

Score = str | dict[str, Any]
"""A metric, or a headline of a benchmark file."""


class Counterpart(NamedTuple):
    """Counterpart of a metric class."""

    scores: Mapping[str, Score] = {}
    """Metric for each of its scores."""
    answer: Literal["choice", "text"] = "choice"
    reads: Literal["label", "first-label", "line", "reply", "probability"] = "label"
    """How an answer is read: a label behind the tag (`first-label` with its case, and
    behind the first tag only), the line behind it, the whole reply; or nothing, as the
    probabilities of the labels are asked for."""
    skipped: str = r"\s*"
    """Characters between the tag and a line."""
    tags: tuple[str, ...] = ()
    """Keys of `metadata` that become facets."""
    options: Mapping[str, tuple[str, str]] = {}
    """Package by language, and parameters of the metrics if it is installed."""
    is_macro: bool = False
    """Whether the headline is the mean over these facets."""
    is_judged: bool = False

    def extract(self, tag: str) -> list[Any]:
        """Return the extractor stages for an answer tag."""
        if self.reads in ("label", "first-label"):
            is_first = self.reads == "first-label"
            settings = {"tag": tag, "case": is_first, "first": is_first}
            return [{"kind": "seahelm-answer", "configuration": settings}]
        line = {"pattern": rf"{re.escape(tag)}[{self.skipped}]*([^\n]*)"}
        stages = [{**line, "otherwise": "text"}, {"pattern": r"(?s)^\s*(.*?)\s*$"}]
        found = [{"kind": "regex", "configuration": each} for each in stages]
        return found if self.reads == "line" else []


def _above(metric: str, low: float | str = "chance", floor: bool = True) -> Score:
    return {"metric": metric, "normalise": {"low": low, "floor": floor}}


def _same(metric: str, *names: str) -> dict[str, Score]:
    return dict.fromkeys(names, metric)


_PHENOMENA = ("linguistic_phenomenon",)
_F1 = Counterpart(
    {
        "normalized_accuracy": _above("balanced-accuracy"),
        "accuracy": "balanced-accuracy",
        "macro_f1": "seahelm-macro-f1",
        "null_weighted_f1": "seahelm-null-weighted-f1",
    }
)
_LOGPROB = Counterpart(
    _same("seahelm-logprob:of=answer", "average_cumulative_probabilities"),
    reads="probability",
)
_PAIRS = Counterpart(reads="first-label", tags=_PHENOMENA)
_TEXT = Counterpart(answer="text", reads="line")

COUNTERPARTS: Mapping[str, Counterpart] = {
    "F1AccMetric": _F1,
    "SuperGPQAMetric": _F1._replace(tags=("difficulty", "field")),
    "LogProbMetric": _LOGPROB,
    "MinimalPairsLogProbMetric": _LOGPROB._replace(tags=_PHENOMENA),
    "PragmaticReasoningLogProbMetric": _LOGPROB._replace(tags=_PHENOMENA),
    "PragmaticReasoningMetric": _PAIRS._replace(
        # aggregate_metrics.py takes half for chance
        scores={"normalized_accuracy": _above("accuracy", 0.5), "accuracy": "accuracy"}
    ),
    "MinimalPairsMetric": _PAIRS._replace(
        # the floor is that of the mean over phenomena
        scores={
            "normalized_accuracy": _above("accuracy", floor=False),
            "accuracy": "accuracy",
        },
        is_macro=True,
    ),
    "MathMetric": _TEXT._replace(
        scores=_same(
            "math-match:as_written=true",
            *("normalized_math_verify_score", "math_verify_score"),
        ),
        reads="reply",
    ),
    "BBHExactMatch": _TEXT._replace(
        scores=_same("exact-match", "normalized_exact_match", "exact_match")
    ),
    "QuestionAnsweringMetric": _TEXT._replace(
        scores=_same("seahelm-qa", "normalized_f1", "f1"),
        skipped=r"\s`*",
        options={
            "th": ("pythainlp", ":words=newmm"),
            "zh": ("jieba", ":words=jieba"),
        },
    ),
    "CriteriaJudgeMetric": _TEXT._replace(
        scores=_same("judge-rate:of=criteria", "average_criteria_score"),
        reads="reply",
        tags=("category",),
        is_judged=True,
    ),
}
"""Counterparts of metric classes by name."""

_TURNS = "a conversation of several turns has no counterpart"
_IMAGES = "models are sent no images"
REFUSED: Mapping[str, str] = {
    "TranslationMetric": "MetricX has no counterpart",
    "RefClipScoreMetric": "CLIP has no counterpart",
    "LiveCodeBenchMetric": "generated programs are not run",
    "PairwiseLLMJudgeMetric": _TURNS,
    "MTBenchJudgeMetric": _TURNS,
    "LindseaJudgeMetric": "weights by severity have no counterpart",
    "HealthbenchJudgeMetric": "prompts that are conversations have no counterpart",
    "AALCRJudgeMetric": "data in a zip archive has no counterpart",
    "MathVisionJudgeMetric": _IMAGES,
    "BabyVisionJudgeMetric": _IMAGES,
}
"""Metric classes that need more than the table of responses."""


def judge_of(task: SeahelmTask, query: str) -> dict[str, Any]:
    """Return the judge of a task with criteria.

    Args:
        task: The task.
        query: Template of the question that the response answers.
    """
    judge = task.config.get("judge")
    task.refuse_unknown(judge, _JUDGE_KEYS, "judge")
    assert isinstance(judge, Mapping)
    prompts = judge.get("judge_prompts")
    prompt = prompts.get("criteria_prompt") if isinstance(prompts, Mapping) else None
    if not isinstance(prompts, Mapping) or not isinstance(prompt, str):
        keys = ("judge", "judge_prompts", "criteria_prompt")
        task.refuse("expected one prompt, which is the same for all turns", *keys)
    meanings = {
        "prompt": query,
        "response": "{response}",
        "keyPointText": "{rubric}",
        "reference_text_block": "",
    }
    user = re.sub(
        r"(?<!\{)\{(\w+)\}(?!\})",
        lambda name: meanings.get(name.group(1), name.group()),
        prompt,
    )
    models = _models(task, judge)
    panel: dict[str, Any] = dict(zip(("model", "generate"), models[0], strict=True))
    if len(models) > 1:
        judges = [
            {"name": f"judge-{n}", "model": model, "generate": generate}
            for n, (model, generate) in enumerate(models, start=1)
        ]
        panel = {"combine": "mean", "judges": judges}
    verdict = {"kind": "label", "tag": "classification", "take": "first"}
    return {
        "annotator": "judge",
        **panel,
        "prompt": {"system": prompts.get("system_prompt"), "user": user},
        "criteria_field": "criteria",
        "verdict": {**verdict, "values": dict(judge.get("classifications") or {})},
    }


def _models(
    task: SeahelmTask, judge: Mapping[str, Any]
) -> list[tuple[str, dict[str, Any]]]:
    """Return the models that judge, and how each generates."""
    keys = ("judge_model_type", "judge_init_args", "judge_generation_kwargs")
    names, *columns = (
        list(each) if isinstance(each, list) else [each]
        for each in (judge.get(key) or {} for key in ("judge_model_name", *keys))
    )
    models = []
    for key, values in zip(keys, columns, strict=True):
        if len(values) not in (1, len(names)):
            problem = f"expected {len(names)} values, one for each judge"
            task.refuse(f"{problem}, got {len(values)}", "judge", key)
    for number, name in enumerate(names):
        kind, start, given = (each[number % len(each)] for each in columns)
        if kind == "openai":
            is_batch = judge.get("batch_api_calls", True)
            model = f"openai{'-batch' if is_batch else ''}:model={name}"
        elif kind in _SERVERS:
            address = start.get("base_url") or start.get("api_base") or _LOCAL
            model = f"openai:model={name},base_url={address}"
        else:
            served = ", ".join(("openai", *_SERVERS))
            problem = f"unsupported type of judge, got {kind!r}. Supported: {served}"
            task.refuse(problem, "judge", "judge_model_type")
        generate = dict(given)
        effort = generate.pop("reasoning_effort", None)
        task.refuse_unknown(generate, _SAMPLING, "judge", "judge_generation_kwargs")
        model += f",reasoning_effort={effort}" if effort else ""
        models.append((model, generate))
    return models
