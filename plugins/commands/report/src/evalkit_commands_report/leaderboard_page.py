"""A leaderboard as one self-contained HTML page."""

from __future__ import annotations

from collections.abc import Sequence

from evalkit_commands_report.markup import element, raw_element

_STYLE = """
:root { color-scheme: light dark; font: 16px/1.4 system-ui, sans-serif; }
body { margin: 2rem auto; max-width: 75rem; padding: 0 1rem; }
div { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: .3rem .8rem; text-align: right; white-space: nowrap; }
th:first-child, td:first-child { text-align: left; }
thead th { border-bottom: 2px solid currentColor; }
tbody tr:nth-child(even) { background: #8881; }
"""


def html_page(rows: Sequence[Sequence[str]], notes: Sequence[str]) -> str:
    """Return a page with the table and what is to be known of it.

    Args:
        rows: A header and rows of cells.
        notes: Sentences below the table.
    """
    header = element("tr", [element("th", name, scope="col") for name in rows[0]])
    body = [
        element(
            "tr",
            element("th", row[0], scope="row"),
            [element("td", each) for each in row[1:]],
        )
        for row in rows[1:]
    ]
    table = element("table", element("thead", header), element("tbody", body))
    page = element(
        "html",
        element(
            "head",
            element("meta", charset="utf-8"),
            element("meta", name="viewport", content="width=device-width"),
            element("title", "Leaderboard"),
            raw_element("style", _STYLE),
        ),
        element(
            "body",
            element("h1", "Leaderboard"),
            element("div", table),
            element("ul", [element("li", note) for note in notes]),
        ),
        lang="en",
    )
    return f"<!doctype html>\n{page}"
