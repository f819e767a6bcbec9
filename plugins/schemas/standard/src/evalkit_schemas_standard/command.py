"""`evalkit schema`."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from evalkit_cli.commanding import (
    InputFile,
    draw,
    echo,
    echo_json,
    echo_lines,
    json_option,
    plugin_output_to_stderr,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pydantic import BaseModel

    from evalkit import Violation


_schema_option = click.option(
    "--schema",
    "names",
    multiple=True,
    required=True,
    help="What every row must keep; repeatable, for the product of several.",
)


@click.group("schema")
def schema_command() -> None:
    """Show the schemas of data, and check files.

    \b
    Examples:
      evalkit schema list
      evalkit schema show Item text.Text
      evalkit schema check answers.jsonl --schema text.Text

    \b
    A schema is named by
      text.Text          a name that `evalkit schema list` shows,
      tasks/nli:Output   the Input or Output of an installed task,
      models.py:Answer   a pydantic model in a file.
    Several schemas together are their product.
    """  # noqa: D301 - click reads the backspace


@schema_command.command("list")
@json_option
def list_command(as_json: bool) -> None:
    """List the schemas that are installed."""
    from evalkit_schemas_standard.named import schema_components

    found = schema_components()
    if as_json:
        columns = ("name", "distribution", "version", "problem")
        echo_json([{key: getattr(each, key) for key in columns} for each in found])
        return
    rows = [[each.name, f"{each.distribution} {each.version}"] for each in found]
    draw([["schema", "distribution"], *rows], "table")
    for each in found:
        if each.problem:
            echo(f"{each.origin}: {each.problem}", err=True)


@schema_command.command("show")
@click.argument("names", nargs=-1, required=True, metavar="NAME...")
@click.option(
    "--as",
    "view",
    type=click.Choice(["python", "json", "arrow"]),
    default="python",
    show_default=True,
    help="A pydantic model, JSON Schema, or the fields of the Arrow schema.",
)
def show_command(names: tuple[str, ...], view: str) -> None:
    """Show a schema, or the product of several.

    \b
    Examples:
      evalkit schema show text.Text
      evalkit schema show Item classification.Label text.Text --as arrow
      evalkit schema show tasks/nli:Output --as json > nli.schema.json
    """  # noqa: D301 - click reads the backspace
    from evalkit_schemas_standard.references import find_schema

    with plugin_output_to_stderr():
        model = find_schema(names)
        if view == "json":
            from evalkit_schemas_standard.from_models import json_schema

            document = json_schema(model)
        elif view == "arrow":
            from evalkit_schemas_standard.arrow import arrow_schema

            schema = arrow_schema(model).remove_metadata()
            text = schema.to_string(truncate_metadata=False)
        else:
            from evalkit_schemas_standard.sources import model_source

            text = model_source(model)
    if view == "json":
        echo_json(document)
    else:
        echo_lines(text)


class _Report(NamedTuple):
    """What a check found."""

    rows: int
    failed: int
    problems: int
    first: list[tuple[int, Violation]]
    """The line of each, and what the row breaks."""

    undeclared: list[str]
    """Keys of rows that the schema neither declares nor forbids."""


@schema_command.command("check")
@click.argument("name", metavar="FILE", type=click.Path())
@_schema_option
@click.option(
    "-n",
    "--limit",
    type=click.IntRange(min=0),
    default=20,
    show_default=True,
    help="Show at most so many problems; all rows are checked and counted.",
)
@json_option
def check_command(name: str, names: tuple[str, ...], limit: int, as_json: bool) -> None:
    """Check the rows of a file against a schema.

    \b
    Examples:
      evalkit schema check answers.jsonl --schema text.Text
      evalkit schema check items.parquet --schema Item --schema text.Text
      evalkit schema check gold.csv --schema tasks/nli:Input

    FILE is JSON lines, CSV, TSV, Parquet, Arrow, or a folder of `evalkit schema write`,
    whose files must be as they were written, or the URI of one of these. Keys that the
    schema neither declares nor forbids are named in a warning.

    Exit codes: 0 all rows keep the schema; 1 a row does not, or an error; 2 wrong
    usage.
    """  # noqa: D301 - click reads the backspace
    from evalkit.catalog import data_path
    from evalkit.reporting import describe
    from evalkit_adapters_rows import file_frames
    from evalkit_schemas_standard.references import find_schema

    with plugin_output_to_stderr():
        file = data_path(name)
        report = _check(file, find_schema(names), limit)
        unit = "line" if file_frames(file) is None else "row"
    first = [
        {unit: line, "field": each.field, "rule": each.rule, "text": describe([each])}
        for line, each in report.first
    ]
    if as_json:
        echo_json({"file": str(file), **report._asdict(), "first": first})
    else:
        _print(
            file, report, [f"{unit} {each[unit]:,}: {each['text']}" for each in first]
        )
    if report.failed:
        raise click.exceptions.Exit(1)


def _check(file: Path, model: type[BaseModel], limit: int) -> _Report:
    from evalkit.catalog import MANIFEST_FILE
    from evalkit_adapters_rows import checked_rows
    from evalkit_schemas_standard.field_names import declared_keys
    from evalkit_schemas_standard.writing import verify_data_set

    if (file / MANIFEST_FILE).exists():
        verify_data_set(file)
    rows = failed = problems = 0
    first: list[tuple[int, Violation]] = []
    keys: set[str] = set()
    for line, violations in checked_rows(file, model, keys):
        rows += 1
        if violations:
            failed += 1
            problems += len(violations)
            first += [(line, each) for each in violations[: limit - len(first)]]
    for line, again in _repeated(file, model):
        failed, problems = failed + 1, problems + 1
        first += [(line, again)][: limit - len(first)]
    ignored = model.model_config.get("extra", "ignore") == "ignore"
    undeclared = sorted(keys - {*declared_keys(model)}) if ignored else []
    if undeclared:
        warnings.warn(
            f"{file}: not in the schema, and not checked: {', '.join(undeclared)}",
            stacklevel=2,
        )
    return _Report(rows, failed, problems, first, undeclared)


def _repeated(file: Path, model: type[BaseModel]) -> Iterator[tuple[int, Violation]]:
    """Yield rows whose `_index_` an earlier row has, of the same replication."""
    from evalkit import Violation
    from evalkit_adapters_rows import file_rows

    names = [
        name
        for name in ("_index_", "_replication_")
        if name in {field.alias for field in model.model_fields.values()}
    ]
    seen: dict[tuple[Any, ...], int] = {}
    for row in file_rows(file) if names else ():
        key = tuple((row.values or {}).get(name) for name in names)
        if None not in key and seen.setdefault(key, row.line) != row.line:
            rule = f"must be unique, row {seen[key]:,} has it too"
            yield row.line, Violation("_index_", rule, key[0])


def _print(file: Path, report: _Report, first: list[str]) -> None:
    from evalkit.reporting import count_of

    for each in first:
        echo(f"{file}: {each}")
    more = report.problems - len(first)
    if more:
        echo(f"… and {count_of(more, 'more problem')}")
    checked = count_of(report.rows, "row")
    echo(
        f"{checked} checked, {report.failed:,} failed"
        if report.failed
        else f"{checked} checked: ok"
    )


@schema_command.command("write")
@click.argument("files", nargs=-1, required=True, type=InputFile(dir_okay=True))
@click.option(
    "-o",
    "--out",
    "folder",
    required=True,
    type=click.Path(path_type=Path),
    help="Folder to write.",
)
@_schema_option
@click.option(
    "--partition-by",
    multiple=True,
    metavar="FIELD",
    help="Give each value of the field a folder of its own; repeatable.",
)
@click.option(
    "--id",
    "id_fields",
    multiple=True,
    metavar="FIELD",
    help="Refuse rows with the same value; repeatable, for the combination.",
)
@click.option(
    "--format",
    "file_format",
    type=click.Choice(["parquet", "arrow"]),
    default="parquet",
    show_default=True,
    help="Format of the files.",
)
@click.option("--overwrite", is_flag=True, help="Replace the data set that is there.")
@json_option
def write_command(
    files: tuple[Path, ...],
    folder: Path,
    names: tuple[str, ...],
    as_json: bool,
    **options: Any,
) -> None:
    """Write the rows of files as a data set, with a manifest.

    \b
    Examples:
      evalkit schema write gold.jsonl -o gold --schema tasks/nli:Input --id uid
      evalkit schema write a.csv b.csv -o ab --schema my.py:Row --partition-by lang

    FILES are JSON lines, CSV, TSV, Parquet, Arrow or data sets. Nothing is written
    where a row breaks the schema. `evalkit eval --data FOLDER` reads the folder.
    """  # noqa: D301 - click reads the backspace
    from evalkit.catalog import data_path
    from evalkit.places import is_remote, uri_of
    from evalkit.reporting import count_of
    from evalkit_schemas_standard.folders import leftovers
    from evalkit_schemas_standard.references import find_schema
    from evalkit_schemas_standard.writing import write_files

    if is_remote(str(folder)):
        raise click.UsageError(
            f"{uri_of(folder)}: data sets are written to folders of this machine; "
            "copy the folder to the store."
        )
    with plugin_output_to_stderr():
        manifest = write_files(
            [data_path(file) for file in files],
            folder,
            find_schema(names),
            schema_name=", ".join(names),
            **options,
        )
    for path in leftovers(folder):
        echo(f"{path}: is of a write that did not end, or still runs", err=True)
    if as_json:
        echo_json(manifest.model_dump(mode="json"))
        return
    ids = ", ".join(options["id_fields"])
    checked = f"{ids} unique" if ids else "ids not checked"
    rows = count_of(manifest.rows, "row")
    written = count_of(len(manifest.files), "file")
    echo(f"{rows} in {written} written to {folder}; {checked}")


@schema_command.command("verify")
@click.argument("folder", type=click.Path(path_type=Path))
def verify_command(folder: Path) -> None:
    """Compare the files of a data set with its manifest, by SHA-256."""
    from evalkit.reporting import count_of
    from evalkit_schemas_standard.writing import verify_data_set

    manifest = verify_data_set(folder)
    files = count_of(len(manifest.files), "file")
    echo(f"{count_of(manifest.rows, 'row')} in {files}: as written")
