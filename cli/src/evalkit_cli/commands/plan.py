"""`evalkit plan`."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import click

from evalkit_cli.options.choices import setting
from evalkit_cli.options.completion import complete_runs
from evalkit_cli.options.local_plugins import plugin_option
from evalkit_cli.options.run_names import run_paths
from evalkit_cli.options.runs import folder_option, json_option
from evalkit_cli.options.scoring import confidence_with
from evalkit_cli.printing.streams import echo_json, plugin_output_to_stderr

_MOST_RUNS = 2

_POINTS = "pt"
"""Stands after percentage points."""


@click.command("plan")
@click.argument(
    "runs", nargs=-1, metavar="RUN [RUN]", shell_complete=complete_runs, required=True
)
@setting(
    "--detect",
    required=True,
    metavar="SIZE",
    help="Difference between two models to detect: 2pt (percentage points), or a "
    "number in the stored unit, in which proportions are 0 to 1.",
)
@click.option("-m", "--metric", metavar="NAME", help="Metric. Default: the main one.")
@setting(
    "--tags",
    type=click.IntRange(min=1),
    default=1,
    help="Number of tags that are compared; each needs as many examples.",
)
@setting(
    "--power",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    default=0.8,
    help="Probability of finding the difference.",
)
@confidence_with("Confidence of the comparison. Default: the run's.", default=None)
@folder_option
@json_option
@plugin_option
def plan_command(
    runs: tuple[str, ...],
    detect: str,
    metric: str | None,
    tags: int,
    power: float,
    confidence: float | None,
    folder: Path,
    as_json: bool,
) -> None:
    """Say how many examples are needed to find a difference between two models.

    \b
    Examples:
      evalkit plan latest --detect 2pt
      evalkit plan base new --detect 2pt --tags 10
      evalkit plan 3f2a --detect 0.5 --metric squad-f1 --power .9 --json

    A RUN is a path, the start of an id, `latest` or a model, also as MODEL@DATASET.
    With two runs on the same data, the variance of their difference is measured. One
    run does not tell how alike two models' scores are: then there is a row for each of
    some correlations. Where a run has clusters, or several answers per example, the
    table says how many of them are needed.

    Exit codes: 0 done; 1 an error, such as a run without variance; 2 wrong usage.
    """  # noqa: D301 - click reads the backspace
    if len(runs) > _MOST_RUNS:
        raise click.UsageError("name one run, or two that are compared.")
    size, is_points = _read_size(detect)
    from evalkit.errors import EvalkitError
    from evalkit.runs import as_result
    from evalkit_analysis_compare import plan
    from evalkit_cli.printing.plan_report import print_plan

    with plugin_output_to_stderr():
        paths = run_paths(runs, folder)
        first = as_result(paths[0], folder)
        if is_points and metric in (None, *first.metrics):
            name = metric or (first.headline and first.headline.metric)
            if name is not None and first[name].scale != 100:
                raise EvalkitError(
                    f"{name} is no proportion: give the difference in its own unit, "
                    f"without {_POINTS}"
                )
        second = paths[1] if len(runs) == _MOST_RUNS else None
        how: Any = {"detect": size, "metric": metric, "tags": tags, "power": power}
        found = plan(first, second, confidence=confidence, folder=folder, **how)
    if as_json:
        echo_json(found.to_dict())
        return
    print_plan(found)


def _read_size(given: str) -> tuple[float, bool]:
    """Read `2pt` or a number; say whether it was in points."""
    is_points = given.endswith(_POINTS)
    try:
        size = float(given.removesuffix(_POINTS))
    except ValueError:
        size = math.nan
    if not (size > 0 and math.isfinite(size)):
        hint = f" A % could be meant of the score or of all: {given[:-1]}pt are points."
        hint *= given.endswith("%")
        raise click.UsageError(
            f"--detect {given!r} is not of the form 2pt (percentage points) or 0.02 "
            f"(as stored).{hint}"
        )
    return (size / 100 if is_points else size), is_points
