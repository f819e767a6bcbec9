"""`evalkit list`."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Collection, Iterable, Iterator
from typing import TYPE_CHECKING

import click

from evalkit_cli.installed_commands import with_shadowed
from evalkit_cli.options.runs import json_option
from evalkit_cli.printing.escapes import for_terminal
from evalkit_cli.printing.streams import (
    echo,
    echo_json,
    echo_lines,
    fitting,
    plugin_output_to_stderr,
)

if TYPE_CHECKING:
    from evalkit import Component
    from evalkit.catalog import Catalog, DiscoveryProblem
    from evalkit_cli.commands.checking import Outcome


class ChosenDatasets:
    """Which data sets are listed.

    Args:
        task: Their task; None for any.
        language: A language of their texts.
        tag: One of their tags.
    """

    def __init__(self, task: str | None, language: str | None, tag: str | None) -> None:
        self._task, self._language, self._tag = task, language, tag

    def has(self, component: Component) -> bool:
        """Import a data set and tell whether it is wanted; one that fails is named."""
        from evalkit import EvalkitError, Registry
        from evalkit.catalog import BoundDataset, Resolver, load_component

        try:
            with plugin_output_to_stderr():
                bound = BoundDataset.of(load_component(component))
                resolver = Resolver(Registry())
                task = bound.task
                if not isinstance(task, str):
                    task = resolver.task(bound).component.name
        except EvalkitError as error:
            echo_lines(f"note: left out: {error}", err=True)
            return False
        return (
            self._task in (None, task)
            and (self._language is None or any(map(self._speaks, bound.languages)))
            and (self._tag is None or self._tag in bound.tags)
        )

    def _speaks(self, code: str) -> bool:
        """Tell whether a code is of the wanted language, in any region."""
        return f"{code}-".lower().startswith(f"{self._language}-".lower())


KIND_NAMES = (
    *("tasks", "datasets", "metrics", "perturbations", "annotators"),
    *("adapters", "recognisers", "observers", "commands", "schemas"),
)


@click.command("list")
@click.argument("kind", required=False, type=click.Choice(KIND_NAMES))
@click.option(
    "--task",
    metavar="NAME",
    help="Data sets of this task. They are imported, as with the next two.",
)
@click.option(
    "--language",
    metavar="CODE",
    help="Data sets with texts in this language: en finds en-GB too.",
)
@click.option("--tag", metavar="TAG", help="Data sets that have this tag as a whole.")
@json_option
@click.option(
    "--check",
    is_flag=True,
    help="Import each plugin in a process of its own, say which are broken, and how "
    "long the import took; observers too.",
)
@click.option(
    "--timeout",
    type=click.FloatRange(min=0, min_open=True),
    default=30.0,
    show_default=True,
    help="Seconds that --check gives each plugin.",
)
def list_command(
    kind: str | None,
    task: str | None,
    language: str | None,
    tag: str | None,
    as_json: bool,
    check: bool,
    timeout: float,
) -> None:
    """List the installed plugins; nothing is imported unless data sets are chosen.

    KIND is tasks, datasets, metrics, perturbations, annotators, adapters, recognisers,
    observers, commands or schemas; all but the last three by default.
    """
    from evalkit import find_components
    from evalkit.catalog import COMMANDS, OBSERVERS, iter_kinds

    catalog = find_components()
    if kind == COMMANDS:
        catalog = with_shadowed(catalog, _own_commands())
    is_chosen = any((task, language, tag))
    if is_chosen and kind not in (None, "datasets"):
        raise click.UsageError(
            f"--task, --language and --tag choose datasets, and {kind} were named."
        )
    components = list(iter_kinds(catalog, "datasets" if is_chosen else kind))
    if is_chosen:
        wanted = ChosenDatasets(task, language, tag)
        components = [found for found in components if wanted.has(found)]
        if not components and not as_json:
            echo("no installed data set is of this task, language and tag", err=True)
            return
    if check:
        if kind is None:
            components += iter_kinds(catalog, OBSERVERS)
        _check(components, catalog, as_json, timeout)
    elif as_json:
        echo_json(_as_json(components, catalog))
    else:
        _print_columns(components, catalog)
        _print_problems(catalog)


def _own_commands() -> Collection[str]:
    group = click.get_current_context().find_root().command
    return group.commands if isinstance(group, click.Group) else ()


def _as_json(components: list[Component], catalog: Catalog) -> dict[str, object]:
    return {
        "components": _rows([(found, found.problem) for found in components], catalog),
        **_remarks(catalog),
    }


def _rows(
    outcomes: Iterable[tuple[Component, str | None]], catalog: Catalog
) -> list[dict[str, object]]:
    ambiguous = catalog.only_with_distribution()
    rows = []
    for found, problem in outcomes:
        row = found._asdict() | {
            "id": found.id,
            "ambiguous": found in ambiguous,
            "problem": problem or None,
        }
        del row["requires"]
        rows.append(row)
    return rows


def _remarks(catalog: Catalog) -> dict[str, object]:
    return {
        "withheld": _rows(
            [(found, found.problem) for found in catalog.withheld], catalog
        ),
        "problems": [problem._asdict() for problem in catalog.problems],
        "notices": [notice._asdict() for notice in catalog.notices],
    }


def _print_columns(components: list[Component], catalog: Catalog) -> None:
    if not components:
        hidden = " and allowed" if catalog.withheld else ""
        echo(f"none of this kind is installed{hidden}", err=True)
        return
    ambiguous = catalog.only_with_distribution()
    rows: list[list[str]] = []
    for found in components:
        named = found.id, found.distribution, found.version
        described = (*named, _marks(found, ambiguous) + found.summary)
        rows.append([for_terminal(text) for text in described])
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    room = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    for row in rows:
        cells = [row[column].ljust(widths[column]) for column in range(3)]
        line = "  ".join([*cells, row[3]]).rstrip()
        needed = len("  ".join(cells))
        if room is not None and len(line) > room > needed:
            line = line[: room - 1].rstrip() + "…"
        echo(line)


def _marks(found: Component, ambiguous: set[Component]) -> str:
    marks = (
        ("(unusable) ", found.problem),
        (f"(only as {found.name}@{found.distribution}) ", found in ambiguous),
    )
    return "".join(mark for mark, holds in marks if holds)


def _print_problems(catalog: Catalog) -> None:
    for problem in catalog.problems:
        echo(f"warning: {problem.text}", err=True)
    for notice in catalog.notices:
        echo(f"note: {notice.text}", err=True)


def _check(
    components: list[Component], catalog: Catalog, as_json: bool, timeout: float
) -> None:
    from evalkit_cli.commands.checking import check_components

    outcomes = check_components(components, timeout)
    catalog = catalog._replace(
        notices=(*catalog.notices, *_without_core(components), *_slow(outcomes))
    )
    if as_json:
        rows = _rows([(each.component, each.problem) for each in outcomes], catalog)
        for row, each in zip(rows, outcomes, strict=True):
            row["seconds"] = each.seconds
        echo_json({"components": rows, **_remarks(catalog)})
    else:
        for each in outcomes:
            ok = f"ok      {each.component.origin}  {each.seconds or 0:.2f} s"
            echo(fitting(f"broken  {each.problem}") if each.problem else ok)
        _print_problems(catalog)
    if catalog.problems or any(each.problem for each in outcomes):
        raise click.exceptions.Exit(1)


def _slow(outcomes: Iterable[Outcome]) -> Iterator[DiscoveryProblem]:
    from evalkit.catalog import DiscoveryProblem

    for each in outcomes:
        if each.remark:
            yield DiscoveryProblem(each.component.distribution, each.remark)


def _without_core(components: Iterable[Component]) -> Iterator[DiscoveryProblem]:
    """Find distributions that do not say which evalkit-core they were made for."""
    from evalkit.catalog import DiscoveryProblem, required_distribution

    requirements = {found.distribution: found.requires for found in components}
    for distribution, requires in requirements.items():
        if not any(required_distribution(each)[:8] == "evalkit-" for each in requires):
            message = (
                "its metadata do not require evalkit-core; add "
                '"evalkit-core>=0.1,<0.2" to its dependencies, so that it is never '
                "used with a version that it was not made for"
            )
            yield DiscoveryProblem(distribution, message)
