"""Draws tables for terminals, Markdown and LaTeX."""

from __future__ import annotations

import os
import sys
from collections.abc import Collection, Sequence

from evalkit_cli.printing.escapes import for_latex, for_markdown, for_terminal
from evalkit_cli.printing.streams import echo, echo_drawn

Rows = list[list[str]]
"""A header and rows of cells."""

NO_VALUE = "–"
"""Stands for a value that there is not."""

_UNLIMITED = 10_000

_NARROWEST = 12
"""Texts are folded to this width where a terminal is too narrow; numbers never are."""


_FOLDED = ("tag", "model", "metric", "dataset", "answer", "prediction", "tags")
"""Headers of columns whose texts are folded."""

Texts = Collection[int] | None
"""Which columns are texts, by number; None for the first two that are no numbers."""


def _draw_table(rows: Rows, texts: Texts) -> None:
    from rich.cells import cell_len
    from rich.console import Console
    from rich.table import Table

    rows = [[for_terminal(cell) for cell in row] for row in rows]
    plain = bool(os.environ.get("NO_COLOR"))
    table = Table(box=None, pad_edge=False, header_style="" if plain else "bold")
    needed = -2
    for number, name in enumerate(rows[0]):
        is_number = name in ("n", "score", "majority", "chance") or number > 1
        if texts is not None:
            is_number = number not in texts
        fold = name in _FOLDED
        width = max(cell_len(row[number]) for row in rows)
        needed += 2 + (min(width, _NARROWEST) if fold else width)
        table.add_column(
            name,
            justify="right" if is_number else "left",
            no_wrap=not fold,
            overflow="fold",
            min_width=1,  # else a column of combining marks would be left out
        )
    for row in rows[1:]:
        table.add_row(*row)
    console = Console(
        file=sys.stdout, highlight=False, markup=False, emoji=False, no_color=plain
    )
    # a narrower terminal wraps the lines, so that nothing is cut
    is_terminal = sys.stdout.isatty()
    console.width = max(console.width, needed) if is_terminal else _UNLIMITED
    with console.capture() as drawn:
        console.print(table)
    for line in drawn.get().splitlines():
        echo_drawn(line.rstrip())


def _draw_markdown(rows: Rows, _texts: Texts) -> None:
    def line(cells: Sequence[str]) -> str:
        return f"| {' | '.join(map(for_markdown, cells))} |"

    echo(line(rows[0]))
    echo(f"|{'---|' * len(rows[0])}")
    for row in rows[1:]:
        echo(line(row))


def _draw_latex(rows: Rows, texts: Texts) -> None:
    def line(cells: Sequence[str]) -> str:
        escaped = [
            for_latex(cell, starts_row=not place) for place, cell in enumerate(cells)
        ]
        return f"{' & '.join(escaped)} \\\\"

    left = (0,) if texts is None else texts
    columns = "".join("l" if n in left else "r" for n in range(len(rows[0])))
    echo(f"\\begin{{tabular}}{{{columns}}}")
    echo("\\hline")
    echo(line(rows[0]))
    echo("\\hline")
    for row in rows[1:]:
        echo(line(row))
    echo("\\hline")
    echo("\\end{tabular}")


_DRAWERS = {"table": _draw_table, "md": _draw_markdown, "latex": _draw_latex}


def draw(rows: Rows, table_format: str, texts: Texts = None) -> None:
    """Print a table.

    Args:
        rows: A header and rows of cells.
        table_format: `table`, `md` or `latex`.
        texts: Which columns are texts, by number; by default the first two that are no
            numbers.
    """
    _DRAWERS[table_format](rows, texts)


def without_empty_columns(rows: Rows) -> Rows:
    """Leave out the columns in which no row has anything."""
    kept = [
        column
        for column in range(len(rows[0]))
        if any(row[column] for row in rows[1:]) or len(rows) == 1
    ]
    return [[row[column] for column in kept] for row in rows]
