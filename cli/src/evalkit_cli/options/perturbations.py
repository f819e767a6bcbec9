"""The options that name perturbed copies and the predictions for them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

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
    click.option(
        "--weight",
        type=click.Choice(("original", "copy")),
        default="original",
        show_default=True,
        envvar="EVALKIT_WEIGHT",
        help="What counts the same under perturbation: every original, however many "
        "copies it has, or every copy.",
    ),
)
"""Parameters of `evalkit.evaluate` by the same names."""


def check_perturbed(options: dict[str, Any], models: int, runs: Path) -> None:
    """Refuse options that do not go together.

    Args:
        options: The options of the command by name. What names a run in `perturbed` is
            replaced by its path.
        models: How many models, or data sets, are evaluated.
        runs: Folder that runs are looked for in.

    Raises:
        EvalkitError: There is neither a file nor a run of a name.
        UsageError: Files are not paired, or belong to nobody knows which model.
    """
    answers = options["perturbed_predictions"]
    given = options["perturbed"]
    if not given and not answers:
        return
    if STANDARD_INPUT in (*given, *answers):
        raise click.UsageError(
            "--perturbed and --perturbed-predictions take files, which are read more "
            "than once, and not the standard input (-)."
        )
    if models > 1:
        raise click.UsageError(
            "--perturbed-predictions are of one model on one data set; evaluate one "
            "at a time, with one -p FILE."
        )
    from evalkit.reporting import find_stored

    found = [find_stored(name, runs) for name in given]
    files = found.count(None)
    if files != len(answers):
        raise click.UsageError(
            f"give each --perturbed FILE its --perturbed-predictions FILE, in the same "
            f"order: there are {files} and {len(answers)}"
            + (" (a run holds its own)." if files < len(given) else ".")
        )
    options["perturbed"] = [
        name if run is None else run for name, run in zip(given, found, strict=True)
    ]
