"""Data sets that a command is about; a benchmark stands for its variants."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import click

from evalkit_cli.options.choices import chosen_dataset
from evalkit_cli.options.prediction_sources import Job
from evalkit_cli.printing.streams import echo, echo_json, plugin_output_to_stderr

if TYPE_CHECKING:
    from evalkit import EvalkitError, Registry
    from evalkit_analysis_suites import SuitePlan
    from evalkit_benchmarks_declared import Expansion

Failures = dict[str, list[tuple[Job, "EvalkitError"]]]
"""Jobs that could not be done and their errors, by the text of the error."""


def chosen_datasets(
    datasets: Sequence[str], data: str | None, task: str | None
) -> list[str]:
    """Return the data sets or the file that were named; of a benchmark all variants.

    Args:
        datasets: The arguments.
        data: The option `--data`.
        task: The option `--task`.

    Raises:
        UnknownPluginError: There is no such data set.
        UsageError: As for `chosen_dataset`, or one is named twice.
    """
    expanded = expanded_datasets(datasets, data, task)
    return [name for each in expanded for name in each.evaluated]


def expanded_datasets(
    datasets: Sequence[str], data: str | None, task: str | None
) -> list[Expansion]:
    """Return what each data set that was named stands for."""
    given: Sequence[str | None] = datasets or [None]
    found = [chosen_dataset(each, data, task) for each in given]
    twice = next((name for name in found if found.count(name) > 1), None)
    if twice is not None:
        raise click.UsageError(f"{twice} is named twice.")
    from evalkit import Registry
    from evalkit.catalog import is_file_name

    registry = Registry()
    for name in found if len(found) > 1 else ():  # before the first takes its time
        if not is_file_name(name):
            registry.select("datasets", name)
    return [expand_dataset(name, registry) for name in found]


def plan_of(suite: str, registry: Registry) -> SuitePlan:
    """Return what to evaluate for a suite, and say what cannot be."""
    from evalkit_analysis_suites import plan_suite

    with plugin_output_to_stderr():
        plan = plan_suite(suite, registry)
    for notice in plan.notices:
        echo(f"evalkit: notice: {notice}", err=True)
    return plan


def expand_dataset(name: str, registry: Registry) -> Expansion:
    """Return what a data set stands for: itself, or the variants of a benchmark."""
    from evalkit_benchmarks_declared import expand

    with plugin_output_to_stderr():
        return expand(name, registry)


def evaluable(
    expanded: Iterable[Expansion], registry: Registry, failures: Failures
) -> dict[str, Sequence[str]]:
    """Return what can be evaluated, by what is asked; note variants that cannot."""
    found: dict[str, Sequence[str]] = {}
    for each in expanded:
        refused: dict[str, EvalkitError] = {}
        if each.name:
            from evalkit_benchmarks_declared import find_refused

            names = [name for several in each.evaluated.values() for name in several]
            with plugin_output_to_stderr():
                refused = dict(find_refused(names, registry))
            for name, error in refused.items():
                job = Job(name, None, name)
                failures.setdefault(str(error), []).append((job, error))
        for asked, several in each.evaluated.items():  # a suite may name one twice
            kept = (name for name in several if name not in refused)
            found[asked] = [*dict.fromkeys([*found.get(asked, ()), *kept])]
    found = {asked: names for asked, names in found.items() if names}
    if failures and not found:
        first = next(iter(failures.values()))[0][1]
        raise type(first)("\n".join(failures)) from first
    return found


def check_benchmark(expansion: Expansion, *, as_json: bool, quiet: bool) -> None:
    """Check all that a benchmark file declares, and print what was found."""
    from evalkit import Registry
    from evalkit.reporting import count_of
    from evalkit_benchmarks_declared import check

    with plugin_output_to_stderr():
        found = [*check(expansion.evaluated, Registry())]
    lines: dict[str, list[str]] = {}
    for each in found:
        said: Any = each.problem
        if each.unchecked:
            said = f"rows not checked: {each.unchecked}"
        elif said is None and not quiet:
            prompts = f", prompts {', '.join(each.prompts)}" if each.prompts else ""
            said = f"{count_of(each.examples, 'example')}{prompts}: ok"
        if said is not None:
            lines.setdefault(said, []).append(each.dataset)
    if as_json:
        echo_json([each.to_dict() for each in found])
    else:
        for text, names in lines.items():
            echo(f"{', '.join(names)}: {text}")
    if any(each.problem for each in found):
        raise click.exceptions.Exit(1)
