"""Evaluates job after job of `evalkit eval`."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from evalkit_cli.options.benchmarks import Failures
from evalkit_cli.options.prediction_sources import Job, name_standard_input
from evalkit_cli.printing.corrected_commands import echo_error

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from evalkit import EvaluationOptions, Registry, Result
    from evalkit_analysis_suites import SuitePlan
    from evalkit_cli.commands.settings import TaskSettings


class Shared(NamedTuple):
    """What the evaluations of all jobs have in common."""

    registry: Registry
    options: EvaluationOptions
    task: str | None
    out: Path
    progress: Callable[[str, float], None]
    plan: SuitePlan | None
    engine: Any = None


def evaluate_all(
    work: Iterable[Job], shared: Shared, folder: Path, failures: Failures, several: bool
) -> tuple[list[Result], bool]:
    """Evaluate job after job; say whether one of several could not be done."""
    from evalkit.errors import EvalkitError

    results, done = [], []
    for job in work:
        done.append(job)
        try:
            results.append(_evaluate(job, shared, several))
        except EvalkitError as error:
            # the others' scores are not lost with this one's
            failures.setdefault(str(error), []).append((job, error))
    if len(done) == 1 and [*map(len, failures.values())] == [1] and not results:
        raise next(iter(failures.values()))[0][1]
    for text, failed in failures.items():
        # what stops all of them is no fault of their files
        # the file of predictions, or what a model was asked about
        named = [
            job.dataset if folder in Path(job.path).parents[1:] else job.path
            for job, _ in failed
        ]
        is_all = [job for job, _ in failed] == done
        paths = "" if is_all else ", ".join(name for name in named if name not in text)
        message = name_standard_input(f"{paths}: {text}" if paths else text, folder)
        echo_error(failed[0][1], message)
    return results, bool(failures)


def _evaluate(job: Job, shared: Shared, several: bool) -> Result:
    """Evaluate one model; say why where its predictions are refused."""
    from evalkit import evaluate_with
    from evalkit.errors import AlignmentError

    options = options_of(job.dataset, shared)
    how: dict[str, Any] = {
        "model": job.model,
        "task": shared.task,
        "out": shared.out,
        "registry": shared.registry,
        "progress": shared.progress,
    }
    try:
        if not job.copies.perturbed:
            how["engine"] = shared.engine
            return evaluate_with(job.dataset, job.path, options, **how)
        from evalkit_analysis_robustness import evaluate_perturbed

        return evaluate_perturbed(
            job.dataset,
            job.path,
            perturbed=job.copies.perturbed,
            perturbed_predictions=job.copies.predictions,
            options=options,
            **how,
        )
    except AlignmentError as error:
        if error.result is None:
            raise
        where = f"{job.dataset}: " if several else ""
        echo_error(error, f"{where}{error}")
        refused: Result = error.result
        return refused


def options_of(dataset: str, shared: Shared) -> EvaluationOptions:
    """Return the options for a data set, with the metrics that others add."""
    options, extra = shared.options, tuple[str, ...]()
    if shared.plan is not None:
        extra = tuple(shared.plan.metrics.get(dataset, ()))
        split = shared.plan.splits.get(dataset, options.split)
        options = replace(options, extra_metrics=extra, split=split)
    if options.metrics is not None:
        return options
    settings = _task_settings(shared.registry, dataset, shared.task)
    return replace(
        options,
        extra_metrics=(*settings.eval_metrics, *extra),
        perf_metric=settings.perf_metric,
    )


def _task_settings(registry: Registry, dataset: str, task: str | None) -> TaskSettings:
    from evalkit.catalog import Resolver

    if task is None:
        resolver = Resolver(registry)
        task = resolver.task(resolver.dataset(dataset)).component.name
    return _settings_of(Path.cwd(), task)


@cache
def _settings_of(folder: Path, task: str) -> TaskSettings:
    """Read the settings once, also where there are several models."""
    from evalkit_cli.commands.settings import task_settings

    return task_settings(folder, task)
