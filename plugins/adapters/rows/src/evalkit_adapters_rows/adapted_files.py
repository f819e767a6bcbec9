"""Adapts a file of rows into another file."""

from __future__ import annotations

import glob
import json
from collections.abc import Callable, Iterable, Iterator
from datetime import date, time, timedelta
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl
from pydantic_core import to_jsonable_python

from evalkit.catalog import Row, local_path
from evalkit.errors import AdapterError, DataError, SchemaError
from evalkit.places import file_to_write, is_same_file
from evalkit.reporting import new_file
from evalkit_adapters_rows import Pipeline, file_frames, file_rows

Progress = Callable[[str, float], None]
"""Told what is being done, and which share of it."""

JSON_LINES, PARQUET = (".jsonl", ".ndjson"), ".parquet"


class AdaptedFile(NamedTuple):
    """How many rows were adapted."""

    read: int
    written: int


def adapt_file(
    pipeline: Pipeline,
    source: str | Path,
    target: str | Path,
    limit: int | None = None,
    progress: Progress = lambda _text, _share: None,
) -> AdaptedFile:
    """Adapt the rows of a file, and write them to another.

    A table (Parquet, Arrow) that goes to Parquet is adapted at once where each adapter
    can. The target is there when all rows are; an error leaves what was there before.
    What is no regular file, such as a symlink, is not replaced.
    """
    source = local_path(source)
    with file_to_write(target, overwrite=True) as place:
        return _adapt_to(pipeline, source, place, limit, progress)


def _adapt_to(
    pipeline: Pipeline,
    source: Path,
    target: Path,
    limit: int | None,
    progress: Progress,
) -> AdaptedFile:
    if target.suffix not in (*JSON_LINES, PARQUET):
        raise DataError(f"{target}: write to a file .jsonl or .parquet")
    if is_same_file(target, source):
        raise DataError(f"{target}: is the file that is read; write to another one")
    with new_file(target, overwrite=True) as partial:
        return _write(pipeline, source, target, partial, limit, progress)


def leftovers(target: Path) -> list[Path]:
    """Return hidden files of calls for a target that did not end, or still run."""
    found = target.parent.glob(f".{glob.escape(target.name)}[-.]*.part")
    return sorted(path for path in found if path.is_file())


def _write(
    pipeline: Pipeline,
    source: Path,
    target: Path,
    partial: Path,
    limit: int | None,
    progress: Progress,
) -> AdaptedFile:
    if target.suffix == PARQUET:
        found = _adapted_table(pipeline, source, limit)
        if found is not None:
            frame, read = found
            _write_table(frame, partial, target)
            return AdaptedFile(read, frame.height)
    counted = _Counted(rows_of(pipeline, source), source, limit, progress)
    rows = _adapted(pipeline, counted, source)
    if target.suffix == PARQUET:
        frame = _frame_of(list(rows), target)
        _write_table(frame, partial, target)
        return AdaptedFile(counted.read, frame.height)
    written = 0
    with partial.open("w", encoding="utf-8", newline="\n") as stream:
        for row in rows:
            stream.write(f"{_encode(row, source)}\n")
            written += 1
    return AdaptedFile(counted.read, written)


def _adapted_table(
    pipeline: Pipeline, source: Path, limit: int | None
) -> tuple[pl.DataFrame, int] | None:
    """Adapt a table at once; None where it must be adapted row by row."""
    read = pipeline.read_file(source)
    if read is not None and not isinstance(read, pl.DataFrame):
        return None
    frames = list(file_frames(source) or ()) if read is None else [read]
    if not frames:
        return None
    frame = pl.concat(frames)
    frame = frame if limit is None else frame.head(limit)
    numbers = pl.int_range(1, frame.height + 1, eager=True)
    found = pipeline.adapt_frame(frame, numbers)
    return None if found is None else (found, frame.height)


class _Counted:
    """Rows, counted as they are read; the first that is broken is an error."""

    def __init__(
        self, rows: Iterable[Row], source: Path, limit: int | None, progress: Progress
    ) -> None:
        self._rows, self._source = islice(rows, limit), source
        self._progress = progress
        self.read = 0

    def __iter__(self) -> Iterator[Row]:
        for row in self._rows:
            if row.values is None:
                raise SchemaError(f"{self._source}: line {row.line}: {row.problem}")
            self.read += 1
            if self.read % 10_000 == 0:
                self._progress(f"{self.read:,} rows adapted", 0.5)
            yield row


