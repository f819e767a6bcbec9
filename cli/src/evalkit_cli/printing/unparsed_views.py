"""Prints the responses of a run in which no answer was found."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalkit_cli.printing.run_views import shortened
from evalkit_cli.printing.streams import echo, echo_csv, echo_json
from evalkit_cli.printing.tables import draw, without_empty_columns

if TYPE_CHECKING:
    from evalkit import Result
    from evalkit.runs import UnparsedResponses

_COLUMNS = ("id", "replication", "status", "response", "reason")


def print_unparsed(
    result: Result, tag: str | None, limit: int, table_format: str, *, as_json: bool
) -> None:
    """Print the responses in which no answer was found, in the data's order."""
    from evalkit.runs import find_unparsed

    found = find_unparsed(result, tag)
    rows = [*found.rows.head(limit).iter_rows(named=True)]
    if as_json:
        echo_json(
            {
                "run_id": result.run_id,
                "tag": tag,
                "n": found.n,
                "unparsed": found.rows.height,
                "examples": [{name: row[name] for name in _COLUMNS} for row in rows],
            }
        )
        return
    is_table = table_format == "table"
    echo(_title(found, tag, len(rows)), err=not is_table)
    cells = [[row[name] for name in _COLUMNS] for row in rows]
    if table_format == "csv":
        echo_csv([_COLUMNS, *cells])
    elif rows:
        echo(err=not is_table)
        texts = [
            [
                *("" if each is None else str(each) for each in row[:3]),
                shortened(row[3]),
                str(row[4] or ""),
            ]
            for row in cells
        ]
        kept = without_empty_columns([[*_COLUMNS], *texts])
        draw(kept, table_format, range(len(kept[0])))


def _title(found: UnparsedResponses, tag: str | None, shown: int) -> str:
    where = f" with the tag {tag}" if tag is not None else ""
    number = found.rows.height
    verb = "has" if number == 1 else "have"
    few = f"; the first {shown}" if shown < number else ""
    return f"{number} of {found.n} responses{where} {verb} no answer{few}"
