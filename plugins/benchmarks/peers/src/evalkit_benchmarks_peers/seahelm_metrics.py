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
_PROMPTS = ("system_prompt", "criteria_prompt", "reference_prompt")
_SAMPLING = ("temperature", "top_p", "top_k", "max_tokens", "stop", "seed")
_SERVERS = ("vllm", "online_vllm", "online_sglang", "local_openai", "litellm")
_LOCAL = "http://127.0.0.1:8000/v1"

Score = str | dict[str, Any]
"""A metric, or a headline of a benchmark file."""


class Counterpart(NamedTuple):
    """Counterpart of a metric class."""

    scores: Mapping[str, Score] = {}  # metric for each of its scores
    answer: Literal["choice", "text"] = "choice"
    # how an answer is read: a label behind the tag (the first tag, and with its case),
    # the line behind it, the whole reply; or not, as probabilities are asked for
    reads: Literal["label", "first-label", "line", "reply", "probability"] = "label"
    skipped: str = r"\s*"  # characters between the tag and a line
    tags: tuple[str, ...] = ()  # keys of `metadata` that become facets
    # package by language, and what the metric takes for `words` if it is there
    options: Mapping[str, tuple[str, str]] = {}
    is_macro: bool = False  # whether the headline is the mean over the facets
    is_judged: bool = False

    def extract(self, tag: str) -> list[Any]:
        """Return the extractor stages for an answer tag."""
        if self.reads in ("label", "first-label"):
            is_first = self.reads == "first-label"
            settings = {"tag": tag, "case": is_first, "first": is_first}
            return [{"kind": "seahelm-answer", "configuration": settings}]
        line = {"pattern": rf"{re.escape(tag)}[{self.skipped}]*([^\n]*)"}
        stages = [{**line, "otherwise": "text"}, {"pattern": r"(?s)^\s*(.*?)\s*$"}]
        is_line = self.reads == "line"
        return [{"kind": "regex", "configuration": x} for x in stages if is_line]


def _accuracy(metric: str = "accuracy", **normalise: Any) -> dict[str, Score]:
    scale = {"low": "chance", "floor": True, **normalise}
    above = {"metric": metric, "normalise": scale}
    return {"normalized_accuracy": above, "accuracy": metric}


def _same(metric: str, name: str) -> dict[str, Score]:
    """Return the metric of a score, which SEA-HELM scales from nothing to all."""
    return {f"normalized_{name}": metric, name: metric}


_PHENOMENA = ("linguistic_phenomenon",)
_F1 = Counterpart(
    {
        **_accuracy("balanced-accuracy"),
        "macro_f1": "seahelm-macro-f1",
        "null_weighted_f1": "seahelm-null-weighted-f1",
    }
)
_LOGPROB = Counterpart(
    {"average_cumulative_probabilities": "seahelm-logprob:of=answer"},
    reads="probability",
)
_PAIRS = Counterpart(reads="first-label", tags=_PHENOMENA)
_TEXT = Counterpart(answer="text", reads="line")

OWN = Counterpart(answer="text", reads="reply")
"""A metric class without a counterpart, which runs itself."""

COUNTERPARTS: Mapping[str, Counterpart] = {
    "F1AccMetric": _F1,
    "SuperGPQAMetric": _F1._replace(tags=("difficulty", "field")),
    "LogProbMetric": _LOGPROB,
    "MinimalPairsLogProbMetric": _LOGPROB._replace(tags=_PHENOMENA),
    "PragmaticReasoningLogProbMetric": _LOGPROB._replace(tags=_PHENOMENA),
    # aggregate_metrics.py takes half for chance
    "PragmaticReasoningMetric": _PAIRS._replace(scores=_accuracy(low=0.5)),
    # the floor is that of the mean over phenomena
    "MinimalPairsMetric": _PAIRS._replace(scores=_accuracy(floor=False), is_macro=True),
    "MathMetric": _TEXT._replace(
        scores=_same("math-match:as_written=true", "math_verify_score"), reads="reply"
    ),
    "BBHExactMatch": _TEXT._replace(scores=_same("exact-match", "exact_match")),
    "QuestionAnsweringMetric": _TEXT._replace(
        scores=_same("seahelm-qa", "f1"),
        skipped=r"\s`*",
        options={"th": ("pythainlp", "newmm"), "zh": ("jieba", "jieba")},
    ),
    "CriteriaJudgeMetric": _TEXT._replace(
        scores={"average_criteria_score": "judge-rate:of=criteria"},
        reads="reply",
        tags=("category",),
        is_judged=True,
    ),
}
"""Counterparts of metric classes by name."""

