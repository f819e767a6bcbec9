"""Model cards and evaluation results of the Hugging Face hub."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

import yaml

from evalkit import Result, Score
from evalkit_commands_exchange.exported import (
    by_model,
    file_name,
    started,
    whole_scores,
)

_LIMITS = (
    "hub: model cards have no place for confidence intervals, tags, perturbations and "
    "coverage, which are left out; the notes of .eval_results give the interval"
)
_DATASET = re.compile(
    r"(?:hub:|https://huggingface\.co/datasets/)(?!\S*\.ya?ml)([\w.-]+/[\w.-]+)"
    r"(?:@([^#]+))?(?:#(.+))?"
)
"""A dataset of the hub, with its revision and its task."""


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


def _hub_dataset(run: Result) -> re.Match[str] | None:
    """Find the dataset of the hub in the name or the source of a run's dataset."""
    [dataset] = [each for each in run.record.components if each.kind == "datasets"]
    return _DATASET.match(dataset.read_from or run.record.data.source_url or "")


def _result(run: Result, scores: dict[str, Score]) -> dict[str, Any]:
    record, found = run.record, _hub_dataset(run)
    names = {name: re.split("[:#]", score.metric)[0] for name, score in scores.items()}
    return {
        "task": {"type": record.task},
        "dataset": {
            "type": found[1] if found else record.dataset,
            "name": record.dataset,
            "split": record.split,
        },
        "metrics": [
            {"type": names[name], "value": score.value, "name": name}
            for name, score in scores.items()
        ],
    }


def _entry(run: Result, notices: list[str]) -> dict[str, Any] | None:
    found, score = _hub_dataset(run), run.headline
    if found is None:
        notices.append(
            f"{run.dataset}: no .eval_results, as the dataset is not one of the hub "
            "(hub:OWNER/NAME, or the page of a dataset as its source_url)"
        )
        return None
    if score is None or score.value is None:
        return None
    notes = [score.metric, f"n = {score.n}"]
    if score.ci is not None:
        percent = f"{run.record.confidence:.0%} CI"
        notes.append(f"{percent} {score.ci.low:.4g} to {score.ci.high:.4g}")
    hub, revision, task = found.groups()
    own = {} if revision is None else {"revision": revision}
    return {
        "dataset": {"id": hub, "task_id": task or run.dataset, **own},
        "value": score.value,
        "date": started(run).isoformat(),
        "notes": ", ".join(notes),
    }
