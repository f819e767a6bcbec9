"""Which reader reads which format: of one row after the other, or of whole tables."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping
from functools import partial
from pathlib import Path

from evalkit.errors import DataError
from evalkit.reading.delimited import read_delimited_rows
from evalkit.reading.formats import DELIMITERS, Format
from evalkit.reading.json_arrays import read_json_array
from evalkit.reading.json_lines import read_json_rows
from evalkit.reading.rows import Row
from evalkit.reading.sharded import ShardedPath

RowReader = Callable[[Path, Container[str]], Iterator[Row]]
"""Reads a file row by row: its path, and the columns whose cells are texts."""

ROW_READERS: Mapping[Format, RowReader] = {
    Format.JSON_LINES: lambda path, texts: read_json_rows(path),
    Format.JSON_ARRAY: lambda path, texts: read_json_array(path),
    **{
        kind: partial(read_delimited_rows, delimiter=delimiter)
        for kind, delimiter in DELIMITERS.items()
    },
}
"""The reader of each format of rows with names."""

TABLES = frozenset({Format.PARQUET, Format.ARROW, Format.DATA_SET})
"""Formats of typed tables."""


def read_rows(path: Path, kind: Format, texts: Container[str]) -> Iterator[Row]:
    """Read a file, compressed or not, row by row; rows of shards are numbered through.

    In a format without types, cells of the columns `texts` are texts.
    """
    reader = ROW_READERS.get(kind)
    if reader is None:
        raise DataError(f"{path}: rows with names cannot be read from {kind.value}")
    if not isinstance(path, ShardedPath):
        yield from reader(path, texts)
        return
    last = 0
    for index, shard in enumerate(path.shards):
        path.begin(index, last + 1)
        before = last
        for row in reader(shard, texts):
            last = before + row.line
            yield row._replace(line=last)
    path.begin(len(path.shards), last + 1)
