"""The options that say how examples are grouped and intervals computed."""

from __future__ import annotations

import click

from evalkit_cli.options.choices import apply

jobs_option = click.option(
    "-j",
    "--jobs",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    envvar="EVALKIT_JOBS",
    help="Processes that slow metrics written in Python may use.",
)

scoring_options = apply(
    click.option(
        "--by",
        multiple=True,
        metavar="NAMES",
        envvar="EVALKIT_BY",
        help="Group examples also by this facet or column of the data, `answer` or "
        "`pred`; several, joined by commas, are crossed; repeatable.",
    ),
    click.option(
        "--min-n",
        type=click.IntRange(min=1),
        default=10,
        show_default=True,
        envvar="EVALKIT_MIN_N",
        help="Leave tags of fewer examples out of the table, worst group and gap; "
        "files hold them all.",
    ),
    click.option(
        "--confidence",
        type=click.FloatRange(0, 1, min_open=True, max_open=True),
        default=0.95,
        show_default=True,
        envvar="EVALKIT_CONFIDENCE",
        help="Probability of the confidence intervals.",
    ),
    click.option(
        "--seed",
        type=int,
        default=0,
        show_default=True,
        envvar="EVALKIT_SEED",
        help="Seed of the bootstrap.",
    ),
    click.option(
        "--resample-lists",
        is_flag=True,
        envvar="EVALKIT_RESAMPLE_LISTS",
        help="Give functions of lists an interval also for more than 10 000 examples, "
        "by 200 further calls.",
    ),
    jobs_option,
)
"""Parameters of `evalkit.evaluate` by the same names."""
