"""Plain tables of a page."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from evalkit_commands_report.markup import Child, Markup, element


def table(
    header: Sequence[Child],
    rows: Iterable[Sequence[Child]],
    *,
    texts: Sequence[int] = (0,),
    caption: str | None = None,
    class_: str | None = None,
) -> Markup:
    """Make a table whose first column names the rows."""

    def kind(column: int) -> str | None:
        return None if column in texts else "n"

    head = [
        element("th", cell, scope="col", class_=kind(column))
        for column, cell in enumerate(header)
    ]
    body = [
        element(
            "tr",
            [
                element("th", cell, scope="row")
                if column == 0
                else element("td", cell, class_=kind(column))
                for column, cell in enumerate(row)
            ],
        )
        for row in rows
    ]
    return element(
        "div",
        element(
            "table",
            element("caption", caption) if caption else None,
            element("thead", element("tr", head)),
            element("tbody", body),
            class_=class_,
        ),
        class_="wide",
        tabindex=0,
        role="region",
        aria_label=caption or "Table",
    )


def without_empty_columns(
    header: Sequence[Child], rows: Sequence[Sequence[Child]]
) -> tuple[list[Child], list[list[Child]]]:
    """Leave out the columns in which no row has anything."""
    kept = [
        column
        for column in range(len(header))
        if any(row[column] for row in rows) or not rows
    ]
    return (
        [header[column] for column in kept],
        [[row[column] for column in kept] for row in rows],
    )
