"""Data sets that were written, as tables with their own types."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evalkit.catalog import DataFile, Manifest, check_files, read_manifest
from evalkit.errors import DataError

if TYPE_CHECKING:
    import pyarrow as pa


def read_data_set(folder: str | Path) -> pa.Table:
    """Return a data set as one table.

    Args:
        folder: What `write_data_set` wrote.

    Returns:
        All rows, with the schema of the manifest: no type is guessed, those of the
        fields that it is partitioned by neither.

    Raises:
        DataError: A file is missing, has another size or other fields, or cannot be
            read.
    """
    import pyarrow as pa

    from evalkit.catalog import local_path

    folder = local_path(folder)
    manifest = read_manifest(folder)
    check_files(folder, manifest)
    tables = list(tables_of(folder, manifest))
    schema = manifest.schema_of_rows
    return pa.concat_tables(tables) if tables else schema.empty_table()


def verify_data_set(folder: str | Path) -> Manifest:
    """Compare every file of a data set with its manifest, by SHA-256.

    Args:
        folder: What `write_data_set` wrote.

    Returns:
        The manifest.

    Raises:
        DataError: A file is missing or was changed.
    """
    from evalkit.catalog import local_path

    folder = local_path(folder)
    manifest = read_manifest(folder)
    check_files(folder, manifest, contents=True)
    return manifest


def tables_of(folder: Path, manifest: Manifest) -> Iterator[pa.Table]:
    """Read the files of a data set one after the other."""
    import pyarrow as pa
    import pyarrow.parquet as parquet

    schema = manifest.schema_of_rows
    for file in manifest.files:
        path = folder / file.path
        try:
            if manifest.format == "parquet":
                found = parquet.ParquetFile(path).read()
            else:
                with pa.OSFile(str(path)) as stream:
                    found = pa.ipc.open_file(stream).read_all()
        except (pa.ArrowException, OSError) as error:
            raise DataError(f"{path}: cannot be read: {error}") from error
        expected = [field for field in schema if field.name not in file.partition]
        if [(f.name, f.type) for f in found.schema] != [
            (f.name, f.type) for f in expected
        ]:
            raise DataError(f"{path}: its fields are not those of the manifest")
        yield _whole(found, file, schema)


def _whole(table: pa.Table, file: DataFile, schema: pa.Schema) -> pa.Table:
    import pyarrow as pa

    columns = []
    for field in schema:
        if field.name in file.partition:
            value: Any = file.partition[field.name]
            if pa.types.is_date(field.type) and isinstance(value, str):
                value = date.fromisoformat(value)
            columns.append(pa.array([value] * table.num_rows, field.type))
        else:
            columns.append(table.column(field.name))
    return pa.Table.from_arrays(columns, schema=schema)
