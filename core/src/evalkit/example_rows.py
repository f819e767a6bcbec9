"""Loads the rows of a split, and checks their ids and their shape."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray
from polars.datatypes import DataTypeClass
from pydantic import BaseModel, ValidationError

from evalkit.calls import HOOK_FAILURES
from evalkit.column_plans import plan_of
from evalkit.columns import is_storable, is_text_only, to_series
from evalkit.errors import DataError, EvalkitError, PluginError, SchemaError
from evalkit.example_cells import read_cells
from evalkit.file_formats import Format, detect_format
from evalkit.ids import EXAMPLE_ID_KEYS, read_id
from evalkit.json_lines import read_json_rows
from evalkit.json_tables import read_json_table
from evalkit.registry import Bound
from evalkit.rows import Row
from evalkit.sources import Source, locate, sha256_of
from evalkit.table_files import holds_integers, read_frames
from evalkit.violations import Violation, describe, few, from_pydantic, shorten

Rows = list[Mapping[str, Any]]

_HASHED_ROWS = 65_536
"""Rows that are written as JSON at a time to be hashed."""


class ExampleRows(NamedTuple):
    """The rows of a split as they were loaded."""

    frame: pl.DataFrame
    """One column for each key; once ids are checked, with `uid` as text."""
    rows: Rows | None = None
    """The rows as dicts, where they came so."""
    path: Path | None = None
    """The file that they were read from, where they came from one."""
    lines: Sequence[int] | NDArray[np.int64] | None = None
    """The line of each row in that file."""
    nested: Mapping[str, Sequence[Any]] = {}
    """Values of those columns of the frame that hold other values as JSON text."""

    def where(self, position: int) -> str:
        """Say which row is meant: its line in a file, or its number."""
        if self.lines is None:
            return f"example {position + 1}"
        return f"line {self.lines[position]}"

    def source(self, dataset: Bound) -> str:
        """Say where the rows come from: data set, distribution, version and file."""
        origin = dataset.component.origin
        return f"{origin}: {self.path}" if self.path else origin

    def as_they_came(self) -> Iterator[Mapping[str, Any]]:
        """Give the rows as dicts, without keys that a row of a JSON file lacks."""
        if self.rows is not None:
            yield from self.rows
        elif self.path is not None and self.lines is not None:
            yield from (row.values or {} for row in read_json_rows(self.path))
        else:
            yield from self.frame.iter_rows(named=True)

    def named(self) -> Iterator[Mapping[str, Any]]:
        """Give the rows as dicts, with `uid` as text."""
        for uid, row in zip(self.frame["uid"], self.as_they_came(), strict=True):
            yield {**row, "uid": uid}


def load_rows(dataset: Bound, task: Bound, split: str) -> ExampleRows:
    """Load the rows of a split and check their ids.

    Args:
        dataset: The data set.
        task: Its task.
        split: Name of the split.

    Returns:
        The rows.

    Raises:
        DataError: The split is unknown, cannot be loaded, or is empty.
        SchemaError: Rows cannot be read, lack an id, or repeat one.
    """
    splits = dataset.attributes["splits"]
    if split not in splits:
        raise DataError(
            f"{dataset.component.id} has no split {split!r}; it has {', '.join(splits)}"
        )
    try:
        loaded = _materialise(dataset, task, dataset.hooks.load(split=split))
    except EvalkitError:
        raise
    except HOOK_FAILURES as error:
        raise DataError(
            f"{dataset.component.origin}: load({split!r}) failed with "
            f"{type(error).__name__}: {error}"
        ) from error
    if loaded.frame.is_empty():
        raise DataError(f"{loaded.source(dataset)}: split {split!r} has no examples")
    return _with_ids(dataset, loaded)


def _materialise(dataset: Bound, task: Bound, loaded: Any) -> ExampleRows:
    if isinstance(loaded, pl.LazyFrame):
        return ExampleRows(loaded.collect())
    if isinstance(loaded, pl.DataFrame):
        return ExampleRows(loaded)
    if hasattr(loaded, "__arrow_c_stream__"):
        return ExampleRows(pl.DataFrame(loaded))
    if isinstance(loaded, str | Path):
        return _read_file(dataset, task, Path(loaded))
    if not isinstance(loaded, Iterable):
        raise DataError(
            f"{dataset.component.origin}: load returned {type(loaded).__name__}; it "
            "must return a polars frame, an Arrow table, a path or an iterable of dicts"
        )
    rows = list(loaded)
    for number, row in enumerate(rows, start=1):
        if not isinstance(row, Mapping):
            raise DataError(
                f"{dataset.component.origin}: example {number} is {shorten(row)}, not "
                "a dict"
            )
    return _with_frame(dataset, ExampleRows(pl.DataFrame(), rows))


def _read_file(dataset: Bound, task: Bound, path: Path) -> ExampleRows:
    kind = detect_format(path)
    if kind is Format.JSON_LINES:
        table = read_json_table(path)
        if table is not None and not _lacks_ids(table[0]):
            return ExampleRows(table[0], None, path, table[1])
        return _rows_of_file(dataset, path, read_json_rows(path))
    if kind in (Format.CSV, Format.TSV):
        return _rows_of_file(dataset, path, read_cells(task, path, kind))
    if kind is Format.PLAIN:
        raise DataError(
            f"{path}: examples cannot be read from plain lines, which hold no ids; "
            "give JSON lines, CSV, TSV, Parquet or Arrow"
        )
    frames = list(read_frames(path, kind))
    return ExampleRows(pl.concat(frames) if frames else pl.DataFrame(), None, path)


def _lacks_ids(frame: pl.DataFrame) -> bool:
    """Tell whether ids have to be looked for row by row."""
    key = next((key for key in EXAMPLE_ID_KEYS if key in frame.columns), None)
    return key is None or frame[key].null_count() > 0


def _rows_of_file(dataset: Bound, path: Path, found: Iterable[Row]) -> ExampleRows:
    rows: Rows = []
    lines: list[int] = []
    problems = []
    for row in found:
        if row.values is None:
            problems.append(f"line {row.line}: {row.problem}")
        else:
            rows.append(row.values)
            lines.append(row.line)
    if problems:
        raise SchemaError(f"{dataset.component.origin}: {path}: {few(problems)}")
    return _with_frame(dataset, ExampleRows(pl.DataFrame(), rows, path, lines))


def _with_frame(dataset: Bound, loaded: ExampleRows) -> ExampleRows:
    rows = loaded.rows or []
    names = dict.fromkeys(key for row in rows for key in row)
    columns = []
    nested = {}
    for name in names:
        values = [row.get(name) for row in rows]
        try:
            column = to_series(name, values)
        except ValueError as error:
            position = [is_storable(value) for value in values].index(False)
            raise SchemaError(
                f"{loaded.source(dataset)}: {loaded.where(position)}: {name}: must be "
                f"a value that can be stored, found {shorten(values[position])}"
            ) from error
        columns.append(column)
        if column.dtype == pl.String and name != "uid" and not is_text_only(values):
            nested[column.name] = values
    return loaded._replace(frame=pl.DataFrame(columns), nested=nested)


def _with_ids(dataset: Bound, loaded: ExampleRows) -> ExampleRows:
    columns = loaded.frame.columns
    keys = [key for key in EXAMPLE_ID_KEYS if key in columns]
    if not keys:
        raise SchemaError(
            f"{loaded.source(dataset)}: examples have no id; the key is 'uid', the "
            f"data has {', '.join(columns)}"
        )
    given = loaded.frame[keys[0]]
    if isinstance(given.dtype, pl.Decimal) and holds_integers(given.dtype):
        whole = loaded.frame.with_columns(given.cast(pl.String))
        loaded = loaded._replace(frame=whole)
    if loaded.rows is None and (uid := _plain_ids(loaded.frame[keys[0]])) is not None:
        return loaded._replace(frame=loaded.frame.with_columns(uid))
    ids = [read_id(row, EXAMPLE_ID_KEYS) for row in loaded.as_they_came()]
    problems = [
        f"{loaded.where(position)}: {found}"
        for position, found in enumerate(ids)
        if isinstance(found, Violation)
    ]
    problems = problems or list(_repeated(loaded, ids))
    if problems:
        raise SchemaError(f"{loaded.source(dataset)}: {few(problems)}")
    return loaded._replace(
        frame=loaded.frame.with_columns(pl.Series("uid", ids, dtype=pl.String))
    )


def _plain_ids(column: pl.Series) -> pl.Series | None:
    """Give the ids of a column that is sound as a whole; else None."""
    if column.null_count() or not (
        column.dtype.is_integer() or column.dtype == pl.String
    ):
        return None
    ids = column.cast(pl.String).alias("uid")
    is_sound = (ids.str.len_bytes() > 0).all() and ids.n_unique() == len(ids)
    return ids if is_sound else None


def _repeated(loaded: ExampleRows, ids: Sequence[object]) -> Iterator[str]:
    first: dict[object, int] = {}
    for position, uid in enumerate(ids):
        earlier = first.setdefault(uid, position)
        if earlier != position:
            yield (
                f"{loaded.where(position)}: uid {uid!r} was given before, at "
                f"{loaded.where(earlier)}"
            )


def check_inputs(dataset: Bound, task: Bound, loaded: ExampleRows) -> None:
    """Check that every row has the shape of the task's `Input`.

    Args:
        dataset: The data set.
        task: Its task.
        loaded: The rows.

    Raises:
        SchemaError: Rows break it.
        PluginError: The task's own validators failed.
    """
    model: type[BaseModel] = task.attributes["Input"]
    accepted = _accepted(model, loaded.frame.drop(loaded.nested))
    if accepted is not None and accepted.all():
        return
    problems = []
    for position, row in enumerate(loaded.named()):
        if accepted is not None and accepted[position]:
            continue
        try:
            model.model_validate(row)
        except ValidationError as error:
            problems.append(
                f"{loaded.where(position)} (uid {row['uid']!r}): "
                f"{describe(from_pydantic(error))}"
            )
        except Exception as error:
            raise PluginError(
                f"{task.component.origin}: Input failed for the example "
                f"{row['uid']!r} with {type(error).__name__}: {error}"
            ) from error
    if problems:
        raise SchemaError(
            f"{loaded.source(dataset)}: {len(problems)} of {loaded.frame.height} "
            f"examples break the input of the task {task.component.name}: "
            f"{few(problems)}"
        )


def _accepted(model: type[BaseModel], frame: pl.DataFrame) -> pl.Series | None:
    """Tell which rows surely have the shape of a model; None where all must be asked.

    Columns that are not there are left to the model, which may have a default.
    """
    plan = plan_of(model, apart=EXAMPLE_ID_KEYS)
    if plan is None or plan.forbids_undeclared:
        return None
    empty = [
        pl.lit(None, dtype=column.dtype).alias(name)
        for name, column in plan.columns.items()
        if name not in frame.columns
    ]
    return plan.passes(frame.with_columns(empty))


def fingerprint(
    dataset: Bound, loaded: ExampleRows
) -> tuple[str, tuple[Mapping[str, str], ...], tuple[str, ...]]:
    """Identify the data.

    Args:
        dataset: The data set.
        loaded: Its rows.

    Returns:
        SHA-256 of the data, name and SHA-256 of each file that it came from, and
        notices about files that are not the published ones.

    Raises:
        DataError: A column of data that came from no file cannot be hashed.
    """
    sources: Mapping[str, Source] = dataset.attributes["sources"]
    notices: list[str] = []
    files: list[Mapping[str, str]] = []
    if loaded.path is not None:
        files.append({"name": loaded.path.name, "sha256": sha256_of(loaded.path)})
    used = getattr(dataset.plugin, "located_files", None) or {
        filename: locate(dataset.component.name, filename, source)
        for filename, source in sources.items()
    }
    for filename, source in sources.items():
        if filename not in used:
            continue
        found = sha256_of(used[filename])
        files.append({"name": filename, "sha256": found})
        if source.sha256 and found != source.sha256:
            notices.append(
                f"{filename} is not the published file (its SHA-256 is {found[:12]}…)"
            )
    digest = hashlib.sha256()
    if files:
        digest.update(json.dumps(files, sort_keys=True).encode())
    else:
        _hash_frame(digest, dataset, loaded)
    return digest.hexdigest(), tuple(files), tuple(notices)


def _hash_frame(digest: Any, dataset: Bound, loaded: ExampleRows) -> None:
    """Hash rows as JSON lines, which do not tell how a frame is laid out in memory."""
    for name, dtype in loaded.frame.schema.items():
        if not _is_hashable(dtype):
            raise DataError(
                f"{loaded.source(dataset)}: the column {name!r} holds values of the "
                f"type {dtype}, by which data cannot be identified"
            )
    plain = loaded.frame.with_columns(
        pl.col(pl.Binary).bin.encode("hex"),
        # JSON has no NaN or infinity
        pl.col(pl.Float32, pl.Float64).cast(pl.String),
    )
    for part in plain.iter_slices(_HASHED_ROWS):
        digest.update(part.write_ndjson().encode())


def _is_hashable(dtype: pl.DataType | DataTypeClass, is_nested: bool = False) -> bool:
    if isinstance(dtype, pl.List | pl.Array):
        return _is_hashable(dtype.inner, True)
    if isinstance(dtype, pl.Struct):
        return all(_is_hashable(field.dtype, True) for field in dtype.fields)
    return dtype != pl.Object and not (is_nested and dtype == pl.Binary)
