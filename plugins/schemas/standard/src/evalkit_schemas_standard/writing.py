"""Data sets: rows that were checked, as files in order with a manifest of them."""

from __future__ import annotations

import hashlib
import re
import warnings
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import date
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypedDict, Unpack
from urllib.parse import quote

from pydantic import BaseModel

from evalkit.catalog import (
    MANIFEST_FILE,
    DataFile,
    Manifest,
    ManifestField,
    check_files,
    local_path,
    read_manifest,
)
from evalkit.errors import DataError, SchemaError, StorageError
from evalkit.reporting import describe
from evalkit_adapters_rows import file_frames, validated_rows
from evalkit_schemas_standard.arrow import arrow_schema, encode_schema
from evalkit_schemas_standard.field_names import declared_keys
from evalkit_schemas_standard.folders import new_folder
from evalkit_schemas_standard.from_models import schema_identity
from evalkit_schemas_standard.values import arrow_table

if TYPE_CHECKING:
    import pyarrow as pa

GROUP_ROWS = 65_536
"""Rows of a row group; the last one of a file has fewer."""

_ROW = re.compile(r"row (\d+): ")
_SHOWN = 5
_NULL = "__HIVE_DEFAULT_PARTITION__"
_MOST_PARTITIONS = 10_000
_LONGEST_NAME = 255


class WriteOptions(TypedDict, total=False):
    """How a data set is written.

    Attributes:
        file_format: `parquet` (default) or `arrow`.
        partition_by: Fields of which each combination of values has a folder of its
            own, `field=value`, as Hive names them.
        id_fields: Fields whose values together no two rows may share; by default
            `_index_` and `_replication_` where the schema has them.
        overwrite: Whether to replace the data set that is there.
        schema_name: Name of the schema, for the manifest.
    """

    file_format: Literal["parquet", "arrow"]
    partition_by: Sequence[str]
    id_fields: Sequence[str]
    overwrite: bool
    schema_name: str | None


class Places:
    """Where rows came from."""

    def __init__(self) -> None:
        self._lines = array("q")
        self._sources: list[tuple[int, str]] = []

    def begin(self, source: str) -> None:
        """Begin with the rows of a source."""
        self._sources.append((len(self._lines), source))

    def add(self, line: int) -> None:
        """Add the line of a row."""
        self._lines.append(line)

    def of(self, index: int) -> str:
        """Say where a row came from, by its number from 0."""
        source = [name for first, name in self._sources if first <= index][-1]
        return f"{source} {self._lines[index]:,}"


def write_data_set(
    rows: Iterable[Any],
    folder: str | Path,
    model: type[BaseModel],
    **options: Unpack[WriteOptions],
) -> Manifest:
    """Write rows as a data set.

    The folder is there when all rows are. Equal rows make equal files under the same
    versions of evalkit and pyarrow. Rows keep their order, those of a partitioned data
    set within each partition.

    Args:
        rows: Dicts that the model takes, or its instances, which are not checked again.
        folder: Where to; its parents are made.
        model: What every row must keep.
        **options: See `WriteOptions`.

    Returns:
        The manifest.

    Raises:
        SchemaError: A row breaks the schema, or repeats an id; nothing is written.
        StorageError: Something else is there, or the folder cannot be written; what was
            there before is unchanged.
    """
    places = Places()
    places.begin("row")
    return _write(_counted(rows, places), Path(folder), model, places, options)


def write_files(
    files: Sequence[str | Path],
    folder: str | Path,
    model: type[BaseModel],
    **options: Unpack[WriteOptions],
) -> Manifest:
    """Write the rows of files as a data set, as `write_data_set` does.

    Args:
        files: JSON lines, CSV, TSV, Parquet, Arrow or data sets, in this order.
        folder: Where to.
        model: What every row must keep.
        **options: See `WriteOptions`.

    Returns:
        The manifest.

    Raises:
        DataError: A file cannot be read.
        SchemaError: Rows break the schema or repeat an id; names files and lines.
        StorageError: Something else is there, or the folder cannot be written.

    Warns:
        UserWarning: Rows have keys that the schema neither declares nor forbids.
    """
    places = Places()
    keys: set[str] = set()
    rows = _rows_of(files, model, places, keys)
    manifest = _write(rows, Path(folder), model, places, options)
    if undeclared := sorted(keys - {*declared_keys(model)}):
        warnings.warn(
            f"{folder}: not in the schema, and not written: {', '.join(undeclared)}",
            stacklevel=2,
        )
    return manifest


