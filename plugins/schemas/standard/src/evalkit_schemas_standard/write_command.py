"""`evalkit schema write` and `evalkit schema verify`."""

from __future__ import annotations

from pathlib import Path

import click

from evalkit_cli.commanding import (
    InputFile,
    echo,
    echo_json,
    json_option,
    plugin_output_to_stderr,
)


@click.command("write")
@click.argument("files", nargs=-1, required=True, type=InputFile(dir_okay=True))
@click.option(
    "-o",
    "--out",
    "folder",
    required=True,
    type=click.Path(path_type=Path),
    help="Folder to write.",
)
@click.option(
    "--schema",
    "names",
    multiple=True,
    required=True,
    help="What every row must keep; repeatable, for the product of several.",
)
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
    partition_by: tuple[str, ...],
    id_fields: tuple[str, ...],
    file_format: str,
    overwrite: bool,
    as_json: bool,
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
            file_format="arrow" if file_format == "arrow" else "parquet",
            partition_by=partition_by,
            id_fields=id_fields,
            overwrite=overwrite,
            schema_name=", ".join(names),
        )
    for path in leftovers(folder):
        echo(f"{path}: is of a write that did not end, or still runs", err=True)
    if as_json:
        echo_json(manifest.model_dump(mode="json"))
        return
    checked = f"{', '.join(id_fields)} unique" if id_fields else "ids not checked"
    rows = count_of(manifest.rows, "row")
    written = count_of(len(manifest.files), "file")
    echo(f"{rows} in {written} written to {folder}; {checked}")


@click.command("verify")
@click.argument("folder", type=click.Path(path_type=Path))
def verify_command(folder: Path) -> None:
    """Compare the files of a data set with its manifest, by SHA-256."""
    from evalkit.reporting import count_of
    from evalkit_schemas_standard.writing import verify_data_set

    manifest = verify_data_set(folder)
    files = count_of(len(manifest.files), "file")
    echo(f"{count_of(manifest.rows, 'row')} in {files}: as written")