REFUSED = re.compile(
    "(Translation|RefClipScore|LiveCodeBench|PairwiseLLMJudge|MTBenchJudge|LindseaJudge"
    "|HealthbenchJudge|AALCRJudge|MathVisionJudge|BabyVisionJudge)Metric"
)
"""Metric classes that need more than the table of responses: other models, programs,
images or several turns."""


def judge_of(task: SeahelmTask, query: str) -> dict[str, Any]:
    """Return the judge of a task whose responses answer `query` by criteria."""
    judge: Any = task.config.get("judge") or {}
    keys = ("judge", "judge_prompts")
    task.refuse_unknown(judge, _JUDGE_KEYS, "judge")
    prompts: Any = judge.get("judge_prompts")
    task.refuse_unknown(prompts, _PROMPTS, *keys)
    prompt = prompts.get("criteria_prompt")
    if not isinstance(prompt, str):
        problem = "expected one prompt, which is the same for all turns"
        task.refuse(problem, *keys, "criteria_prompt")
    if prompts.get("reference_prompt"):
        problem = "references of criteria have no counterpart. Remove the key"
        task.refuse(problem, *keys, "reference_prompt")
    meanings = {"prompt": query, "keyPointText": "{rubric}", "reference_text_block": ""}
    user = re.sub(
        r"(?<!\{)\{(\w+)\}(?!\})",
        lambda name: meanings.get(name.group(1), name.group()),
        prompt,
    )
    models = _models(task, judge)
    panel = {"combine": "mean", "judges": models} if len(models) > 1 else models[0]
    verdict = {"kind": "label", "tag": "classification", "take": "first"}
    return {
        "annotator": "judge",
        **panel,
        "prompt": {"system": prompts.get("system_prompt"), "user": user},
        "criteria_field": "criteria",
        "verdict": {**verdict, "values": dict(judge.get("classifications") or {})},
    }


def _models(task: SeahelmTask, judge: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the models that judge, and how each generates."""
    keys = ("judge_model_type", "judge_init_args", "judge_generation_kwargs")
    names, *columns = (
        list(each) if isinstance(each, list) else [each]
        for each in (judge.get(key) or {} for key in ("judge_model_name", *keys))
    )
    for key, values in zip(keys, columns, strict=True):
        if len(values) not in (1, len(names)):
            problem = f"expected {len(names)} values, one for each judge"
            task.refuse(f"{problem}, got {len(values)}", "judge", key)
    models = []
    for number, name in enumerate(names):
        kind, start, given = (each[number % len(each)] for each in columns)
        if kind == "openai":
            batch = "-batch" if judge.get("batch_api_calls", True) else ""
            model = f"openai{batch}:model={name}"
        elif kind in _SERVERS:
            address = start.get("base_url") or start.get("api_base") or _LOCAL
            model = f"openai:model={name},base_url={address}"
        else:
            supported = ", ".join(("openai", *_SERVERS))
            problem = f"unsupported type of judge, got {kind!r}. Supported: {supported}"
            task.refuse(problem, "judge", "judge_model_type")
        known = (*_SAMPLING, "reasoning_effort")
        task.refuse_unknown(given, known, "judge", "judge_generation_kwargs")
        generate = dict(given)
        if effort := generate.pop("reasoning_effort", None):
            model += f",reasoning_effort={effort}"
        own = {"name": f"judge-{number + 1}"} if len(names) > 1 else {}
        models.append({**own, "model": model, "generate": generate})
    return models
