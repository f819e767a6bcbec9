"""Writes the contract of each kind of plugin into its page in `docs/authoring`.

What stands below the heading `## The contract` is made of the texts of
`evalkit.hookspecs` and `evalkit.places.Place`, as `evalkit show --contract KIND`
prints it.
"""

from __future__ import annotations

from pathlib import Path

from evalkit.catalog import all_kinds
from evalkit_cli.printing.contracts import contract_page

FOLDER = Path(__file__).with_name("authoring")

HEADING = "\n## The contract\n"


def with_contract(kind: str, page: str) -> str:
    """Return a page with its contract made anew.

    Args:
        kind: The kind that the page is about.
        page: The page's text.
    """
    return f"{page.partition(HEADING)[0].rstrip()}\n\n{contract_page(kind)}"


def pages() -> dict[str, Path]:
    """Return the page of each kind of plugin."""
    return {kind.name: FOLDER / f"{kind.name}.md" for kind in all_kinds() if kind.hooks}


def main() -> None:
    """Write the pages."""
    for kind, page in pages().items():
        text = with_contract(kind, page.read_text(encoding="utf-8"))
        page.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
