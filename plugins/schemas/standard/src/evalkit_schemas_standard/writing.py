"""Writes rows as a data set: files in order, and a manifest of them."""

from __future__ import annotations

import hashlib
import re
import warnings
from array import array
from base64 import b64encode
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from pydantic import BaseModel

from evalkit.catalog import MANIFEST_FILE, DataFile, Manifest, ManifestField
from evalkit.errors import SchemaError, StorageError
from evalkit.reporting import describe
from evalkit_adapters_rows import file_frames, validated_rows
from evalkit_schemas_standard.arrow import arrow_schema
from evalkit_schemas_standard.field_names import declared_keys
from evalkit_schemas_standard.folders import new_folder
from evalkit_schemas_standard.from_models import schema_identity
from evalkit_schemas_standard.partitions import (
    Partitions,
    UniqueIds,
    as_json,
    check_partition_fields,
    folder_of,
)
from evalkit_schemas_standard.reading import tables_of
from evalkit_schemas_standard.values import arrow_table

if TYPE_CHECKING:
    import pyarrow as pa

GROUP_ROWS = 65_536
"""Rows of a row group; the last one of a file has fewer."""

DataFormat: TypeAlias = Literal["parquet", "arrow"]
_ROW = re.compile(r"row (\d+): ")
_SHOWN = 5


class _Places:
    """Where rows came from."""

    def __init__(self) -> None:
        self._lines = array("q")
        self._sources: list[tuple[int, str]] = []

    def begin(self, source: str) -> None:
        self._sources.append((len(self._lines), source))

    def add(self, line: int) -> None:
        self._lines.append(line)

    def of(self, index: int) -> str:
        """Say where a row came from, by its number from 0."""
        source = [name for first, name in self._sources if first <= index][-1]
        return f"{source} {self._lines[index]:,}"


def write_data_set(
    rows: Iterable[Any],
    folder: str | Path,
    model: type[BaseModel],
    *,
    file_format: DataFormat = "parquet",
    partition_by: Sequence[str] = (),
    id_fields: Sequence[str] = (),
    overwrite: bool = False,
    schema_name: str | None = None,
) -> Manifest:
    """Write rows as a data set.

    The folder is there when all rows are. Equal rows make equal files under the same
    versions of evalkit and pyarrow. Rows keep their order, those of a partitioned data
    set within each partition.

    Args:
        rows: Dicts that the model takes, or its instances, which are not checked again.
        folder: Where to; its parents are made.
        model: What every row must keep.
        file_format: `parquet` or `arrow`.
        partition_by: Fields of which each combination of values has a folder of its
            own, `field=value`, as Hive names them.
        id_fields: Fields whose values together no two rows may share.
        overwrite: Whether to replace the data set that is there.
        schema_name: Name of the schema, for the manifest.

    Returns:
        The manifest.

    Raises:
        SchemaError: A row breaks the schema, or repeats an id; nothing is written.
        StorageError: Something else is there, or the folder cannot be written; what was
            there before is unchanged.
    """
    places = _Places()
    places.begin("row")
    writer = _Writer(model, file_format, partition_by, id_fields, places)
    given = _counted(rows, places)
    return writer.write(given, Path(folder), overwrite, schema_name)


def write_files(
    files: Sequence[str | Path],
    folder: str | Path,
    model: type[BaseModel],
    *,
    file_format: DataFormat = "parquet",
    partition_by: Sequence[str] = (),
    id_fields: Sequence[str] = (),
    overwrite: bool = False,
    schema_name: str | None = None,
) -> Manifest:
    """Write the rows of files as a data set, as `write_data_set` does.

    Args:
        files: JSON lines, CSV, TSV, Parquet, Arrow or data sets, in this order.
        folder: Where to.
        model: What every row must keep.
        file_format: `parquet` or `arrow`.
        partition_by: Fields that have folders of their own.
        id_fields: Fields whose values together no two rows may share.
        overwrite: Whether to replace the data set that is there.
        schema_name: Name of the schema, for the manifest.

    Returns:
        The manifest.

    Raises:
        DataError: A file cannot be read.
        SchemaError: Rows break the schema or repeat an id; names files and lines.
        StorageError: Something else is there, or the folder cannot be written.

    Warns:
        UserWarning: Rows have keys that the schema neither declares nor forbids.
    """
    places = _Places()
    writer = _Writer(model, file_format, partition_by, id_fields, places)
    keys: set[str] = set()
    rows = _rows_of(files, model, places, keys)
    manifest = writer.write(rows, Path(folder), overwrite, schema_name)
    if undeclared := sorted(keys - {*declared_keys(model)}):
        warnings.warn(
            f"{folder}: not in the schema, and not written: {', '.join(undeclared)}",
            stacklevel=2,
        )
    return manifest


def _counted(rows: Iterable[Any], places: _Places) -> Iterator[Any]:
    for number, row in enumerate(rows, start=1):
        places.add(number)
        yield row


def _rows_of(
    files: Sequence[str | Path], model: type[BaseModel], places: _Places, keys: set[str]
) -> Iterator[BaseModel]:
    """Read files; once a row breaks the schema, the others are only checked."""
    problems: list[str] = []
    failed = 0
    for file in files:
        unit = "line" if file_frames(file) is None else "row"
        places.begin(f"{file}: {unit}")
        for line, found in validated_rows(file, model, keys):
            if isinstance(found, list):
                failed += 1
                if failed <= _SHOWN:
                    problems.append(f"{file}: {unit} {line:,}: {describe(found)}")
            elif not failed:
                places.add(line)
                yield found
    if failed:
        more = failed - len(problems)
        tail = f"; and {more:,} more rows" if more else ""
        raise SchemaError("; ".join(problems) + tail)


