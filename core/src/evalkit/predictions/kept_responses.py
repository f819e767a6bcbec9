"""Responses as a model gave them, in the form in which a run keeps them.

A file of text is kept line by line, so that it is read again in the same way; a table
is kept as it is, and rows of Python as lines of JSON.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from json import dumps
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa

from evalkit.errors import DataError
from evalkit.reading.files import TABLES
from evalkit.reading.formats import detect_format
from evalkit.reading.given_rows import local_path
from evalkit.reading.json_lines import is_utf8, series_of
from evalkit.reading.sharded import ShardedPath
from evalkit.reading.streams import LineBlock, line_blocks
from evalkit.reading.tables import read_frames

LINE = "(line)"
"""The only column of responses that are lines of text."""

_COMPRESSED = (".gz", ".zst", ".zstd")
_OF_ROWS = "responses.jsonl"

Responses = str | Path | pl.DataFrame | Sequence[Mapping[str, Any]]


def keep_responses(responses: Responses) -> pl.DataFrame | None:
    """Return responses as a table that a run keeps."""
    if isinstance(responses, pl.DataFrame):
        if pl.Object not in responses.dtypes:
            return responses
        responses = responses.to_dicts()
    if not isinstance(responses, str | Path):
        try:
            texts = [*map(partial(dumps, ensure_ascii=False, default=str), responses)]
        except ValueError:
            return None
        # half a surrogate pair becomes JSON's \uXXXX
        rows = (text.encode("utf-8", "backslashreplace").decode() for text in texts)
        return pl.Series(LINE, [row + "\n" for row in rows], pl.String).to_frame()
    path = local_path(responses)
    if isinstance(path, ShardedPath):
        shards = [*map(keep_responses, path.shards)]
        whole = [each for each in shards if each is not None]
        if len(whole) < len(shards):
            return None
        if any(pl.Binary in each.dtypes for each in whole):  # lines that are not UTF-8
            whole = [each.cast({LINE: pl.Binary}) for each in whole]
        return pl.concat(whole)
    try:
        if detect_format(path) in TABLES:
            frames = [*read_frames(path, detect_format(path))]
            return pl.concat(frames or [pl.DataFrame()])
        read = [*map(_lines_of, line_blocks(path))]
    except (DataError, OSError):
        return None
    kind = pl.Binary if any(part.dtype == pl.Binary for part in read) else pl.String
    parts = [pl.Series([], dtype=kind), *(part.cast(kind) for part in read)]
    return pl.concat(parts).alias(LINE).to_frame()


def _lines_of(block: LineBlock) -> pl.Series:
    """Return the lines of a block with newlines; bytes where they are not UTF-8."""
    if block.is_too_long:
        raise DataError(f"line {block.first_line} is too long")
    data = block.data
    ends = np.flatnonzero(np.frombuffer(data, np.uint8) == ord("\n")) + 1
    whole = [] if data.endswith(b"\n") else [len(data)]
    offsets = np.concatenate(([0], ends, whole)).astype(np.int64)
    kind = pa.large_string() if is_utf8(data) else pa.large_binary()
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(data)]
    return series_of(pa.Array.from_buffers(kind, len(offsets) - 1, buffers))


def restore_responses(
    kept: pl.DataFrame, name: str | None, folder: Path
) -> Path | pl.DataFrame:
    """Return responses in a form that can be read as they were."""
    if kept.columns != [LINE]:
        return kept
    # a record may come from anybody: what it names stays in the folder
    found = Path(name or "").name or _OF_ROWS
    for suffix in _COMPRESSED:
        found = found.removesuffix(suffix)
    path = folder / found
    with path.open("wb") as file:
        for line in kept[LINE].cast(pl.Binary):
            file.write(line.removesuffix(b"\n") + b"\n")  # also where a shard ends
    return path
