"""Model cards and evaluation results of the Hugging Face hub."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

import yaml

from evalkit import Result, Score
from evalkit.catalog import metric_of
from evalkit_commands_exchange.exported import (
    by_model,
    file_name,
    label,
    started,
    whole_scores,
)

_LIMITS = (
    "hub: model cards have no place for confidence intervals, tags, perturbations and "
    "coverage, which are left out; the notes of .eval_results give the interval"
)
_DATASET = re.compile(r"https://huggingface\.co/datasets/([\w.-]+/[\w.-]+)")


def write(runs: Sequence[Result], notices: list[str]) -> Iterator[tuple[str, str]]:
    """Yield the card of each model, and results for datasets of the hub."""
    notices.append(_LIMITS)
    for model, own in by_model(runs).items():
        folder = file_name(model.replace("/", "__"))
        scores = [whole_scores(run, notices) for run in own]
        results = [_result(run, found) for run, found in zip(own, scores, strict=True)]
        index = {"model-index": [{"name": model, "results": results}]}
        yield f"{folder}/README.md", f"---\n{_yaml(index)}---\n"
        for run in own:
            entry = _entry(run, notices)
            if entry is not None:
                path = f"{folder}/.eval_results/{file_name(str(run.dataset))}.yaml"
                yield path, _yaml([entry])


def _yaml(value: Any) -> str:
    return yaml.safe_dump(value, sort_keys=False, allow_unicode=True)


def _hub_dataset(run: Result) -> str | None:
    found = _DATASET.match(run.record.data.source_url or "")
    return found and found[1]


def _result(run: Result, scores: dict[str, Score]) -> dict[str, Any]:
    record = run.record
    dataset = {"type": _hub_dataset(run) or record.dataset, "name": record.dataset}
    if record.split:
        dataset["split"] = record.split
    return {
        "task": {"type": record.task},
        "dataset": dataset,
        "metrics": [_metric(run, name, score) for name, score in scores.items()],
    }


def _metric(run: Result, name: str, score: Score) -> dict[str, Any]:
    metric = metric_of(score.metric, run.record.metric_names)
    component = next(x for x in run.record.metrics if x.full_name == metric)
    found: dict[str, Any] = {"type": component.name, "value": score.value, "name": name}
    if component.parameters:
        found["args"] = dict(component.parameters)
    return found


def _entry(run: Result, notices: list[str]) -> dict[str, Any] | None:
    dataset, score = _hub_dataset(run), run.headline
    if dataset is None:
        notices.append(
            f"{label(run)}: no .eval_results, as the dataset is not one of the hub: "
            "its source_url is not https://huggingface.co/datasets/OWNER/NAME"
        )
        return None
    if score is None or score.value is None:
        return None
    notes = [score.metric, f"n = {score.n}"]
    if score.ci is not None:
        percent = f"{run.record.confidence:.0%} CI"
        notes.append(f"{percent} {score.ci.low:.4g} to {score.ci.high:.4g}")
    return {
        "dataset": {"id": dataset, "task_id": run.dataset},
        "value": score.value,
        "date": started(run).isoformat(),
        "notes": ", ".join(notes),
    }
