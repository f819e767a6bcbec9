"""`evalkit list`."""

from __future__ import annotations

import shutil
import sys
from typing import TYPE_CHECKING

import click

from evalkit_cli.streams import echo_json

if TYPE_CHECKING:
    from evalkit.discovery import Catalog, Component

KIND_NAMES = ("tasks", "datasets", "metrics", "perturbations", "observers")


@click.command("list")
@click.argument("kind", required=False, type=click.Choice(KIND_NAMES))
@click.option(
    "--json", "as_json", is_flag=True, envvar="EVALKIT_JSON", help="Print JSON."
)
@click.option(
    "--check",
    is_flag=True,
    help="Import each plugin in a process of its own and say which are broken.",
)
@click.option(
    "--timeout",
    type=click.FloatRange(min=0, min_open=True),
    default=30.0,
    show_default=True,
    help="Seconds that --check gives each plugin.",
)
def list_command(kind: str | None, as_json: bool, check: bool, timeout: float) -> None:
    """List the installed plugins; nothing is imported.

    KIND is tasks, datasets, metrics, perturbations or observers; all but observers by
    default.
    """
    from evalkit.discovery import find_components, iter_kinds

    catalog = find_components()
    components = list(iter_kinds(catalog, kind))
    if check:
        _check(components, catalog, as_json, timeout)
    elif as_json:
        echo_json(_as_json(components, catalog))
    else:
        _print_columns(components)
        _print_problems(catalog)


def _as_json(components: list[Component], catalog: Catalog) -> dict[str, object]:
    return {
        "components": [found._asdict() | {"id": found.id} for found in components],
        "problems": [problem._asdict() for problem in catalog.problems],
    }


def _print_columns(components: list[Component]) -> None:
    if not components:
        click.echo("none of this kind is installed", err=True)
        return
    rows = [
        (found.id, found.distribution, found.version, found.summary)
        for found in components
    ]
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    room = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    for row in rows:
        cells = [row[column].ljust(widths[column]) for column in range(3)]
        line = "  ".join([*cells, row[3]]).rstrip()
        needed = len("  ".join(cells))
        if room is not None and len(line) > room > needed:
            line = line[: room - 1].rstrip() + "…"
        click.echo(line)


def _print_problems(catalog: Catalog) -> None:
    for problem in catalog.problems:
        click.echo(f"warning: {problem.distribution}: {problem.message}", err=True)


def _check(
    components: list[Component], catalog: Catalog, as_json: bool, timeout: float
) -> None:
    from evalkit_cli.checking import check_components

    outcomes = check_components(components, timeout)
    if as_json:
        rows = [
            found._asdict() | {"id": found.id, "problem": problem}
            for found, problem in outcomes
        ]
        problems = [problem._asdict() for problem in catalog.problems]
        report = {"components": rows, "problems": problems}
        echo_json(report)
    else:
        for found, problem in outcomes:
            click.echo(f"broken  {problem}" if problem else f"ok      {found.origin}")
        _print_problems(catalog)
    if catalog.problems or any(problem for _, problem in outcomes):
        raise click.exceptions.Exit(1)
