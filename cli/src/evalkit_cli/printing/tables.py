"""Draws tables for terminals, Markdown and LaTeX."""

from __future__ import annotations

import os
import sys
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from evalkit_cli.printing.escapes import for_latex, for_markdown, for_terminal
from evalkit_cli.printing.narrow_tables import fit_columns
from evalkit_cli.printing.streams import echo, echo_drawn, echo_wrapped, terminal_width

if TYPE_CHECKING:
    from rich.console import Console

Rows = list[list[str]]
"""A header and rows of cells."""

NO_VALUE = "–"
"""Stands for a value that there is not."""

_UNLIMITED = 10_000

_NARROWEST = 12
"""Texts are folded to this width where a terminal is too narrow; numbers never are."""


_FOLDED = ("tag", "model", "metric", "dataset", "answer", "prediction", "tags")
"""Headers of columns whose texts are folded."""

_MANY = 100
"""Rows from which a table that need not be folded is put together without rich, which
takes half a millisecond for each."""

Texts = Collection[int] | None
"""Which columns are texts, by number; None for the first two that are no numbers."""


def _draw_table(rows: Rows, texts: Texts) -> Sequence[str]:
    from rich.cells import cell_len
    from rich.console import Console
    from rich.table import Table

    rows = [[for_terminal(cell) for cell in row] for row in rows]
    limit = terminal_width()
    rights = [_is_number(number, name, texts) for number, name in enumerate(rows[0])]
    left_out: list[str] = []
    if limit is not None:
        kept, left_out = fit_columns(rows, limit, cell_len)
        rows = [[row[number] for number in kept] for row in rows]
        rights = [rights[number] for number in kept]
    plain = bool(os.environ.get("NO_COLOR"))
    table = Table(box=None, pad_edge=False, header_style="" if plain else "bold")
    needed, widths = -2, []
    for number, (name, is_number) in enumerate(zip(rows[0], rights, strict=True)):
        fold = name in _FOLDED
        width = max(cell_len(row[number]) for row in rows)
        widths.append(width)
        needed += 2 + (min(width, _NARROWEST) if fold else width)
        table.add_column(
            name,
            justify="right" if is_number else "left",
            no_wrap=not fold,
            overflow="fold",
            min_width=1,  # else a column of combining marks would be left out
        )
    console = Console(
        file=sys.stdout, highlight=False, markup=False, emoji=False, no_color=plain
    )
    # a narrower terminal wraps the lines, so that nothing is cut
    console.width = _UNLIMITED if limit is None else max(limit, needed)
    unfolded = sum(widths) + 2 * len(widths) - 2
    if len(rows) > _MANY and unfolded <= console.width and all(widths):
        _draw_aligned(rows, widths, rights, console, "" if plain else "bold")
    else:
        for row in rows[1:]:
            table.add_row(*row)
        with console.capture() as drawn:
            console.print(table)
        for line in drawn.get().splitlines():
            echo_drawn(line.rstrip())
    if left_out:
        echo_wrapped(f"not shown, as the terminal is narrow: {', '.join(left_out)}")
    return left_out


def _is_number(number: int, name: str, texts: Texts) -> bool:
    if texts is not None:
        return number not in texts
    return name in ("n", "score", "majority", "chance") or number > 1


def _draw_aligned(
    rows: Rows, widths: list[int], rights: list[bool], console: Console, style: str
) -> None:
    """Draw a table of which no cell is folded."""
    from rich.text import Text

    header = Text(_line(rows[0], widths, rights), style, no_wrap=True)
    with console.capture() as drawn:
        console.print(header)
    echo_drawn(drawn.get().rstrip("\n"))
    for row in rows[1:]:
        echo_drawn(_line(row, widths, rights))


def _line(cells: Sequence[str], widths: list[int], rights: list[bool]) -> str:
    """Align the cells of a row; a character may take two columns, or none."""
    from rich.cells import cell_len

    aligned = []
    for cell, width, is_right in zip(cells, widths, rights, strict=True):
        blanks = " " * (width - cell_len(cell))
        aligned.append(blanks + cell if is_right else cell + blanks)
    return "  ".join(aligned).rstrip()


def _draw_markdown(rows: Rows, _texts: Texts) -> Sequence[str]:
    def line(cells: Sequence[str]) -> str:
        return f"| {' | '.join(map(for_markdown, cells))} |"

    echo(line(rows[0]))
    echo(f"|{'---|' * len(rows[0])}")
    for row in rows[1:]:
        echo(line(row))
    return ()


def _draw_latex(rows: Rows, texts: Texts) -> Sequence[str]:
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
    return ()


_DRAWERS = {"table": _draw_table, "md": _draw_markdown, "latex": _draw_latex}


def draw(rows: Rows, table_format: str, texts: Texts = None) -> Sequence[str]:
    """Print a table.

    Args:
        rows: A header and rows of cells.
        table_format: `table`, `md` or `latex`.
        texts: Which columns are texts, by number; by default the first two that are no
            numbers.

    Returns:
        The headers of the columns that were left out, as the terminal is narrow.
    """
    return _DRAWERS[table_format](rows, texts)


def draw_with_notes(
    rows: Rows, table_format: str, notes: Sequence[str], texts: Texts = None
) -> None:
    """Print a table, and what is to be known of it below.

    Args:
        rows: A header and rows of cells.
        table_format: `table`, `md` or `latex`.
        notes: Lines; one that begins with the headers of columns, a comma between two,
            and a colon says what these are, and is left out with them.
        texts: As for `draw`.
    """
    left_out = draw(rows, table_format, texts)
    for note in notes:
        about, colon, said = note.partition(": ")
        shown = [name for name in about.split(", ") if name not in left_out]
        if not colon:
            echo_wrapped(note)
        elif shown:
            echo_wrapped(f"{', '.join(shown)}: {said}")


def without_empty_columns(rows: Rows) -> Rows:
    """Leave out the columns in which no row has anything."""
    kept = [
        column
        for column in range(len(rows[0]))
        if any(row[column] for row in rows[1:]) or len(rows) == 1
    ]
    return [[row[column] for column in kept] for row in rows]
