"""Draws tables for terminals, Markdown and LaTeX."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

import click

Rows = list[list[str]]
"""A header and rows of cells."""

NO_VALUE = "–"
"""Stands for a value that there is not."""

_UNLIMITED = 10_000

_NARROWEST = 12
"""Texts are folded to this width where a terminal is too narrow; numbers never are."""


def _draw_table(rows: Rows) -> None:
    from rich.cells import cell_len
    from rich.console import Console
    from rich.table import Table

    plain = bool(os.environ.get("NO_COLOR"))
    table = Table(box=None, pad_edge=False, header_style="" if plain else "bold")
    needed = -2
    for number, name in enumerate(rows[0]):
        is_number = name in ("n", "score", "majority", "chance") or number > 1
        fold = name in ("tag", "model", "metric")
        width = max(cell_len(row[number]) for row in rows)
        needed += 2 + (min(width, _NARROWEST) if fold else width)
        table.add_column(
            name,
            justify="right" if is_number else "left",
            no_wrap=not fold,
            overflow="fold",
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
        click.echo(line.rstrip())


def _draw_markdown(rows: Rows) -> None:
    def line(cells: Sequence[str]) -> str:
        return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"

    click.echo(line(rows[0]))
    click.echo(f"|{'---|' * len(rows[0])}")
    for row in rows[1:]:
        click.echo(line(row))


_LATEX = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    NO_VALUE: "--",
}


def _draw_latex(rows: Rows) -> None:
    def line(cells: Sequence[str]) -> str:
        escaped = ("".join(_LATEX.get(mark, mark) for mark in cell) for cell in cells)
        return f"{' & '.join(escaped)} \\\\"

    click.echo(f"\\begin{{tabular}}{{l{'r' * (len(rows[0]) - 1)}}}")
    click.echo("\\hline")
    click.echo(line(rows[0]))
    click.echo("\\hline")
    for row in rows[1:]:
        click.echo(line(row))
    click.echo("\\hline")
    click.echo("\\end{tabular}")


_DRAWERS = {"table": _draw_table, "md": _draw_markdown, "latex": _draw_latex}


def draw(rows: Rows, table_format: str) -> None:
    """Print a table.

    Args:
        rows: A header and rows of cells.
        table_format: `table`, `md` or `latex`.
    """
    _DRAWERS[table_format](rows)
