"""Finds out what judges would be asked, without asking them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from evalkit_cli.commands.job_evaluation import Shared, options_of
from evalkit_cli.options.prediction_sources import Job

if TYPE_CHECKING:
    from evalkit_annotators_columns import BoundAnnotator
    from evalkit_cli.printing.planned_requests import Planned


def refuse_what_is_not_planned(options: dict[str, Any]) -> None:
    """Refuse a dry run of what no judge is asked about, or is not counted."""
    if not options["annotators"]:
        raise click.UsageError(
            "--dry-run shows what models would be asked: give --model, or predictions "
            "and a judge (--annotate)."
        )
    if options["perturbed"]:
        raise click.UsageError("--dry-run counts no copies: leave out --perturbed.")


def plans_of_jobs(work: list[Job], shared: Shared) -> list[Planned]:
    """Find out what judges would be asked about the responses of each model."""
    judges: Mapping[str, Any] = getattr(shared.options.columns, "declared", {})
    found: list[Planned] = []
    for job in work:
        model = f" on {job.model or Path(job.path).stem}" if len(work) > 1 else ""
        for name, judge in judges.items():
            plan = _plan(job, shared, {name: judge})
            found += [{"title": f"{name}{model}", **plan}] if plan else []
    return found


def _plan(
    job: Job, shared: Shared, judge: Mapping[str, BoundAnnotator]
) -> Mapping[str, Any] | None:
    """Return what a judge would be asked, which it says in place of a verdict."""
    from evalkit import evaluate_with
    from evalkit.errors import AnnotatorError
    from evalkit_annotators_columns import Annotators

    options = replace(
        options_of(job.dataset, shared),
        columns=Annotators(judge),
        observers=(),
        # by others no other annotator is asked: of the task, or installed
        metrics=(),
        extra_metrics=(),
    )
    how: dict[str, Any] = {"model": job.model, "task": shared.task}
    how |= {"registry": shared.registry, "progress": shared.progress}
    try:
        evaluate_with(job.dataset, job.path, options, **how)
    except AnnotatorError as error:
        plan: Mapping[str, Any] | None = getattr(error.__cause__, "plan", None)
        if plan is None:
            raise
        return plan
    return None
