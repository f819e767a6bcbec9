"""Completes names in the shell, those of plugins from metadata only."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.shell_completion import CompletionItem

from evalkit_cli.printing.escapes import for_terminal

if TYPE_CHECKING:
    from evalkit import Component
    from evalkit.catalog import Catalog
    from evalkit.runs import RunSummary

Completer = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]


def complete_names(kind: str) -> Completer:
    """Make a completer for the names of one kind.

    Args:
        kind: One of the plugin kinds, `observers` or `commands`.

    Returns:
        A function for click's `shell_complete`.
    """

    def complete(
        ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        from evalkit import find_components

        catalog = find_components()
        if kind == "datasets" and ":" in incomplete:
            return _matching(_variants(incomplete.rpartition(":")[0]), incomplete)
        names = [(found.name, found) for found in catalog.of_kind(kind)]
        return _items(names, catalog, incomplete)

    return complete


def _variants(name: str) -> list[tuple[str, str]]:
    """Return the variants of a benchmark; nothing for another data set."""
    from evalkit import EvalkitError, Registry
    from evalkit_benchmarks_declared import expand

    try:
        expansion = expand(name, Registry())
    except EvalkitError:
        return []
    return [(each, expansion.name) for each in expansion.evaluated if expansion.name]


def complete_ids(
    ctx: click.Context, param: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Complete `KIND/NAME` of the kinds that `list` shows."""
    from evalkit import find_components

    catalog = find_components()
    ids = [
        (found.id, found)
        for kind in catalog.listed_kinds()
        for found in catalog.of_kind(kind)
    ]
    return _items(ids, catalog, incomplete)


def complete_commands(
    ctx: click.Context, param: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Complete the first word as the name of a command."""
    root = ctx.find_root()
    return (
        []
        if ctx.params.get(param.name)
        else root.command.shell_complete(root, incomplete)
    )


def complete_runs(
    ctx: click.Context, param: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Complete models and ids of the runs in the folder of `--out`, and `latest`."""
    return _matching(_runs_in(Path(ctx.params.get("folder") or "runs")), incomplete)


def _runs_in(folder: Path) -> list[tuple[str, str]]:
    """Return what runs can be called, with a text: models, MODEL@DATASET, and ids."""
    from evalkit.runs import LATEST, list_runs

    runs = list_runs(folder)
    by_model: dict[str, Counter[str]] = {}
    for run in runs:
        if run.is_named and (model := run.record.model):
            datasets = by_model.setdefault(model, Counter())
            datasets[str(run.record.dataset)] += 1
    named = []
    for model, datasets in sorted(by_model.items()):
        named.append((model, f"model, on {', '.join(datasets)}"))
        if len(datasets) > 1:
            named += [
                (f"{model}@{dataset}", "its newest run there") for dataset in datasets
            ]
    of_runs = [run for run in runs if (run.path / "run.json").is_file()]
    ids = [(run.run_id, _about(run)) for run in of_runs]
    newest = [(LATEST, "the last evaluated run")] if ids else []
    return [*named, *sorted(ids), *newest]


def _about(run: RunSummary) -> str:
    if run.problem is not None:
        return run.path.parent.name
    return f"{run.record.model} on {run.record.dataset}, {run.record.status}"


def complete_ids_and_runs(
    ctx: click.Context, param: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Complete `KIND/NAME` or a run."""
    ids = complete_ids(ctx, param, incomplete)
    return [*complete_runs(ctx, param, incomplete), *ids]


def _items(
    named: list[tuple[str, Component]], catalog: Catalog, incomplete: str
) -> list[CompletionItem]:
    """Complete to what can be used: a name of several is refused without its owner."""
    ambiguous = catalog.only_with_distribution()
    values = [
        (f"{text}@{found.distribution}" if found in ambiguous else text, found)
        for text, found in named
    ]
    return _matching(
        [(value, found.distribution) for value, found in values], incomplete
    )


def _matching(
    described: Iterable[tuple[str, str]], incomplete: str
) -> list[CompletionItem]:
    """Complete to the values that a shell can show as they are."""
    return [
        CompletionItem(value, help=for_terminal(text))
        for value, text in described
        if value.startswith(incomplete) and value == for_terminal(value)
    ]