def _counted(rows: Iterable[Any], places: Places) -> Iterator[Any]:
    for number, row in enumerate(rows, start=1):
        places.add(number)
        yield row


def _rows_of(
    files: Sequence[str | Path], model: type[BaseModel], places: Places, keys: set[str]
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


def _write(
    rows: Iterable[Any],
    folder: Path,
    model: type[BaseModel],
    places: Places,
    options: WriteOptions,
) -> Manifest:
    import pyarrow as pa

    schema = arrow_schema(model)
    partition_by = [*options.get("partition_by", ())]
    keys = [name for name in ("_index_", "_replication_") if name in schema.names]
    id_fields = [*(options.get("id_fields") or keys)]
    file_format = options.get("file_format", "parquet")
    if file_format not in ("parquet", "arrow"):
        raise SchemaError(f"the format is parquet or arrow, not {file_format!r}")
    if not schema.names:
        raise SchemaError(f"{model.__name__}: has no fields, so no rows either")
    _check_partition_fields(schema, partition_by)
    for name in id_fields:
        if name not in schema.names:
            raise SchemaError(f"the schema has no field {name!r} for ids")
    with new_folder(folder, overwrite=options.get("overwrite", False)) as staging:
        try:
            table = _all_rows(rows, staging / ".rows", model, places)
            refuse_repeated(table, id_fields, places.of)
            parts = _parts(table, partition_by)
            files = [
                _file(part, number, key, partition_by, staging, file_format)
                for number, (key, part) in enumerate(parts)
            ]
            (staging / ".rows").unlink()
        except pa.ArrowException as error:
            raise StorageError(f"{folder}: cannot be written: {error}") from error
        manifest = Manifest(
            format=file_format,
            rows=sum(file.rows for file in files),
            schema_name=options.get("schema_name"),
            schema_identity=schema_identity(model),
            fields=[
                ManifestField(name=f.name, type=str(f.type), nullable=f.nullable)
                for f in schema
            ],
            id_fields=id_fields,
            partition_fields=partition_by,
            arrow_schema=encode_schema(schema),
            files=files,
        )
        text = manifest.model_dump_json(indent=2) + "\n"
        (staging / MANIFEST_FILE).write_text(text, encoding="utf-8")
    return manifest


def _all_rows(
    rows: Iterable[Any], path: Path, model: type[BaseModel], places: Places
) -> pa.Table:
    """Write rows to a file and return them as a table in it, not in memory."""
    import pyarrow as pa

    waiting = iter(rows)
    first = 0
    with pa.ipc.new_file(str(path), arrow_schema(model)) as writer:
        while block := [*islice(waiting, GROUP_ROWS)]:
            try:
                writer.write_table(arrow_table(model, block))
            except SchemaError as error:
                text = str(error)
                found = _ROW.match(text)
                if found is None:
                    raise
                # the row as it came, and not as one of its block
                place = places.of(first + int(found[1]) - 1)
                raise SchemaError(f"{place}: {text[found.end() :]}") from error
            first += len(block)
    return pa.ipc.open_file(pa.memory_map(str(path))).read_all()


def refuse_repeated(
    table: pa.Table, names: Sequence[str], place_of: Callable[[int], str]
) -> None:
    """Refuse ids that several rows have, or that are null."""
    import polars as pl

    if not names:
        return
    ids = pl.DataFrame([pl.Series(n, pl.from_arrow(table.column(n))) for n in names])
    for column in ids:
        if column.null_count():
            place = place_of(int(column.is_null().arg_max() or 0))
            raise SchemaError(f"{place}: {column.name}: an id must not be null")
    groups = ids.select(key=pl.struct(pl.all())).with_row_index()
    repeated = groups.filter(pl.col("key").is_duplicated())
    places = repeated.group_by("key", maintain_order=True).agg("index")
    problems = [
        f"{place_of(again)}: {', '.join(names)}: {', '.join(map(repr, key.values()))} "
        f"was given before, at {place_of(first)}"
        for key, (first, again, *_) in places.head(_SHOWN).iter_rows()
    ]
    more = places.height - len(problems)
    if problems:
        tail = f"; and {more:,} more" if more else ""
        raise SchemaError("; ".join(problems) + tail)


def _check_partition_fields(schema: pa.Schema, names: Sequence[str]) -> None:
    """Refuse fields that rows cannot be kept apart by."""
    import pyarrow.types as are

    for name in names:
        if name not in schema.names or names.count(name) > 1:
            what = "twice" if name in schema.names else "but the schema has none"
            raise SchemaError(f"the field {name!r} is to partition by, {what}")
        kind = schema.field(name).type
        tests = (are.is_string, are.is_integer, are.is_boolean, are.is_date)
        if not any(test(kind) for test in tests):
            raise SchemaError(
                f"{name}: rows are partitioned by texts, integers, booleans or dates, "
                f"not by {kind}"
            )
    if names and len(names) == len(schema.names):
        raise SchemaError("no field is left beside those that rows are partitioned by")


def _parts(
    table: pa.Table, names: Sequence[str]
) -> Iterator[tuple[tuple[Any, ...], pa.Table]]:
    """Yield the rows of each partition, in the order of their first rows."""
    import polars as pl

    if not names:
        yield (), table
        return
    keys = pl.DataFrame([pl.Series(n, pl.from_arrow(table.column(n))) for n in names])
    groups = keys.with_row_index("").group_by(names, maintain_order=True).agg("")
    if groups.height > _MOST_PARTITIONS:
        raise SchemaError(
            f"{', '.join(names)}: more than {_MOST_PARTITIONS:,} partitions; partition "
            "by a field with fewer values"
        )
    rest = table.select([name for name in table.column_names if name not in names])
    for *key, rows in groups.iter_rows():
        yield tuple(key), rest.take(rows)


def _file(
    table: pa.Table,
    number: int,
    key: Sequence[Any],
    names: Sequence[str],
    staging: Path,
    file_format: str,
) -> DataFile:
    """Write the rows of a partition in row groups of one size."""
    import pyarrow as pa
    import pyarrow.parquet as parquet

    folder = staging.joinpath(*_folders(names, key))
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"part-{number}.{file_format}"
    with path.open("wb") as stream:
        if file_format == "parquet":
            parquet.write_table(
                table, stream, compression="zstd", row_group_size=GROUP_ROWS
            )
        else:
            with pa.ipc.new_file(stream, table.schema) as writer:
                writer.write_table(table.combine_chunks(), GROUP_ROWS)
    with path.open("rb") as stream:
        digest = hashlib.file_digest(stream, "sha256").hexdigest()
    dates = (each.isoformat() if isinstance(each, date) else each for each in key)
    return DataFile(
        path=path.relative_to(staging).as_posix(),
        rows=table.num_rows,
        bytes=path.stat().st_size,
        sha256=digest,
        partition=dict(zip(names, dates, strict=True)),
    )


def _folders(names: Sequence[str], key: Sequence[Any]) -> Iterator[str]:
    """Yield the folders of a partition, as `lang=en` and `year=2024`."""
    for name, value in zip(names, key, strict=True):
        text = _NULL if value is None else str(value)
        if text == _NULL and value is not None:
            raise SchemaError(f"{name}: the text {_NULL} stands for null in partitions")
        part = f"{quote(name, safe='')}={quote(text, safe=' ')}"
        if len(part) > _LONGEST_NAME:
            raise SchemaError(f"{name}: is too long to partition by: {text[:60]!r}…")
        yield part


def read_data_set(folder: str | Path) -> pa.Table:
    """Return a data set as one table.

    Args:
        folder: What `write_data_set` wrote.

    Returns:
        All rows, with the schema of the manifest: no type is guessed, those of the
        fields that it is partitioned by neither.

    Raises:
        DataError: A file is missing or was changed, or cannot be read.
    """
    import pyarrow as pa
    from pyarrow import dataset

    folder = local_path(folder)
    manifest = verify_data_set(folder)
    schema = manifest.schema_of_rows
    partitions = pa.schema([schema.field(name) for name in manifest.partition_fields])
    try:
        return dataset.dataset(
            [str(folder / file.path) for file in manifest.files],
            schema,
            format=manifest.format,
            partitioning=dataset.partitioning(partitions, flavor="hive"),
        ).to_table()
    except (pa.ArrowException, OSError) as error:
        raise DataError(f"{folder}: cannot be read: {error}") from error


def verify_data_set(folder: str | Path) -> Manifest:
    """Compare every file of a data set with its manifest, by SHA-256.

    Args:
        folder: What `write_data_set` wrote.

    Returns:
        The manifest.

    Raises:
        DataError: A file is missing or was changed.
    """
    folder = local_path(folder)
    manifest = read_manifest(folder)
    check_files(folder, manifest, contents=True)
    return manifest
