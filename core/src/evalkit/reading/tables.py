"""Reads Parquet, Arrow and data frames, whose columns have types already."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Mapping
from datetime import date
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from pydantic import BaseModel

from evalkit.base.columns import all_named, frame_of, named, unnamed
from evalkit.base.ids import REPLICATION_KEY, RESPONSE_ID_KEYS
from evalkit.errors import DataError
from evalkit.reading.file_parts import FilePart, first_number
from evalkit.reading.formats import Format
from evalkit.reading.manifests import check_files, read_manifest
from evalkit.reading.rows import ROW_KEYS, Block, Row, object_row
from evalkit.reading.schemas import ColumnPlan
from evalkit.reading.sharded import ShardedPath
from evalkit.reading.streams import Expansion, refuse_other_than_file
from evalkit.reading.typed_values import row_of_table

BATCH_ROWS = 100_000
"""Rows of a batch of Parquet."""

BATCH_BYTES = 64 << 20
"""Bytes of such a batch, beyond which it has fewer rows."""

PIECE_ROWS = 1_000
"""Rows of Parquet that are unpacked at once: a text that is stored once may be in each
of them."""


def read_table_blocks(
    path: Path,
    kind: Format,
    plan: ColumnPlan | None,
    nullable: Collection[str] = (),
    model: type[BaseModel] | None = None,
) -> Iterator[Block]:
    """Read Parquet, Arrow or a data set as `table_blocks`."""
    first = first_number(path)
    for frame in read_frames(path, kind):
        yield from table_blocks(frame, first, plan, nullable, model)
        first += frame.height


def read_frames(path: Path, kind: Format) -> Iterator[pl.DataFrame]:
    """Read Parquet, Arrow or a data set in batches, in bounded memory."""
    import pyarrow as pa

    if isinstance(path, ShardedPath):
        yield from _frames_of_shards(path, kind)
        return
    if kind is Format.DATA_SET:
        yield from _data_set_frames(path)
        return
    refuse_other_than_file(path)
    try:
        batches = _parquet_batches if kind is Format.PARQUET else _arrow_batches
        for batch in batches(path, Expansion(path)):
            batch.validate(full=True)  # texts may be no UTF-8
            for field in batch.schema:
                if "decimal256" in str(field.type):  # polars panics
                    raise DataError(
                        f"{path}: {field.name}: unsupported type {field.type}. Write "
                        "it as decimal128 or text"
                    )
            frame = pl.from_arrow(batch.replace_schema_metadata())
            assert isinstance(frame, pl.DataFrame)
            # polars makes up a name for a column without one
            frame.columns = batch.schema.names
            if twice := _repeating(frame):
                raise DataError(f"{path}: {twice}: a map has one of its keys twice")
            yield frame
    except (
        *(pa.ArrowException, OSError, UnicodeDecodeError),
        *(pl.exceptions.PolarsError, pl.exceptions.PanicException),
    ) as error:
        line = (str(error).splitlines() or [type(error).__name__])[0]
        raise DataError(f"{path}: cannot be read as {kind.value}: {line}") from error


def _parquet_batches(path: Path, expansion: Expansion) -> Iterator[Any]:
    import pyarrow as pa
    import pyarrow.parquet

    pieces: list[Any] = []
    rows = size = 0
    groups = path.groups if isinstance(path, FilePart) else None
    with pyarrow.parquet.ParquetFile(path) as file:
        for piece in file.iter_batches(PIECE_ROWS, groups, use_threads=False):
            unpacked = sum(map(_unpacked_bytes, piece.columns))
            expansion.add(unpacked)
            pieces.append(piece)
            rows, size = rows + piece.num_rows, size + unpacked
            if rows >= BATCH_ROWS or size >= BATCH_BYTES:
                yield from pa.Table.from_batches(pieces).combine_chunks().to_batches()
                pieces, rows, size = [], 0, 0
    if pieces:
        yield from pa.Table.from_batches(pieces).combine_chunks().to_batches()


def _arrow_batches(path: Path, expansion: Expansion) -> Iterator[Any]:
    import pyarrow as pa

    with pa.OSFile(os.fspath(path)) as file:
        is_file = file.read(6) == b"ARROW1"
        file.seek(0)
        reader = pa.ipc.open_file(file) if is_file else pa.ipc.open_stream(file)
        batches = (
            map(reader.get_batch, range(reader.num_record_batches))
            if is_file
            else reader
        )
        for batch in batches:
            expansion.add(sum(map(_unpacked_bytes, batch.columns)))
            yield batch


def _unpacked_bytes(column: Any) -> int:
    """Return the bytes of an Arrow column whose texts are all written out."""
    import pyarrow as pa
    from pyarrow import compute

    if not pa.types.is_dictionary(column.type):
        return int(column.nbytes)
    size = int(column.indices.nbytes)
    kind = column.type.value_type
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        lengths = compute.binary_length(column.dictionary).cast(pa.int64())
        size += compute.sum(lengths.take(column.indices)).as_py() or 0
    return size


def _frames_of_shards(path: ShardedPath, kind: Format) -> Iterator[pl.DataFrame]:
    """Read all shards, which must have the same columns."""
    types: dict[str, pl.DataType] | None = None
    number = 1
    for index, shard in enumerate(path.shards):
        path.begin(index, number)
        for frame in read_frames(shard, kind):
            types = dict(frame.schema) if types is None else types
            if frame.schema != types and dict(frame.schema) != types:
                other = {*types.items()} ^ {*frame.schema.items()}
                names = ", ".join(sorted({repr(name) for name, _ in other}))
                raise DataError(
                    f"{shard}: has other columns, or of other types, than "
                    f"{path.shards[0].name}: {names}"
                )
            yield frame.select(all_named(types))
            number += frame.height
    path.begin(len(path.shards), number)


def _data_set_frames(folder: Path) -> Iterator[pl.DataFrame]:
    """Read the files of a data set, with the fields that it is partitioned by."""
    manifest = read_manifest(folder)
    check_files(folder, manifest)
    empty = pl.DataFrame(manifest.schema_of_rows.remove_metadata().empty_table())
    types = dict(empty.schema)
    for file in manifest.files:
        path = folder / file.path
        shared = [
            _shared(path, name, value, types) for name, value in file.partition.items()
        ]
        rows = 0
        for frame in read_frames(path, Format[manifest.format.upper()]):
            rows += frame.height
            frame = frame.with_columns(
                each.new_from_index(0, frame.height) for each in shared
            )
            if dict(frame.schema) != types:
                raise DataError(f"{path}: its fields are not those of the manifest")
            yield frame.select(all_named(types))
        if rows != file.rows:
            raise DataError(f"{path}: holds {rows:,} rows, not {file.rows:,}")


def _shared(
    path: Path, name: str, value: Any, types: dict[str, pl.DataType]
) -> pl.Series:
    """Return the value that all rows of a file have in a field."""
    dtype = types.get(name)
    try:
        typed = (
            date.fromisoformat(value)
            if dtype == pl.Date and isinstance(value, str)
            else value
        )
        return pl.Series(name, [typed], dtype)
    except (TypeError, ValueError, OverflowError, pl.exceptions.PolarsError) as error:
        raise DataError(
            f"{path}: the manifest says {name} = {value!r:.80}, which is no {dtype}"
        ) from error


def _repeating(frame: pl.DataFrame) -> str | None:
    """Return a column with a map of which a mapping would lose an entry."""
    waiting = [(column.name, column.alias("")) for column in frame]
    while waiting:
        name, column = waiting.pop()
        match column.drop_nulls():
            case pl.Series(dtype=pl.Map()) as maps:
                keys = maps.map.keys()
                if (keys.list.n_unique() < keys.list.len()).any():
                    return name
                inner = [maps.map.values().explode()]
            case pl.Series(dtype=pl.List() | pl.Array()) as lists:
                inner = [lists.explode()]
            case pl.Series(dtype=pl.Struct()) as structs:
                inner = structs.struct.unnest().get_columns()
            case _:
                inner = []
        waiting += [(name, each.alias("")) for each in inner]
    return None


def table_blocks(
    frame: pl.DataFrame,
    first: int,
    plan: ColumnPlan | None,
    nullable: Collection[str] = (),
    model: type[BaseModel] | None = None,
) -> Iterator[Block]:
    """Return a data frame, whose first row has the number `first`, as one block.

    Null is a value of `nullable` columns only. Maps of `model` are mappings in the
    rows, and not lists of entries as in tables.
    """
    row_at = partial(_row, frame, first, nullable, model)
    block = None
    if plan is not None:
        lines = np.arange(first, first + frame.height)
        block = planned_block(frame, plan, lines, row_at)
    yield block or Block(rows=map(row_at, range(frame.height)))


def planned_block(
    frame: pl.DataFrame,
    plan: ColumnPlan,
    lines: NDArray[np.int64],
    row_at: Callable[[int], Row],
) -> Block | None:
    """Return a frame as a block; None where a column is of another type than planned.

    Rows with a value that only the whole row can judge are apart.
    """
    planned = _planned(frame, plan)
    if planned is None:
        return None
    declared = {*plan.columns, *RESPONSE_ID_KEYS, REPLICATION_KEY}
    others = [name for name in frame.columns if name not in declared]
    doubtful = np.zeros(frame.height, dtype=bool)
    both_ids = {"id", "uid"} <= {*frame.columns}
    for name in (ROW_KEYS & {*others}) | ({"uid"} if both_ids else set()):
        doubtful |= unnamed(frame[name]).is_not_null().to_numpy()
    others = [name for name in others if name != "error"]
    if plan.forbids_undeclared and others:
        doubtful[:] = True
    kept = np.flatnonzero(~doubtful)
    if doubtful.any():
        planned, frame = planned.filter(~doubtful), frame.filter(~doubtful)
    undeclared = {
        name: filled
        for name in others
        if (filled := frame.height - frame[name].null_count())
    }
    return Block(
        planned,
        lines[kept],
        lambda index: row_at(int(kept[index])),
        map(row_at, np.flatnonzero(doubtful).tolist()),
        undeclared,
    )


def _row(
    frame: pl.DataFrame,
    first: int,
    nullable: Collection[str],
    model: type[BaseModel] | None,
    index: int,
) -> Row:
    values = plain_values(frame.row(index, named=True), nullable)
    return object_row(
        first + index, values if model is None else row_of_table(model, values)
    )


def plain_values(
    values: Mapping[str, Any], nullable: Collection[str], decimals: Collection[str] = ()
) -> dict[str, Any]:
    """Return the values of a row of a table as JSON lines would have them.

    Null is a value of `nullable` columns only, and only the decimal numbers of
    `decimals` stay what they are, which no number of JSON holds.
    """
    return {
        name: _plain(value, name in decimals)
        for name, value in values.items()
        if value is not None or name in nullable
    }


def _plain(value: Any, keeps_decimals: bool) -> Any:
    """Return a value as JSON lines would: without null fields, which a table must have.

    Decimal numbers become floats, those without decimal places integers.
    """
    if isinstance(value, Mapping):
        return {
            key: _plain(item, keeps_decimals)
            for key, item in value.items()
            if item is not None
        }
    if isinstance(value, list):
        return [_plain(item, keeps_decimals) for item in value]
    if isinstance(value, Decimal) and not keeps_decimals:
        return int(value) if value.as_tuple().exponent == 0 else float(value)
    return value


def _planned(frame: pl.DataFrame, plan: ColumnPlan) -> pl.DataFrame | None:
    """Bring columns into the planned types; None where a column is of another one."""
    id_key = next((key for key in RESPONSE_ID_KEYS if key in frame.columns), None)
    if id_key is None or not _holds_ids(frame.schema[id_key]):
        return None
    columns = [frame[id_key].cast(pl.String).alias("id")]
    if REPLICATION_KEY in frame.columns:
        replication = frame[REPLICATION_KEY]
        if not (_holds_ids(replication.dtype) or replication.dtype == pl.Null):
            return None
        columns.append(replication.cast(pl.String))
    for name, column in plan.columns.items():
        if name not in frame.columns:
            empty = pl.Series(name, dtype=column.dtype)
            columns.append(empty.extend_constant(None, frame.height))
            continue
        cast = cast_column(frame[name], column.dtype)
        if cast is None:
            return None
        columns.append(cast)
    return frame_of(columns)


def _holds_ids(dtype: pl.DataType) -> bool:
    return _holds_texts(dtype) or holds_integers(dtype)


def holds_integers(dtype: pl.DataType) -> bool:
    """Tell whether values of a type are whole numbers, as decimals of scale 0 are."""
    return dtype.is_integer() or (isinstance(dtype, pl.Decimal) and dtype.scale == 0)


def _holds_texts(dtype: pl.DataType) -> bool:
    return dtype in (pl.String, pl.Categorical, pl.Enum)


def cast_column(values: pl.Series, dtype: pl.DataType) -> pl.Series | None:
    """Bring a column into another type; None where values may mean something else."""
    found = values.dtype
    if found == dtype:
        return values
    try:
        if isinstance(dtype, pl.Struct) and isinstance(found, pl.Struct):
            return _cast_struct(values, dtype, found)
        return values.cast(dtype) if _widens(found, dtype) else None
    except pl.exceptions.InvalidOperationError:
        return None


def _widens(found: Any, dtype: Any) -> bool:
    """Tell whether values of a type mean the same in another, as far as they fit."""
    if isinstance(dtype, pl.List) and isinstance(found, pl.List | pl.Array):
        return found.inner == dtype.inner or _widens(found.inner, dtype.inner)
    return (
        found == pl.Null
        or (dtype == pl.String and _holds_texts(found))
        or (dtype == pl.Float64 and found.is_numeric())
        or (dtype == pl.Int64 and holds_integers(found))
    )


def _cast_struct(
    values: pl.Series, dtype: pl.Struct, found: pl.Struct
) -> pl.Series | None:
    """Cast the fields of a struct; None where it has others than the planned."""
    given = {field.name: field.dtype for field in found.fields}
    if not given.keys() <= {field.name for field in dtype.fields}:
        return None
    whole = named(values.name)
    fields = []
    for field in dtype.fields:
        kind = given.get(field.name, pl.Null())
        if kind != field.dtype and not _widens(kind, field.dtype):
            return None
        value = pl.lit(None) if kind == pl.Null else whole.struct.field(field.name)
        fields.append(value.cast(field.dtype).alias(field.name))
    kept = pl.when(whole.is_not_null()).then(pl.struct(fields))
    return values.to_frame().select(kept.alias(values.name)).to_series()
