"""Finds out what judges would be asked, without asking them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from evalkit_cli.commands.job_evaluation import Shared, options_of
from evalkit_cli.options.judge_plans import Plan, plans_of_judges
from evalkit_cli.options.prediction_sources import Job

if TYPE_CHECKING:
    from evalkit import Result
    from evalkit_annotators_columns import BoundAnnotator


def refuse_what_is_not_planned(options: dict[str, Any]) -> None:
    """Refuse a dry run of what no judge is asked about, or is not counted."""
    if not options["annotators"]:
        raise click.UsageError(
            "--dry-run shows what models would be asked: give --model, or predictions "
            "and a judge (--annotate)."
        )
    if options["perturbed"]:
        raise click.UsageError("--dry-run counts no copies: leave out --perturbed.")


def plans_of_jobs(work: list[Job], shared: Shared) -> list[Plan]:
    """Find out what judges would be asked about the responses of each model."""
    from evalkit import evaluate_with
    from evalkit_annotators_columns import Annotators

    found: list[Plan] = []
    for job in work:

        def judge(chosen: Mapping[str, BoundAnnotator], job: Job = job) -> Result:
            options = replace(
                options_of(job.dataset, shared),
                columns=Annotators(chosen),
                observers=(),
                # by others no other annotator is asked: of the task, or installed
                metrics=(),
                extra_metrics=(),
            )
            return evaluate_with(
                job.dataset,
                job.path,
                options,
                model=job.model,
                task=shared.task,
                registry=shared.registry,
                progress=shared.progress,
            )

        plans = plans_of_judges(getattr(shared.options.columns, "declared", {}), judge)
        model = f" on {job.model or Path(job.path).stem}" if len(work) > 1 else ""
        found += [{**plan, "title": f"{plan['title']}{model}"} for plan in plans]
    return found
