"""How a notebook shows a value: by an installed function, or else as a plain table.

The function is a name that a distribution adds to `evalkit`, such as `result_html`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

from evalkit.base.failures import located
from evalkit.errors import PluginError
from evalkit.plugins.importing import added_name


def html_of(name: str, value: Any, plain: str) -> str:
    """Return the HTML of a value, as an installed distribution makes it."""
    try:
        show: Any = added_name(name)
    except AttributeError:
        return plain
    except PluginError as error:
        why = str(error)
    else:
        try:
            html = show(value)
        except Exception as error:
            why = f"evalkit.{name}: {located(error)}"
        else:
            if isinstance(html, str):
                return html
            why = f"evalkit.{name}: returned {type(html).__name__}, not HTML"
    return f"<p>The display failed, so this is a plain table: {escape(why)}</p>{plain}"


def html_table(
    caption: str, header: Sequence[str], rows: Iterable[Sequence[object]]
) -> str:
    """Return a plain table as HTML, with every text escaped."""
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
