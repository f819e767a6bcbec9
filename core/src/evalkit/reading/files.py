"""Which reader reads which format: of one row after the other, or of whole tables."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

from evalkit.errors import DataError
from evalkit.reading.delimited import read_delimited_rows
from evalkit.reading.formats import Format
from evalkit.reading.json_arrays import read_json_array
from evalkit.reading.json_lines import read_json_rows
from evalkit.reading.rows import Row
from evalkit.reading.sharded import ShardedPath

RowReader = Callable[[Path, Container[str], Sequence[str]], Iterator[Row]]
"""Reads a file row by row: its path, the columns whose cells are texts, and the columns
of which one must be there as the id."""

ROW_READERS: Mapping[Format, RowReader] = {
    Format.JSON_LINES: lambda path, texts, ids: read_json_rows(path),
    Format.JSON_ARRAY: lambda path, texts, ids: read_json_array(path),
    Format.CSV: partial(read_delimited_rows, delimiter=","),
    Format.TSV: partial(read_delimited_rows, delimiter="\t"),
}
"""The reader of each format of rows with names."""

OF_TEXTS = frozenset({Format.CSV, Format.TSV})
"""Formats whose cells are all texts."""

TABLES = frozenset({Format.PARQUET, Format.ARROW, Format.DATA_SET})
"""Formats of typed tables."""


def read_rows(
    path: Path, kind: Format, texts: Container[str], id_keys: Sequence[str]
) -> Iterator[Row]:
    """Read a file, compressed or not, row by row; rows of shards are numbered through.

    In a format without types, cells of the columns `texts` are texts; in one with a
    header, it must name one of `id_keys`, if there are any.
    """
    reader = ROW_READERS.get(kind)
    if reader is None:
        raise DataError(f"{path}: rows with names cannot be read from {kind.value}")
    if not isinstance(path, ShardedPath):
        yield from reader(path, texts, id_keys)
        return
    last = 0
    for index, shard in enumerate(path.shards):
        path.begin(index, last + 1)
        before = last
        for row in reader(shard, texts, id_keys):
            last = before + row.line
            yield row._replace(line=last)
    path.begin(len(path.shards), last + 1)
