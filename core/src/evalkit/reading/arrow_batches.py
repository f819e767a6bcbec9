"""Reads Parquet and Arrow files as batches of Arrow, in bounded memory."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from evalkit.reading.expansion import Expansion
from evalkit.reading.formats import Format

BATCH_ROWS = 100_000
"""Rows of a batch of Parquet."""

BATCH_BYTES = 64 << 20
"""Bytes of such a batch, beyond which it has fewer rows."""

PIECE_ROWS = 1_000
"""Rows of Parquet that are unpacked at once: a text that is stored once may be in each
of them."""


def read_batches(path: Path, kind: Format) -> Iterator[Any]:
    """Read a file in batches.

    Args:
        path: The file.
        kind: `PARQUET` or `ARROW`.

    Yields:
        Each `pyarrow.RecordBatch`, unchecked.

    Raises:
        DataError: It unpacks to too much.
        pyarrow.ArrowException: It cannot be read.
    """
    return _BATCHES[kind](path, Expansion(path))


def _parquet_batches(path: Path, expansion: Expansion) -> Iterator[Any]:
    import pyarrow as pa
    import pyarrow.parquet

    pieces: list[Any] = []
    rows = size = 0
    with pyarrow.parquet.ParquetFile(path) as file:
        for piece in file.iter_batches(batch_size=PIECE_ROWS, use_threads=False):
            unpacked = unpacked_bytes(piece)
            expansion.add(unpacked)
            pieces.append(piece)
            rows, size = rows + piece.num_rows, size + unpacked
            if rows >= BATCH_ROWS or size >= BATCH_BYTES:
                yield from pa.Table.from_batches(pieces).combine_chunks().to_batches()
                pieces, rows, size = [], 0, 0
    if pieces:
        yield from pa.Table.from_batches(pieces).combine_chunks().to_batches()


def _arrow_batches(path: Path, expansion: Expansion) -> Iterator[Any]:
    for batch in _stored_batches(path):
        expansion.add(unpacked_bytes(batch))
        yield batch


def _stored_batches(path: Path) -> Iterator[Any]:
    import pyarrow as pa

    with pa.OSFile(os.fspath(path)) as file:
        is_file = file.read(6) == b"ARROW1"
        file.seek(0)
        if is_file:
            reader = pa.ipc.open_file(file)
            yield from map(reader.get_batch, range(reader.num_record_batches))
        else:
            yield from pa.ipc.open_stream(file)


_BATCHES: Mapping[Format, Callable[[Path, Expansion], Iterator[Any]]] = {
    Format.PARQUET: _parquet_batches,
    Format.ARROW: _arrow_batches,
}


def unpacked_bytes(batch: Any) -> int:
    """Return the bytes of an Arrow batch whose texts are all written out.

    Args:
        batch: The `pyarrow.RecordBatch`.
    """
    return sum(map(_bytes_of, batch.columns))


def _bytes_of(column: Any) -> int:
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
