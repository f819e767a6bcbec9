"""Writes `docs/reference/hooks.md`: the contract of each kind of plugin.

It is made of the texts of `evalkit.hookspecs`, of the `hookspecs` of distributions that
add kinds, and of `evalkit.places.Place`, as `evalkit show --contract KIND` prints them.
"""

from __future__ import annotations

from pathlib import Path

from evalkit.catalog import all_kinds
from evalkit_cli.printing.contracts import contract_page

PAGE = Path(__file__).parent / "reference" / "hooks.md"

HEAD = """\
# Hooks

Every hook that a plugin may implement and every attribute that is read, by kind, as
`evalkit show --contract KIND` prints them. A hook may take fewer arguments than are
shown here, but no others. A plugin need not inherit anything. An entry without a
version exists since version 0.1. [What stays as it is](../authoring/compatibility.md)
says how the contract may change.
"""

TAIL = """\
## Markers

::: evalkit.hookspecs.hookspec

::: evalkit.hookspecs.hookimpl
"""


def kinds() -> list[str]:
    """Return the kinds with hooks; benchmarks have those of datasets."""
    names = {kind.spec: kind.name for kind in reversed([*all_kinds()]) if kind.hooks}
    return [*reversed(names.values())]


def hooks_page() -> str:
    """Return the page."""
    return "\n".join([HEAD, *map(_section, kinds()), TAIL])


def _section(kind: str) -> str:
    title, rest = contract_page(kind).split("\n", 1)
    return f"{title}\n\n[How to write one](../authoring/{kind}.md).\n{rest}"


if __name__ == "__main__":
    PAGE.write_text(hooks_page(), encoding="utf-8")
