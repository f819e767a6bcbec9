"""The options that name perturbed copies and the predictions for them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import click

from evalkit_cli.options.choices import apply
from evalkit_cli.options.prediction_sources import STANDARD_INPUT

perturbed_options = apply(
    click.option(
        "--perturbed",
        multiple=True,
        metavar="FILE|RUN",
        help="Perturbed copies of the data, as `evalkit perturb` writes them, or a run "
        "of them (see RUN of `evalkit show`): their effect on the scores is reported "
        "too; repeatable.",
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


class Copies(NamedTuple):
    """What `--perturbed` and `--perturbed-predictions` name."""

    perturbed: Sequence[Any]
    """Files, and the paths of runs."""
    predictions: Sequence[str]
    """A file for each of the files."""


def find_copies(given: Mapping[str, Any], models: int, runs: Path) -> Copies:
    """Find what is named, and refuse what does not go together."""
    names, answers = given["perturbed"], given["perturbed_predictions"]
    if not names and not answers:
        return Copies((), ())
    if STANDARD_INPUT in (*names, *answers):
        raise click.UsageError(
            "--perturbed and --perturbed-predictions take files, which are read more "
            "than once, and not the standard input (-)."
        )
    if models > 1:
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
    return Copies([name if run is None else run for name, run in pairs], answers)
