"""Completes the names of plugins in the shell, from metadata only."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import click
from click.shell_completion import CompletionItem

if TYPE_CHECKING:
    from evalkit.discovery import Catalog, Component

Completer = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]


def complete_names(kind: str) -> Completer:
    """Make a completer for the names of one kind.

    Args:
        kind: One of the plugin kinds, or `observers`.

    Returns:
        A function for click's `shell_complete`.
    """

    def complete(
        ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        from evalkit.discovery import find_components

        catalog = find_components()
        names = [(found.name, found) for found in catalog.of_kind(kind)]
        return _items(names, catalog, incomplete)

    return complete


def complete_ids(
    ctx: click.Context, param: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Complete `KIND/NAME`."""
    from evalkit.discovery import find_components

    catalog = find_components()
    ids = [(found.id, found) for found in catalog.components]
    return _items(ids, catalog, incomplete)


def _items(
    named: list[tuple[str, Component]], catalog: Catalog, incomplete: str
) -> list[CompletionItem]:
    """Complete to what can be used: a name of several is refused without its owner."""
    ambiguous = catalog.ambiguous_ids()
    values = [
        (f"{text}@{found.distribution}" if found.id in ambiguous else text, found)
        for text, found in named
    ]
    return [
        CompletionItem(value, help=found.distribution)
        for value, found in values
        if value.startswith(incomplete)
    ]
