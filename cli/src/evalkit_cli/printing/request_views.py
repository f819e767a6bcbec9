"""Prints the requests that the model of a run got about an example."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from evalkit_cli.printing.escapes import for_terminal
from evalkit_cli.printing.streams import echo, echo_csv, echo_json

if TYPE_CHECKING:
    from evalkit import Result

_TABLE = "requests.parquet"


def print_requests(
    result: Result, uid: str, table_format: str, *, as_json: bool
) -> None:
    """Print all that is recorded of the requests about an example."""
    from evalkit.errors import DataError

    if _TABLE not in result.tables:
        raise DataError(
            f"{result.path}: the run has no {_TABLE}: its predictions came without a "
            "record of requests, or it was made with --no-examples"
        )
    found = result.tables[_TABLE].rows_by_key("id", named=True).get(uid)
    if not found:
        raise DataError(f"{result.path}: no request is about the example {uid!r}")
    for row in found:
        row["received"] = row["received"] and row["received"].isoformat()
    if as_json:
        echo_json({"run_id": result.run_id, "id": uid, "requests": found})
        return
    rows = [
        {k: v if isinstance(v, str) else json.dumps(v) for k, v in row.items()}
        for row in found
    ]
    if table_format == "csv":
        echo_csv([[*rows[0]], *([*row.values()] for row in rows)])
        return
    for number, row in enumerate(rows):
        echo(f"request {number} about {for_terminal(uid)}")
        for name, text in row.items():
            if text not in ("null", "[]"):
                echo(f"  {name:18}{for_terminal(text)}")
