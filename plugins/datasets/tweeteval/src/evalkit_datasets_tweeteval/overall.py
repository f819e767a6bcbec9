"""The benchmark's overall number: the mean of seven tasks, stance over five targets."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from statistics import NormalDist, fmean
from typing import Any, NamedTuple

import polars as pl

import evalkit
from evalkit import MetricError, Result
from evalkit_datasets_tweeteval.datasets import DATASETS, TweetEval
from evalkit_datasets_tweeteval.runs import Run, collect_runs

TASKS: Mapping[str, Sequence[type[TweetEval]]] = {
    task: tuple(found for found in DATASETS if found.benchmark_task == task)
    for task in dict.fromkeys(dataset.benchmark_task for dataset in DATASETS)
}
"""The sets of each of the seven tasks: one, or stance's five."""


class TaskScore(NamedTuple):
    """The official metric of one task."""

    task: str
    metric: str
    value: float
    """Full precision, 0 to 1."""
    se: float | None
    """Standard error."""
    ci_low: float | None
    ci_high: float | None
    ci_method: str
    reason: str | None
    """Why there is no interval."""
    n: int
    """Number of tweets that it was computed from."""
    coverage: float
    """n as a share of the tweets in the data."""


class OverallScore(NamedTuple):
    """The benchmark's number of one model, and what it is the mean of."""

    model: str
    value: float
    """Full precision, 0 to 1."""
    se: float | None
    ci_low: float | None
    ci_high: float | None
    ci_method: str
    """`normal`: from the tasks' standard errors, whose tweets are independent."""
    reason: str | None
    n: int
    coverage: float
    tasks: tuple[TaskScore, ...]
    notices: tuple[str, ...]
    """What a reader should know before comparing it with published numbers."""

    def to_dict(self) -> dict[str, Any]:
        """Return what `--json` prints."""
        return {
            **self._asdict(),
            "unit": "%",
            "scale": 100.0,
            "higher_is_better": True,
            "tasks": [task._asdict() for task in self.tasks],
        }


def overall_score(
    results: Iterable[Result | str | Path], *, confidence: float = 0.95
) -> OverallScore:
    """Compute each task's official metric and the mean of the seven.

    The metrics are computed from the answers and predictions that the results hold, so
    it does not matter which metrics they were made with. The five stance targets are
    scored as one set.

    Args:
        results: Results of all eleven sets, or their run folders, in any order; all of
            one model.
        confidence: Probability of the confidence intervals, between 0 and 1.

    Returns:
        The seven scores and their mean.

    Raises:
        DataError: A run is missing, there twice, refused, partial, of another split or
            another model, or does not hold answers and predictions.
        MetricError: A metric has no value for the examples of its task.
        PluginError: A metric is not installed.
        StorageError: A run folder cannot be read.
    """
    runs = collect_runs(results)
    tasks = tuple(
        _score_task(task, [runs[str(dataset.name)] for dataset in datasets], confidence)
        for task, datasets in TASKS.items()
    )
    value = fmean(task.value for task in tasks)
    errors = [task.se for task in tasks if task.se is not None]
    se = low = high = reason = None
    if len(errors) == len(tasks):
        se = math.hypot(*errors) / len(tasks)
        half = NormalDist().inv_cdf((1 + confidence) / 2) * se
        low, high = max(0.0, value - half), min(1.0, value + half)
    else:
        without = ", ".join(task.task for task in tasks if task.se is None)
        reason = f"there is no standard error of {without}"
    n = sum(task.n for task in tasks)
    return OverallScore(
        model=str(next(iter(runs.values())).record["model"]),
        value=value,
        se=se,
        ci_low=low,
        ci_high=high,
        ci_method="none" if se is None else "normal",
        reason=reason,
        n=n,
        coverage=n / sum(run.size for run in runs.values()),
        tasks=tasks,
        notices=tuple(_notices(runs)),
    )


def _score_task(task: str, runs: Sequence[Run], confidence: float) -> TaskScore:
    dataset = TASKS[task][0]
    assert dataset.perf_metric is not None
    pooled = pl.concat(
        [run.counted.select(pl.col("answer", "pred").cast(pl.String)) for run in runs]
    )
    score = evalkit.score(
        dataset.perf_metric,
        predictions=pooled["pred"].to_list(),
        targets=pooled["answer"].to_list(),
        labels=dataset.label_names,
        confidence=confidence,
    ).headline
    assert score is not None
    if score.value is None:
        raise MetricError(f"{score.metric} of {task} has no value: {score.reason}")
    return TaskScore(
        task=task,
        metric=score.metric,
        value=score.value,
        se=score.se,
        ci_low=score.ci_low,
        ci_high=score.ci_high,
        ci_method=score.ci_method,
        reason=score.reason,
        n=pooled.height,
        coverage=pooled.height / sum(run.size for run in runs),
    )


def _notices(runs: Mapping[str, Run]) -> Iterator[str]:
    """Say why the number cannot be compared with published ones, where it cannot."""
    sizes = {str(dataset.name): dataset.test_size for dataset in DATASETS}
    others = [
        f"{name} ({run.size} of {sizes[name]} tweets)"
        for name, run in runs.items()
        if run.size != sizes[name]
    ]
    if others:
        yield f"not the published test sets: {', '.join(others)}"
    for policy, what in (("wrong", "counted as wrong"), ("skip", "left out")):
        counts = {name: run.count_under(policy) for name, run in runs.items()}
        listed = ", ".join(
            f"{name} ({count})" for name, count in counts.items() if count
        )
        if listed:
            yield f"tweets without a valid prediction were {what}: {listed}"
