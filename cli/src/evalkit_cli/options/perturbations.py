"""The options that name perturbed copies and the predictions for them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import click

from evalkit_cli.options.choices import apply
from evalkit_cli.options.prediction_sources import STANDARD_INPUT, Copies, Job

perturbed_options = apply(
    click.option(
        "--perturbed",
        multiple=True,
        metavar="FILE|RUN",
        help="Report the effect of perturbed examples: a file of `evalkit perturb`, or "
        "a run. Repeatable.",
    ),
    click.option(
        "--perturbed-predictions",
        multiple=True,
        metavar="FILE",
        type=click.Path(),
        help="The same model's predictions for a file of --perturbed; one for each "
        "FILE, in the same order, and none for a RUN, which holds them.",
    ),
)
"""Parameters of `evalkit.evaluate` by the same names."""


def with_copies(
    work: Iterable[Job], given: Mapping[str, Any], runs: Path
) -> Iterable[Job]:
    """Add what the options name to the one job; refuse what does not go together."""
    names, answers = given["perturbed"], given["perturbed_predictions"]
    if not names and not answers:
        return work
    if STANDARD_INPUT in (*names, *answers):
        raise click.UsageError(
            "--perturbed and --perturbed-predictions take files, which are read more "
            "than once, and not the standard input (-)."
        )
    work = [*work]
    if len(work) > 1:
        raise click.UsageError(
            "--perturbed-predictions are of one model on one data set; evaluate one "
            "at a time, with one -p FILE."
        )
    from evalkit_analysis_robustness import find_stored

    found = [find_stored(name, runs) for name in names]
    files = found.count(None)
    if files != len(answers):
        raise click.UsageError(
            f"give each --perturbed FILE its --perturbed-predictions FILE, in the same "
            f"order: there are {files} and {len(answers)}"
            + (" (a run holds its own)." if files < len(names) else ".")
        )
    pairs = zip(names, found, strict=True)
    copies = Copies([name if run is None else run for name, run in pairs], answers)
    return [job._replace(copies=copies) for job in work]
