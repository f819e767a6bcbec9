"""Writes rows of inputs to a file, in the format that its suffix names."""

from __future__ import annotations

import io
import json
import os
import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic_core import to_jsonable_python

from evalkit.base.synced_files import make_folder, sync_folder, write_synced
from evalkit.errors import SchemaError, StorageError
from evalkit.examples.files import local_path

if TYPE_CHECKING:
    import polars as pl

_JSON_LINES = (".jsonl", ".ndjson", ".json")
_SEPARATORS = {".csv": ",", ".tsv": "\t"}
_TABLES = (".parquet", ".arrow")
_SUFFIXES = (".jsonl", ".ndjson", *_SEPARATORS, *_TABLES)

Rows = Sequence[Mapping[str, Any]]


def write_inputs(
    rows: Rows, names: Sequence[str], path: str | Path, *, overwrite: bool
) -> Path:
    """Write rows to a file, which appears when it is whole.

    Args:
        rows: The rows.
        names: Their keys, in order.
        path: The file.
        overwrite: Whether a file that is there may be replaced.

    Returns:
        The path.

    Raises:
        SchemaError: A column has values of several types, which a table cannot hold.
        StorageError: It is there already, cannot be written, or has another suffix.
    """
    path = local_path(path)
    chunks = _chunks(rows, names, path)
    if path.is_dir() or (os.path.lexists(path) and not overwrite):
        raise _is_there(path)
    part = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    try:
        make_folder(path.parent)
        write_synced(part, chunks)
        _move(part, path, overwrite)
        sync_folder(path.parent)
    except OSError as error:
        reason = error.strerror or error
        raise StorageError(f"{path} cannot be written: {reason}") from error
    finally:
        with suppress(OSError):
            part.unlink()
    return path


def _move(part: Path, path: Path, overwrite: bool) -> None:
    if overwrite:
        part.replace(path)
        return
    try:
        os.link(part, path)
    except FileExistsError as error:  # it appeared meanwhile
        raise _is_there(path) from error


def json_lines(rows: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """Write rows as JSON lines.

    Args:
        rows: The rows.

    Yields:
        A line for each, with its end.
    """
    for row in rows:
        yield f"{_json(row)}\n"


def _is_there(path: Path) -> StorageError:
    return StorageError(
        f"{path} is there already; choose another name, or say that it may be "
        "replaced (--overwrite, overwrite=True)"
    )


def _chunks(rows: Rows, names: Sequence[str], path: Path) -> Iterable[bytes]:
    """Return the bytes of a file; those of a table are made at once."""
    suffix = path.suffix.lower()
    if suffix in _JSON_LINES:
        return (line.encode("utf-8") for line in json_lines(rows))
    if suffix in _SEPARATORS:
        return [_delimited(rows, names, _SEPARATORS[suffix])]
    if suffix in _TABLES:
        return [_table(rows, names, path, suffix)]
    raise StorageError(
        f"{path}: inputs are written to a file of the suffix {', '.join(_SUFFIXES)}"
    )


def _delimited(rows: Rows, names: Sequence[str], separator: str) -> bytes:
    """Write CSV as evalkit reads it: a list is JSON, and no value an empty cell."""
    import polars as pl

    cells = {name: [_cell(row.get(name)) for row in rows] for name in names}
    frame = pl.DataFrame(cells, schema=dict.fromkeys(names, pl.String))
    return frame.write_csv(separator=separator).encode("utf-8")


def _cell(value: Any) -> str | None:
    return value if value is None or isinstance(value, str) else _json(value)


def _table(rows: Rows, names: Sequence[str], path: Path, suffix: str) -> bytes:
    import polars as pl

    columns = [_column(name, [row.get(name) for row in rows], path) for name in names]
    frame, stream = pl.DataFrame(columns), io.BytesIO()
    if suffix == ".parquet":
        frame.write_parquet(stream)
    else:
        frame.write_ipc(stream)
    return stream.getvalue()


def _column(name: str, values: list[Any], path: Path) -> pl.Series:
    import polars as pl

    try:
        return pl.Series(name, values, strict=True)
    except (TypeError, OverflowError, pl.exceptions.PolarsError) as error:
        raise SchemaError(
            f"{path}: {name}: has values of several types, which a table cannot hold; "
            "write .jsonl"
        ) from error


def _json(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, default=to_jsonable_python)
    # half of a surrogate pair is written as JSON escapes it
    return text.encode("utf-8", "backslashreplace").decode("utf-8")