class _Writer:
    """Writes rows of one schema."""

    def __init__(
        self,
        model: type[BaseModel],
        file_format: DataFormat,
        partition_by: Sequence[str],
        id_fields: Sequence[str],
        places: _Places,
    ) -> None:
        if file_format not in ("parquet", "arrow"):
            raise SchemaError(f"the format is parquet or arrow, not {file_format!r}")
        self._model, self._format = model, file_format
        self._schema = arrow_schema(model)
        if not self._schema.names:
            raise SchemaError(f"{model.__name__}: has no fields, so no rows either")
        self._partition_by, self._id_fields = list(partition_by), list(id_fields)
        self._places = places
        check_partition_fields(self._schema, self._partition_by)
        for name in self._id_fields:
            if name not in self._schema.names:
                raise SchemaError(f"the schema has no field {name!r} for ids")

    def write(
        self, rows: Iterable[Any], folder: Path, overwrite: bool, name: str | None
    ) -> Manifest:
        import pyarrow as pa

        with new_folder(folder, overwrite=overwrite) as staging:
            try:
                files = list(self._files(rows, staging))
            except pa.ArrowException as error:
                raise StorageError(f"{folder}: cannot be written: {error}") from error
            manifest = self._manifest(files, name)
            if self._id_fields:
                whole = tables_of(staging, manifest)
                self._ids.refuse_repeated(whole, self._places.of)
            text = manifest.model_dump_json(indent=2) + "\n"
            (staging / MANIFEST_FILE).write_text(text, encoding="utf-8")
        return manifest

    def _manifest(self, files: list[DataFile], name: str | None) -> Manifest:
        message = self._schema.serialize().to_pybytes()
        return Manifest(
            format=self._format,
            rows=sum(file.rows for file in files),
            schema_name=name,
            schema_identity=schema_identity(self._model),
            fields=[
                ManifestField(name=f.name, type=str(f.type), nullable=f.nullable)
                for f in self._schema
            ],
            id_fields=self._id_fields,
            partition_fields=self._partition_by,
            arrow_schema=b64encode(message).decode(),
            files=files,
        )

    def _files(self, rows: Iterable[Any], staging: Path) -> Iterator[DataFile]:
        self._ids = UniqueIds(self._id_fields)
        tables = self._tables(rows)
        if not self._partition_by:
            path = staging / f"part-0.{self._format}"
            yield self._file(path, staging, self._schema, tables, {})
            return
        parts = Partitions(staging / ".rows", self._schema, self._partition_by)
        try:
            for table in tables:
                parts.add(table)
            for number, (key, found) in enumerate(parts.tables()):
                folder = staging / folder_of(self._partition_by, key)
                folder.mkdir(parents=True, exist_ok=True)
                path = folder / f"part-{number}.{self._format}"
                values = dict(zip(self._partition_by, key, strict=True))
                yield self._file(path, staging, parts.schema, found, values)
        finally:
            parts.close()

    def _tables(self, rows: Iterable[Any]) -> Iterator[pa.Table]:
        """Make tables of so many rows as a row group has."""
        waiting = iter(rows)
        first = 0
        while block := list(islice(waiting, GROUP_ROWS)):
            try:
                table = arrow_table(self._model, block)
            except SchemaError as error:
                raise self._placed(error, first) from error
            for name in self._id_fields:
                if table.column(name).null_count:
                    nulls = table.column(name).is_null().to_pylist()
                    place = self._places.of(first + nulls.index(True))
                    raise SchemaError(f"{place}: {name}: an id must not be null")
            if self._id_fields:
                self._ids.add(table)
            yield table
            first += len(block)

    def _placed(self, error: SchemaError, first: int) -> SchemaError:
        """Name the row as it came, and not as one of its block."""
        text = str(error)
        found = _ROW.match(text)
        if found is None:
            return error
        place = self._places.of(first + int(found[1]) - 1)
        return SchemaError(f"{place}: {text[found.end() :]}")

    def _file(
        self,
        path: Path,
        staging: Path,
        schema: pa.Schema,
        tables: Iterable[pa.Table],
        partition: dict[str, Any],
    ) -> DataFile:
        rows = _write_groups(path, schema, tables, self._format)
        with path.open("rb") as stream:
            digest = hashlib.file_digest(stream, "sha256").hexdigest()
        return DataFile(
            path=path.relative_to(staging).as_posix(),
            rows=rows,
            bytes=path.stat().st_size,
            sha256=digest,
            partition={name: as_json(value) for name, value in partition.items()},
        )


def _write_groups(
    path: Path, schema: pa.Schema, tables: Iterable[pa.Table], file_format: DataFormat
) -> int:
    """Write tables in row groups of one size, however many rows each has."""
    import pyarrow as pa
    import pyarrow.parquet as parquet

    rows = 0
    with path.open("wb") as stream:
        if file_format == "parquet":
            writer: Any = parquet.ParquetWriter(stream, schema, compression="zstd")
        else:
            writer = pa.ipc.new_file(stream, schema)
        with writer:
            for group in _groups(tables):
                writer.write_table(group, GROUP_ROWS)
                rows += group.num_rows
    return rows


def _groups(tables: Iterable[pa.Table]) -> Iterator[pa.Table]:
    import pyarrow as pa

    waiting: list[pa.Table] = []
    held = 0
    for table in tables:
        waiting.append(table)
        held += table.num_rows
        while held >= GROUP_ROWS:
            whole = pa.concat_tables(waiting)
            yield whole.slice(0, GROUP_ROWS).combine_chunks()
            waiting, held = [whole.slice(GROUP_ROWS)], held - GROUP_ROWS
    if held:
        yield pa.concat_tables(waiting).combine_chunks()
