"""Kinds of plugins, as an argument."""

from __future__ import annotations

from typing import Any

import click

KIND_NAMES = (
    *("tasks", "datasets", "metrics", "perturbations", "annotators", "models"),
    *("adapters", "recognisers", "observers", "commands", "schemas", "storage"),
)
"""What `evalkit list` lists."""


def kind_meant(word: str) -> str:
    """Return the kind that a word means, which may be one plugin's, as `metric`.

    Args:
        word: What the user gave.

    Returns:
        Its name, as in `evalkit list`; the word itself where it means none.
    """
    plain = word.casefold().translate(dict.fromkeys(map(ord, " -_")))
    if plain in ("store", "stores"):
        return "storage"
    return next((kind for kind in KIND_NAMES if plain in (kind, kind[:-1])), word)


class KindOfPlugins(click.Choice[str]):
    """A kind of plugins; of another word it says which may be meant."""

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> str:
        """Return the kind.

        Args:
            value: What the user gave.
            param: The argument.
            ctx: The command.

        Raises:
            BadParameter: It is none.
        """
        from difflib import get_close_matches

        try:
            return super().convert(kind_meant(str(value)), param, ctx)
        except click.BadParameter as error:
            near = get_close_matches(str(value), list(self.choices), n=1)
            meant = f" Did you mean {near[0]!r}?" if near else ""
            self.fail(f"{error.message}{meant}", param, ctx)
