"""`evalkit adapt`."""

from __future__ import annotations

import json
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from evalkit_cli.options.local_plugins import plugin_option
from evalkit_cli.options.runs import json_option, quiet_with
from evalkit_cli.printing.progress_bar import watched
from evalkit_cli.printing.streams import (
    echo,
    echo_json,
    echo_lines,
    plugin_output_to_stderr,
)

if TYPE_CHECKING:
    from evalkit_adapters_rows import Pipeline

_SHOWN = 3


@click.command("adapt")
@click.argument("file", type=click.Path())
@click.option(
    "-a",
    "--adapter",
    "adapter",
    required=True,
    metavar="FILE|NAME",
    help="Adapters, as a list in YAML or JSON, or one that is installed, by its name "
    "(NAME[:KEY=VALUE,…]).",
)
@click.option(
    "-o",
    "--out",
    type=click.Path(dir_okay=False),
    help="File to write, .jsonl or .parquet; without it the first rows are printed.",
)
@click.option(
    "-n",
    "--limit",
    type=click.IntRange(min=1),
    help="Adapt at most so many rows, the first ones.",
)
@click.option(
    "--explain",
    "row",
    type=click.IntRange(min=1),
    is_flag=False,
    flag_value=1,
    metavar="[ROW]",
    help="Print what each stage makes of one row, the first by default.",
)
@json_option
@quiet_with("Print no progress and no summary.")
@plugin_option
def adapt_command(
    file: str,
    adapter: str,
    out: str | None,
    limit: int | None,
    row: int | None,
    as_json: bool,
    quiet: bool,
) -> None:
    """Change the rows of a file by adapters.

    \b
    Examples:
      evalkit adapt answers.jsonl -a fix.yaml
      evalkit adapt answers.jsonl -a fix.yaml -o fixed.jsonl
      evalkit adapt answers.jsonl -a number-rows:field=id
      evalkit eval hatecheck -p answers.jsonl --adapter predictions=fix.yaml

    \b
    A file of adapters is a list:
      - kind: Rename
        configuration: {text: statement}
      - kind: Drop
        configuration: {fields: [ranks]}

    FILE is JSON lines, CSV, TSV, Parquet or Arrow, or the URI of such a file, such as
    s3://bucket/answers.jsonl; -o takes a URI too. Nothing is written where a row
    cannot be adapted.
    """  # noqa: D301 - click reads the backspace
    from evalkit.catalog import local_path
    from evalkit_adapters_rows import as_pipeline

    if out is not None and row is not None:
        raise click.UsageError("--explain prints one row; it takes no --out.")
    with plugin_output_to_stderr(), watched(quiet) as progress:
        adapters = as_pipeline(adapter)
        path = local_path(file, progress)
    if row is not None:
        _explain(adapters, path, row, as_json)
    elif out is None:
        _print_rows(adapters, path, limit or _SHOWN, as_json)
    else:
        _write(adapters, path, out, limit, as_json, quiet)


def _print_rows(adapters: Pipeline, file: Path, limit: int, as_json: bool) -> None:
    from evalkit_adapters_rows.adapted_files import adapted_rows

    with plugin_output_to_stderr():
        found = list(adapted_rows(adapters, file, limit))
    if as_json:
        echo_json(found)
    else:
        for row in found:
            echo_lines(_as_text(row))


def _values(adapters: Pipeline, file: Path, limit: int) -> list[Any]:
    from evalkit.errors import SchemaError
    from evalkit_adapters_rows.adapted_files import rows_of

    rows = list(islice(rows_of(adapters, file), limit))
    for row in rows:
        if row.values is None:
            raise SchemaError(f"{file}: line {row.line}: {row.problem}")
    return [dict(row.values or {}) for row in rows]


def _explain(adapters: Pipeline, file: Path, number: int, as_json: bool) -> None:
    from evalkit.errors import DataError
    from evalkit.reporting import count_of

    with plugin_output_to_stderr():
        rows = _values(adapters, file, number)
    if len(rows) < number:
        raise DataError(
            f"{file}: has {len(rows):,} rows, so there is no row {number:,}"
        )
    row = rows[-1]
    with plugin_output_to_stderr():
        explained = list(adapters.explain(row, number))
    if as_json:
        echo_json({"row": row, "stages": [each._asdict() for each in explained]})
        return
    echo(f"row {number}")
    echo_lines(f"  {_as_text(row)}")
    for stage in explained:
        made = count_of(len(stage.rows), "row")
        echo(f"after stage {stage.stage} ({stage.kind}): {made}")
        for each in stage.rows:
            echo_lines(f"  {_as_text(each)}")


def _write(
    adapters: Pipeline,
    file: Path,
    out: str,
    limit: int | None,
    as_json: bool,
    quiet: bool,
) -> None:
    from evalkit.reporting import count_of
    from evalkit_adapters_rows.adapted_files import adapt_file, leftovers

    with plugin_output_to_stderr(), watched(quiet) as progress:
        done = adapt_file(adapters, file, out, limit, progress)
    for path in leftovers(Path(out)):
        echo(f"{path}: is of a call that did not end, or still runs", err=True)
    if as_json:
        echo_json({"read": done.read, "written": done.written, "file": out})
    elif not quiet:
        read = count_of(done.read, "row")
        echo(f"{read} read, {done.written:,} written to {out}")


def _as_text(row: Any) -> str:
    return json.dumps(row, ensure_ascii=False, default=str)
