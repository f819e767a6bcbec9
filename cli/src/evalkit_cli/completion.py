"""Completes the names of plugins in the shell, from metadata only."""

from __future__ import annotations

from collections.abc import Callable

import click
from click.shell_completion import CompletionItem

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

        return [
            CompletionItem(found.name, help=found.distribution)
            for found in find_components().of_kind(kind)
            if found.name.startswith(incomplete)
        ]

    return complete


def complete_ids(
    ctx: click.Context, param: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Complete `KIND/NAME`."""
    from evalkit.discovery import find_components

    return [
        CompletionItem(found.id, help=found.distribution)
        for found in find_components().components
        if found.id.startswith(incomplete)
    ]
