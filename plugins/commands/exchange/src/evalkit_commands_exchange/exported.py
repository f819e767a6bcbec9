"""Scores and examples of a run as other tools write them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from evalkit import Result, Score
    from evalkit_analysis_robustness import Effects

Format = Literal["dynabench", "helm", "hub", "lm-eval", "seahelm"]

Writer = Callable[[Sequence["Result"], list[str]], Iterable[tuple[str, str]]]
"""Yields the path and the text of each file, and adds to the notices."""


def dump(value: Any, indent: int | None = 2) -> str:
    """Write a value as JSON."""
    return json.dumps(value, indent=indent, ensure_ascii=False, default=str)


def file_name(text: str) -> str:
    """Return a text as the name of a file or folder."""
    return re.sub(r"[^\w.,:=@+-]|^\.*$", "_", text)


def label(run: Result) -> str:
    """Name a run in a notice."""
    return f"{run.model}@{run.dataset}"


def by_model(runs: Iterable[Result]) -> dict[str, list[Result]]:
    """Return the runs of each model."""
    models: dict[str, list[Result]] = {}
    for run in runs:
        models.setdefault(str(run.model), []).append(run)
    return models


def started(run: Result) -> datetime:
    """Return when a run was evaluated."""
    assert run.record.timings is not None
    return datetime.fromisoformat(run.record.timings.started)


def last_date(runs: Iterable[Result]) -> str:
    """Return when the last of the runs was evaluated, as names of files have it."""
    return max(map(started, runs)).replace(tzinfo=None).isoformat().replace(":", "-")


def size(run: Result) -> int:
    """Return the number of examples that the main score is about."""
    return run.record.counts.scored if run.headline is None else run.headline.n


def score_name(score: Score) -> str:
    """Name a score of a whole run, which may be the mean over the tags of a facet."""
    return f"{score.metric}@{score.aggregate}" if score.aggregate else score.metric


def whole_scores(run: Result, notices: list[str]) -> dict[str, Score]:
    """Return the scores of a run by name, the main one first.

    A score without a value is left out, with a notice.
    """
    main = [] if run.headline is None else [run.headline]
    scores = {
        score_name(score): score
        for score in (*main, *(each for each in run.scores if each.is_whole))
    }
    for name, score in scores.items():
        if score.value is None:
            notices.append(f"{label(run)}: {name} is missing: {score.reason}")
    return {name: each for name, each in scores.items() if each.value is not None}


def effects_of(run: Result, notices: list[str]) -> Effects:
    """Find the effects of perturbations on a run, with a notice if some are missing."""
    from evalkit_analysis_robustness import find_effects

    effects = find_effects(run)
    if len(effects.runs) < len(run.record.perturbed_runs):
        notices.append(f"{label(run)}: runs of perturbed examples cannot be read")
    return effects


def shown(score: Score) -> float:
    """Return a value in its unit, such as %."""
    assert score.value is not None
    return score.value * score.scale


def rows_of(run: Result, notices: list[str]) -> Iterator[dict[str, Any]]:
    """Yield the examples of a run that holds answers and predictions.

    `scores` has the score of the example for each metric that has one, and `inputs`
    what the run keeps of the input.
    """
    frame, record = run.examples, run.record
    if frame is None or not record.includes_examples:
        notices.append(f"{label(run)}: the run holds no examples, so none are exported")
        return
    keys = [key for key in record.input_keys if f"column/{key}" in frame.columns]
    if len(keys) < len(record.input_keys):
        missing = ",".join(key for key in record.input_keys if key not in keys)
        notices.append(
            f"{run.dataset}: runs do not keep the inputs of their examples, so these "
            f"are empty. Evaluate with --keep {missing} to keep them"
        )
    after = frame.columns[frame.columns.index("status") + 1 :]
    columns = {
        metric: column
        for metric in record.metric_names
        for column in (metric, f"metrics/{metric}")
        if column in after
    }
    for row in frame.iter_rows(named=True):
        scores = {name: row[column] for name, column in columns.items()}
        known = {name: value for name, value in scores.items() if value is not None}
        inputs = {key: row[f"column/{key}"] for key in keys}
        yield {**row, "scores": known, "inputs": inputs}


def as_text(value: Any) -> str:
    """Return a value as it stands in a text."""
    return value if isinstance(value, str) else dump(value, indent=None)


def input_text(inputs: Mapping[str, Any]) -> str:
    """Return what is kept of an input as one text."""
    if len(inputs) == 1:
        return as_text(next(iter(inputs.values())))
    return "\n".join(f"{key}: {as_text(value)}" for key, value in inputs.items())


def texts_of(value: Any) -> list[str]:
    """Return an answer or a prediction as texts: of a list its items."""
    values = value if isinstance(value, list) else [value]
    return [as_text(each) for each in values if each is not None]
