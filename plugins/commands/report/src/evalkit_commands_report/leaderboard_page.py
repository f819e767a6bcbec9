"""A leaderboard as one self-contained HTML page."""

from __future__ import annotations

from collections.abc import Sequence

from evalkit_commands_report.markup import (
    Child,
    element,
    fragment,
    make_document,
    table,
)


def html_page(rows: Sequence[Sequence[str]], notes: Sequence[str]) -> str:
    """Return a page with the table and what is to be known of it."""
    title = "Leaderboard"
    header, *models = rows
    body = [[row[0], *map(_cell, row[1:])] for row in models]
    shown = table(header, body, caption=title, class_="board")
    said = element("ul", [element("li", note) for note in notes], class_="notices")
    article = element(
        "article", element("h1", title), shown, said if notes else None, class_="board"
    )
    return make_document(
        title, article, says="from the records of the runs. The page loads nothing."
    )


def _cell(text: str) -> Child:
    """Set what stands beside a value apart from it: an interval, or of how many."""
    value, blank, rest = text.partition(" ")
    return fragment(value, element("small", blank, rest)) if blank else text
