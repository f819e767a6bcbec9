"""The options that say how examples are grouped and intervals computed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import click

from evalkit_cli.options.asking import refuse_given
from evalkit_cli.options.choices import Decorator, apply, setting
from evalkit_cli.options.completion import complete_names

if TYPE_CHECKING:
    from evalkit import Registry


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

engine_option = setting(
    "--engine",
    metavar="NAME[:KEY=VALUE,…]",
    shell_complete=complete_names("engines"),
    help="Work in parts on this engine, such as dask or dask:workers=4.",
)


def load_engine(
    name: str | None, registry: Registry, others: Mapping[str, Any] | None = None
) -> Any:
    """Load the engine of `--engine`; refuse other options, if they have a value."""
    if not name:
        return None
    for option in (option for option, value in (others or {}).items() if value):
        raise click.UsageError(
            f"{option} cannot be used with --engine. Leave one of them out."
        )
    refuse_given(["jobs"], "cannot be used with --engine, which has its own workers.")
    return registry.load("engines", name).plugin


def running(engine: Any, progress: Callable[[str, float], None]) -> Any:
    """Start an engine, if there is one, for a `with` statement that stops it."""
    if engine is None:
        return nullcontext()
    progress("starting the workers", 0.0)
    return engine


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
    engine_option,
)
"""Parameters of `evalkit.evaluate` by the same names."""
