"""`evalkit list`."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Collection, Iterable, Iterator
from typing import TYPE_CHECKING

import click

from evalkit_cli.installed_commands import with_shadowed
from evalkit_cli.options.kinds import KindOfPlugins
from evalkit_cli.options.local_plugins import of_given_files, plugin_option
from evalkit_cli.options.runs import json_option
from evalkit_cli.printing.descriptions import component_docstring, describe_component
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


class _Chosen:
    """Which plugins of a kind are listed, as they say themselves."""

    kind = "perturbations"
    options = "--family chooses"

    def __init__(self, family: str | None, **wanted: str | None) -> None:
        self._family, self._wanted = family, wanted
        self._families: set[str] = set()
        if family is None:
            self.kind = "datasets"
            self.options = "--task, --language and --tag choose"

    def none(self) -> str:
        """Say that none was wanted, and which families those that were seen have."""
        if self._family is None:
            return "no installed data set is of this task, language and tag"
        seen = f"; there are {', '.join(sorted(self._families))}"
        there_are = seen if self._families else ""
        return f"no installed perturbation is of the family {self._family}{there_are}"

    def has(self, component: Component) -> bool:
        """Import a plugin and tell whether it is wanted; one that fails is named."""
        from evalkit import EvalkitError

        wanted = self._has_dataset if self._family is None else self._has_perturbation
        try:
            with plugin_output_to_stderr():
                return wanted(component)
        except EvalkitError as error:
            echo_lines(f"note: left out: {error}", err=True)
            return False

    def _has_perturbation(self, component: Component) -> bool:
        """Where it cannot be built without a parameter, its class says the families."""
        from evalkit.catalog import import_component, load_component, read_attributes
        from evalkit.errors import RequiredParameterError

        try:
            attributes = load_component(component).attributes
        except RequiredParameterError:
            attributes, _ = read_attributes(component.kind, import_component(component))
        families = attributes.get("families", ())
        self._families.update(families)
        return self._family in families

    def _has_dataset(self, component: Component) -> bool:
        from evalkit import Registry
        from evalkit_cli.options.benchmarks import expand_dataset

        name = f"{component.name}@{component.distribution}"
        return any(map(self._has_variant, expand_dataset(name, Registry()).evaluated))

    def _has_variant(self, name: str) -> bool:
        from evalkit import Registry
        from evalkit.catalog import Resolver

        resolver = Resolver(Registry())
        bound = resolver.dataset(name)
        task = bound.task
        if not isinstance(task, str):
            task = resolver.task(bound).component.name
        language, tag = self._wanted["language"], self._wanted["tag"]
        start = f"{language}-".lower()
        codes = [f"{code}-".lower() for code in bound.languages]  # en is also en-GB
        is_in = language is None or any(code.startswith(start) for code in codes)
        is_of = self._wanted["task"] in (None, task)
        return is_of and is_in and (tag is None or tag in bound.tags)


_SEEN_AT_ONCE = 10
"""So many lines of `--check` need no last line that names the broken ones."""


@click.command("list")
@click.argument("kind", required=False, type=KindOfPlugins())
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
@click.option(
    "--family",
    metavar="NAME",
    help="Perturbations of this family, such as typos. They are imported.",
)
@click.option(
    "--search",
    metavar="WORDS",
    help="Plugins with all these words in name, description or distribution; where "
    "none has, in the whole docstring.",
)
@json_option
@click.option(
    "-v", "--verbose", is_flag=True, help="Also print distribution and version."
)
@click.option(
    "--check",
    is_flag=True,
    help="Import each plugin in another process, say which are broken, and how "
    "long the import took. With --plugin those in its files alone.",
)
@click.option(
    "--timeout",
    type=click.FloatRange(min=0, min_open=True),
    default=30.0,
    show_default=True,
    help="Seconds that --check gives each plugin.",
)
@plugin_option
def list_command(
    kind: str | None,
    task: str | None,
    language: str | None,
    tag: str | None,
    family: str | None,
    search: str | None,
    as_json: bool,
    verbose: bool,
    check: bool,
    timeout: float,
) -> None:
    """List the installed plugins, and say of each what it is.

    The description is the first sentence of its docstring, which is read from its
    source: nothing is imported unless data sets or a family are chosen. `evalkit show
    KIND/NAME` says more of one.

    KIND is tasks, datasets, metrics, perturbations or a kind that an installed
    distribution defines, such as models. Schemas, and plugins of other kinds that are
    hidden, are listed only when the kind is named; --search and --check find them too.
    """
    from evalkit import find_components
    from evalkit.catalog import iter_kinds

    catalog = find_components()
    if kind == "commands":
        catalog = with_shadowed(catalog, _own_commands())
    chosen = _chosen(kind, family, task=task, language=language, tag=tag)
    if chosen is not None:
        kind = chosen.kind
    components = list(iter_kinds(catalog, kind))
    if kind is None and (check or search):
        components = [
            found for each in catalog.kinds for found in catalog.of_kind(each.name)
        ]
    if chosen is not None:
        components = [each for each in components if chosen.has(each)]
        if not components and not as_json:
            echo(chosen.none(), err=True)
            return
    if search:
        components = _found(components, search.split())
        if not components and not as_json:
            echo(f"none of these plugins has all the words {search!r}", err=True)
            return
    if check:
        _check(of_given_files(components), catalog, as_json, timeout)
    elif as_json:
        rows = _rows([(found, found.problem) for found in components], catalog)
        echo_json({"components": rows, **_remarks(catalog)})
    else:
        _print_columns(components, catalog, verbose)
        _print_problems(catalog)


def _chosen(
    kind: str | None, family: str | None, **wanted: str | None
) -> _Chosen | None:
    is_of_datasets = any(wanted.values())
    if family and is_of_datasets:
        raise click.UsageError(
            "--family chooses perturbations, and --task, --language and --tag datasets."
        )
    if not family and not is_of_datasets:
        return None
    chosen = _Chosen(family or None, **wanted)
    if kind not in (None, chosen.kind):
        told = f"{chosen.options} {chosen.kind}"
        raise click.UsageError(f"{told}, and {kind} were named.")
    return chosen


def _found(components: list[Component], words: list[str]) -> list[Component]:
    """Choose those with all words in what is printed, or else in their docstrings."""
    found = [each for each in components if _has(_printed(each), words)]
    return found or [
        each
        for each in components
        if _has(f"{_printed(each)}\n{component_docstring(each)}", words)
    ]


def _printed(component: Component) -> str:
    texts = component.id, describe_component(component), component.distribution
    return "\n".join(texts)


def _has(text: str, words: Iterable[str]) -> bool:
    folded = text.casefold()
    return all(word.casefold() in folded for word in words)


def _own_commands() -> Collection[str]:
    group = click.get_current_context().find_root().command
    return group.commands if isinstance(group, click.Group) else ()


def _rows(
    outcomes: Iterable[tuple[Component, str | None]], catalog: Catalog
) -> list[dict[str, object]]:
    ambiguous = catalog.only_with_distribution()
    rows = []
    for found, problem in outcomes:
        row = found._asdict() | {
            "id": found.id,
            "description": describe_component(found),
            "ambiguous": found in ambiguous,
            "local": found.is_local,
            "problem": problem or None,
        }
        row["kind"] = row.pop("own_kind") or found.kind
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


def _print_columns(
    components: list[Component], catalog: Catalog, verbose: bool
) -> None:
    if not components:
        hidden = " and allowed" if catalog.withheld else ""
        echo(f"none of this kind is installed{hidden}", err=True)
        return
    rows = list(_cells(components, catalog, verbose))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    kinds = [found.id.partition("/")[0] for found in components]
    room = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    for number, row in enumerate(rows):
        if number and kinds[number] != kinds[number - 1]:
            echo()
        *cells, description = map(str.ljust, row, widths)
        named = "  ".join(cells)
        line = f"{named}  {description}".rstrip()
        if room is not None and len(line) > room > len(named):
            line = line[: room - 1].rstrip() + "…"
        echo(line)


def _cells(
    components: Iterable[Component], catalog: Catalog, verbose: bool
) -> Iterator[list[str]]:
    ambiguous = catalog.only_with_distribution()
    for found in components:
        origin = (found.distribution, found.version) if verbose else ()
        description = _marks(found, ambiguous) + describe_component(found)
        yield [for_terminal(text) for text in (found.id, *origin, description)]


def _marks(found: Component, ambiguous: set[Component]) -> str:
    place = (found.value, found.summary)
    marks = (
        (f"(local: {', '.join(filter(None, place))}) ", found.is_local),
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
    broken = [each.component.id for each in outcomes if each.problem]
    catalog = catalog._replace(
        notices=(*catalog.notices, *_without_core(components), *_remarked(outcomes))
    )
    if as_json:
        rows = _rows([(each.component, each.problem) for each in outcomes], catalog)
        for row, each in zip(rows, outcomes, strict=True):
            row["seconds"] = each.seconds
        echo_json({"components": rows, **_remarks(catalog)})
    else:
        for each in sorted(outcomes, key=lambda each: bool(each.problem)):
            ok = f"ok      {each.component.origin}  {each.seconds or 0:.2f} s"
            echo(fitting(f"broken  {each.problem}") if each.problem else ok)
        if broken and len(outcomes) > _SEEN_AT_ONCE:
            echo()
            echo(f"broken, of {len(outcomes)}: {', '.join(broken)}")
        _print_problems(catalog)
    if catalog.problems or broken:
        raise click.exceptions.Exit(1)


def _remarked(outcomes: Iterable[Outcome]) -> Iterator[DiscoveryProblem]:
    from evalkit.catalog import DiscoveryProblem

    for each in outcomes:
        for remark in filter(None, (each.note, each.remark)):
            yield DiscoveryProblem(each.component.distribution, remark)


def _without_core(components: Iterable[Component]) -> Iterator[DiscoveryProblem]:
    """Find distributions that do not say which evalkit-core they were made for."""
    from evalkit.catalog import DiscoveryProblem, required_distribution

    requirements = {
        found.distribution: found.requires for found in components if not found.is_local
    }
    for distribution, requires in requirements.items():
        names = {required_distribution(each) for each in requires}
        if "evalkit" in names:
            message = "it requires 'evalkit', which is another project; evalkit's "
            message += "distribution is evalkit-core"
            yield DiscoveryProblem(distribution, message)
        elif not any(name[:8] == "evalkit-" for name in names):
            message = (
                "its metadata do not require evalkit-core; add "
                '"evalkit-core>=0.1,<0.2" to its dependencies, so that it is never '
                "used with a version that it was not made for"
            )
            yield DiscoveryProblem(distribution, message)
