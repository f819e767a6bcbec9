"""The options that name perturbed copies and the predictions for them."""

from __future__ import annotations

from typing import Any

import click

from evalkit_cli.options import apply

perturbed_options = apply(
    click.option(
        "--perturbed",
        multiple=True,
        metavar="FILE",
        type=click.Path(),
        help="Perturbed copies of the data, as `evalkit perturb` writes them: their "
        "effect on the scores is reported too; repeatable.",
    ),
    click.option(
        "--perturbed-predictions",
        multiple=True,
        metavar="FILE",
        type=click.Path(),
        help="The same model's predictions for a file of --perturbed; as often as "
        "that, in the same order.",
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


def check_perturbed(options: dict[str, Any], models: int) -> None:
    """Refuse options that do not go together.

    Args:
        options: The options of the command by name.
        models: How many models, or data sets, are evaluated.

    Raises:
        UsageError: Files are not paired, or belong to nobody knows which model.
    """
    copies, answers = options["perturbed"], options["perturbed_predictions"]
    if len(copies) != len(answers):
        raise click.UsageError(
            f"give each --perturbed FILE its --perturbed-predictions FILE, in the same "
            f"order: there are {len(copies)} and {len(answers)}."
        )
    if copies and models > 1:
        raise click.UsageError(
            "--perturbed-predictions are of one model on one data set; evaluate one "
            "at a time, with one -p FILE."
        )
