"""The options that say how examples are grouped and intervals computed."""

from __future__ import annotations

import click

from evalkit_cli.options.choices import Decorator, apply, setting
from evalkit_cli.options.completion import complete_names


def jobs_with(help_text: str) -> Decorator:
    """Return the option `--jobs` of a command, with what the processes do."""
    return setting(
        "-j", "--jobs", type=click.IntRange(min=1), default=1, help=help_text
    )


def seed_with(help_text: str) -> Decorator:
    """Return the option `--seed` of a command, with what is drawn."""
    return setting("--seed", type=int, default=0, help=help_text)


def min_n_with(help_text: str) -> Decorator:
    """Return the option `--min-n` of a command, with what smaller tags miss."""
    return setting("--min-n", type=click.IntRange(min=1), default=10, help=help_text)


def confidence_with(help_text: str, default: float | None = 0.95) -> Decorator:
    """Return the option `--confidence` of a command, with what it is the level of."""
    return setting(
        "--confidence",
        type=click.FloatRange(0, 1, min_open=True, max_open=True),
        default=default,
        callback=_checked_confidence,
        help=help_text,
    )


def _checked_confidence(
    _context: click.Context, _option: click.Parameter, given: float | None
) -> float | None:
    """Refuse what no interval has, once, and not for every model."""
    from evalkit.reporting import check_confidence

    if given is not None:
        check_confidence(given)
    return given


observer_option = click.option(
    "--observer",
    "observers",
    multiple=True,
    envvar="EVALKIT_OBSERVERS",
    shell_complete=complete_names("observers"),
    help="Tell this observer what happens; repeatable.",
)

jobs_option = jobs_with("Processes that slow metrics written in Python may use.")

scoring_options = apply(
    setting(
        "--by",
        multiple=True,
        metavar="NAMES",
        help="Group examples also by this facet or column of the data, `answer` or "
        "`pred`; several, joined by commas, are crossed; repeatable.",
    ),
    min_n_with(
        "Leave tags of fewer examples out of the table, worst group and gap; "
        "files hold them all."
    ),
    confidence_with("Probability of the confidence intervals."),
    seed_with("Seed of the bootstrap."),
    jobs_option,
)
"""Parameters of `evalkit.evaluate` by the same names."""
