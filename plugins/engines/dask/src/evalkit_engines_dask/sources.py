"""Files of data and predictions, their digests and the parts that they are read in."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from copy import copy
from itertools import accumulate, groupby
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from evalkit.errors import DataError
from evalkit.places import FetchedPath
from evalkit.reading.digests import BlockFacts, block_count, cut, join_blocks
from evalkit.reading.file_parts import FilePart
from evalkit.reading.formats import Format, detect_format
from evalkit.reading.given_rows import local_path
from evalkit.reading.sharded import ShardedPath, files_of
from evalkit.reading.streams import has_plain_bytes, refuse_other_than_file
from evalkit_engines_dask.buckets import Pieces

PART_BYTES = 64 << 20
"""Bytes of a part: of JSON lines, or of row groups as they are unpacked."""


Calls = Sequence[tuple[tuple[Any, ...], str]]
"""The arguments of each call of a function, and how a person names the call."""


class Source(NamedTuple):
    """A file, shards or a folder of data."""

    path: Path
    """It, of files that know their digests."""
    parts: Sequence[Path]
    bytes: int


def call_with(function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function with files that this machine has."""
    return function(*map(on_this_machine, arguments))


def read_calls(task: Any, parts: Sequence[Any], what: str, *more: Any) -> Calls:
    """Return the calls that read parts of the data or of the predictions."""
    return [
        ((task, number, part, *more), _name(part, what))
        for number, part in enumerate(parts)
    ]


def _name(part: Any, what: str) -> str:
    if not isinstance(part, FilePart):
        return str(part) if isinstance(part, Path) else what
    return f"{part} from {'row' if part.groups else 'line'} {part.first:,}"


def on_this_machine(given: Any) -> Any:
    """Return a file of a store where this machine has it; fetch what it lacks."""
    if not isinstance(given, FetchedPath) or not given.uri or given.local.exists():
        return given
    fetched = type(given)(local_path(given.uri), given.uri, given.permanent)
    vars(fetched).update(vars(given))
    return fetched


def list_blocks(path: Path) -> list[tuple[Path, int]]:
    """Return the files of a path, each with the numbers of its blocks."""
    files = [] if path.is_dir() else files_of(path)
    for file in files:
        refuse_other_than_file(file)
    return [(file, number) for file in files for number in range(block_count(file))]


def cut_source(
    path: Path, blocks: Iterable[tuple[Path, BlockFacts]], is_adapted: bool
) -> Source:
    """Cut files into parts; adapters may count lines, and get files of lines whole."""
    if path.is_dir():  # a data set, or what an adapter reads
        return Source(path, [path], PART_BYTES)
    parts: list[Path] = []
    hashed, size = [], 0
    for file, pairs in groupby(blocks, itemgetter(0)):
        own, kind = [facts for _, facts in pairs], detect_format(file)
        sha256, length = join_blocks(own), sum(block.size for block in own)
        hashed.append(FilePart.of_bytes(file, 0, 0, 1, sha256))
        if not length:
            continue
        found: Sequence[Path] = [file]
        if kind is Format.PARQUET:
            found, length = _row_groups(file, sha256)
        elif kind is Format.JSON_LINES and not is_adapted and has_plain_bytes(file):
            found = [FilePart.of_bytes(file, *each, sha256) for each in cut(own)]
        parts += found
        size += length
    whole: Path = hashed[0]
    if isinstance(path, ShardedPath):
        whole = copy(path)
        whole.shards = tuple(hashed)
    return Source(whole, parts or [files_of(path)[0]], size)


def _row_groups(file: Path, sha256: str) -> tuple[Sequence[Path], int]:
    import pyarrow.parquet

    metadata = pyarrow.parquet.read_metadata(file)
    groups = [metadata.row_group(n) for n in range(metadata.num_row_groups)]
    ends = np.cumsum([0, *(group.total_byte_size for group in groups)])
    firsts = np.cumsum([1, *(group.num_rows for group in groups)])
    starts = np.unique(ends[:-1] // PART_BYTES, return_index=True)[1]
    parts = [
        FilePart.of_row_groups(file, own.tolist(), int(firsts[own[0]]), sha256)
        for own in np.split(np.arange(len(groups)), starts[1:])
        if own.size
    ]
    return parts, int(ends[-1])


def bucketed_pieces(path: Path | None) -> Pieces:
    """Return files of Parquet as pieces that each are one bucket.

    Raises:
        DataError: The predictions are something else.
    """
    import pyarrow.parquet

    if path is None or detect_format(path) is not Format.PARQUET:
        raise DataError("bucketed predictions must be files of Parquet")
    files = files_of(path)
    rows = [pyarrow.parquet.read_metadata(file).num_rows for file in files]
    starts = accumulate(rows, initial=0)
    return [(next(starts), {number: file}) for number, file in enumerate(files)]
