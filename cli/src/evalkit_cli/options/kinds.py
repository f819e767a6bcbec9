"""Kinds of plugins, as an argument."""

from __future__ import annotations

from typing import Any

import click
from click.shell_completion import CompletionItem


def kind_names() -> list[str]:
    """Return the names of the installed kinds of plugins."""
    from evalkit import find_components

    return [kind.name for kind in find_components().kinds]


def kind_meant(word: str) -> str:
    """Return the kind that a word means, which may be one plugin's, as `metric`."""
    plain = word.casefold().translate(dict.fromkeys(map(ord, " -_")))
    if plain in ("store", "stores"):
        return "storage"
    return next((kind for kind in kind_names() if plain in (kind, kind[:-1])), word)


class KindOfPlugins(click.ParamType[str]):
    """A kind of plugins; of another word it says which may be meant."""

    name = "kind"

    def convert(self, value: Any, param: Any, ctx: Any) -> str:
        """Return the kind."""
        from difflib import get_close_matches

        kind, known = kind_meant(str(value)), kind_names()
        if kind not in known:
            near = get_close_matches(str(value), known, n=1)
            meant = f" Did you mean {near[0]!r}?" if near else ""
            listed = ", ".join(map(repr, known))
            self.fail(f"{value!r} is not one of {listed}.{meant}", param, ctx)
        return kind

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """Complete the name of a kind."""
        return [
            CompletionItem(kind) for kind in kind_names() if kind.startswith(incomplete)
        ]
