"""Kinds of plugins, as an argument."""

from __future__ import annotations

from typing import Any

import click


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
            return super().convert(value, param, ctx)
        except click.BadParameter as error:
            near = get_close_matches(str(value), list(self.choices), n=1)
            meant = f" Did you mean {near[0]!r}?" if near else ""
            self.fail(f"{error.message}{meant}", param, ctx)
