"""Writes rows of inputs to a file, in the format that its suffix names."""

from __future__ import annotations

import io
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evalkit.base.files import make_folder
from evalkit.base.json_text import json_lines, json_text
from evalkit.errors import SchemaError, StorageError
from evalkit.places import file_to_write
from evalkit.reporting import new_file

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
    """Write rows to a file, which appears when it is whole."""
    with file_to_write(path, overwrite=overwrite) as place:
        chunks = _chunks(rows, names, place)
        try:
            make_folder(place.parent)
        except OSError as error:
            reason = error.strerror
            raise StorageError(f"{place}: cannot be written: {reason}") from error
        with new_file(place, overwrite=overwrite) as part, part.open("wb") as stream:
            stream.writelines(chunks)
    return place


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
    return value if value is None or isinstance(value, str) else json_text(value)


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