def adapted_rows(pipeline: Pipeline, source: Path, limit: int) -> Iterator[Any]:
    """Adapt the first rows of a file."""
    rows = rows_of(pipeline, source)
    counted = _Counted(rows, source, limit, lambda _text, _share: None)
    yield from _adapted(pipeline, counted, source)


def rows_of(pipeline: Pipeline, source: Path) -> Iterator[Row]:
    """Return the rows of a file, read by the first adapter where that does so."""
    read = pipeline.read_file(source)
    if read is None:
        return file_rows(source)
    if isinstance(read, pl.DataFrame):
        named = enumerate(read.iter_rows(named=True), start=1)
        return (Row(number, values) for number, values in named)
    return read


def _adapted(pipeline: Pipeline, rows: Iterable[Row], source: Path) -> Iterator[Any]:
    is_read = pipeline.reads_files or file_frames(source) is not None
    unit = "row" if is_read else "line"
    for number, row in enumerate(rows, start=1):
        try:
            yield from pipeline([dict(row.values or {})], number)
        except AdapterError as error:
            place = f"{source}: {unit} {row.line}: stage {error.stage} ({error.kind})"
            raise AdapterError(
                f"{place}: {error.problem}", field=error.field
            ) from error


def _encode(row: Any, source: Path) -> str:
    try:
        return json.dumps(row, ensure_ascii=False, allow_nan=False, default=_written)
    except (TypeError, ValueError, RecursionError) as error:
        raise SchemaError(
            f"{source}: a row cannot be written as JSON ({error}): {row!r:.80}"
        ) from error


def _written(value: Any) -> Any:
    if isinstance(value, date | time | timedelta):
        return to_jsonable_python(value)  # ISO 8601, also of a negative duration
    raise TypeError(f"{type(value).__name__} is no type of JSON; write .parquet")


def _frame_of(rows: list[Any], target: Path) -> pl.DataFrame:
    names = dict.fromkeys(name for row in rows if isinstance(row, dict) for name in row)
    if not all(isinstance(row, dict) for row in rows):
        raise SchemaError(f"{target}: rows of a table must be objects; write .jsonl")
    try:
        columns = {
            name: pl.Series([row.get(name) for row in rows], strict=True)
            for name in names
        }
    except (TypeError, OverflowError, pl.exceptions.PolarsError) as error:
        raise SchemaError(
            f"{target}: a column has values of several types ({error}); write .jsonl"
        ) from error
    for name, column in columns.items():
        for number, (row, held) in enumerate(zip(rows, column, strict=True), start=1):
            if not _is_same(row.get(name), held):
                raise SchemaError(
                    f"{target}: row {number}: {name}: {row.get(name)!r:.80} does not"
                    f" fit a column of {column.dtype}; write .jsonl"
                )
    return pl.DataFrame(columns)


def _is_same(given: Any, held: Any) -> bool:
    """Tell whether a column holds what it was given: polars changes nested values."""
    if isinstance(held, pl.Series):
        held = held.to_list()
    if isinstance(given, dict) and isinstance(held, dict):
        return given.keys() <= held.keys() and all(
            _is_same(given.get(key), value) for key, value in held.items()
        )
    if isinstance(given, list | tuple) and isinstance(held, list):
        return len(given) == len(held) and all(map(_is_same, given, held))
    if isinstance(given, bool) or isinstance(held, bool):
        return given is held
    is_nan = given != given and held != held
    return is_nan or bool(given == held)


def _write_table(frame: pl.DataFrame, partial: Path, target: Path) -> None:
    try:
        frame.write_parquet(partial)
    except pl.exceptions.PolarsError as error:
        if "(os error " in str(error):  # as with a full disk
            raise DataError(f"{target}: cannot be written: {error}") from error
        raise SchemaError(
            f"{target}: Parquet cannot hold a column ({error}); write .jsonl"
        ) from error
