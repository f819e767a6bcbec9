"""How a notebook shows a value: by an installed display, or else as a plain table.

A display is a function that returns the HTML of a value. It is found like a plugin, by
an entry point of the group `evalkit.displays`, and imported when a value is shown.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

from evalkit.base.failures import located
from evalkit.errors import PluginError
from evalkit.plugins.commands import choose_usual
from evalkit.plugins.discovery import DISPLAYS, find_components
from evalkit.plugins.importing import import_component


def html_of(name: str, value: Any, plain: str) -> str:
    """Return the HTML of a value, as an installed display makes it.

    Args:
        name: What is shown, and the name of the display: `result` or `comparison`.
        value: The value.
        plain: The HTML where no display of this name is installed.

    Returns:
        HTML. Where the display fails, the plain one, below a line that says so.
    """
    try:
        catalog = find_components()
        found = [each for each in catalog.of_kind(DISPLAYS) if each.name == name]
        if not found:
            return plain
        several = len(found) > 1
        usual = choose_usual(catalog, found, by_user=False) if several else found[0]
        show: Any = import_component(usual)
    except PluginError as error:
        return _failed(str(error), plain)
    try:
        html = show(value)
    except Exception as error:
        return _failed(f"{usual.origin}: {located(error)}", plain)
    if not isinstance(html, str):
        kind = type(html).__name__
        return _failed(f"{usual.origin}: returned {kind}, not HTML", plain)
    return html


def _failed(why: str, plain: str) -> str:
    return f"<p>The display failed, so this is a plain table: {escape(why)}</p>{plain}"


def html_table(
    caption: str, header: Sequence[str], rows: Iterable[Sequence[object]]
) -> str:
    """Return a plain table as HTML, with every text escaped.

    Args:
        caption: What it shows.
        header: Names of the columns.
        rows: The cells; None is an empty one.

    Returns:
        A `table` element.
    """
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in header)
    lines = [
        "".join(f"<td>{'' if cell is None else escape(str(cell))}</td>" for cell in row)
        for row in rows
    ]
    body = "".join(f"<tr>{line}</tr>" for line in lines)
    return (
        f"<table><caption>{escape(caption)}</caption>"
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    )
