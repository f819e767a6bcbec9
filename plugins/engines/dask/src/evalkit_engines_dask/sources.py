"""Parts of data and predictions, and what they are identified by."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import NamedTuple

import polars as pl

from evalkit.errors import DataError
from evalkit.examples.fingerprints import DataIdentity, fingerprint
from evalkit.examples.rows import ExampleRows
from evalkit.places import FetchedPath
from evalkit.plugins.bound import BoundDataset
from evalkit.reading.digests import (
    BlockFacts,
    block_count,
    cut,
    join_blocks,
    read_block,
)
from evalkit.reading.file_parts import FilePart
from evalkit.reading.formats import Format, detect_format, is_data_set
from evalkit.reading.given_rows import local_path
from evalkit.reading.sharded import files_of
from evalkit.reading.streams import has_plain_bytes, refuse_other_than_file
from evalkit_engines_dask.tasks import Tasks

PART_BYTES = 64 << 20
"""Bytes of a part: of JSON lines, or of row groups as they are unpacked."""


class Source(NamedTuple):
    """A file, or shards, with what is read of it in parts."""

    path: Path
    parts: tuple[Path, ...]
    files: tuple[int, ...]
    """Number of the file of each part."""
    hashes: tuple[Mapping[str, str], ...]
    """Name and digest of each file."""
    bytes: int


def on_this_machine(path: Path) -> Path:
    """Return a file of a store where this machine has it; fetch what it lacks."""
    if not isinstance(path, FetchedPath) or not path.uri or path.local.exists():
        return path
    fetched = type(path)(local_path(path.uri), path.uri, path.permanent)
    vars(fetched).update(vars(path))
    return fetched


def hash_block(file: Path, number: int) -> BlockFacts:
    """Hash a block of a file."""
    return read_block(on_this_machine(file), number)


def read_sources(
    engine: Tasks, paths: Sequence[Path | None], changed: Sequence[bool]
) -> list[Source | None]:
    """Hash files and cut them into parts.

    Args:
        engine: What hashes blocks.
        paths: Files, shards or folders of data; None for what is no file.
        changed: For each, whether adapters change its rows. They may count lines.

    Returns:
        For each path what is read of it.
    """
    tasks, places = [], []
    for path in filter(None, paths):
        if path.is_dir():
            continue
        for file in files_of(path):
            refuse_other_than_file(file)
            for number in range(block_count(file)):
                name = f"block {number} of {file}"
                tasks.append(engine.submit(hash_block, (file, number), name, {}))
                places.append((path, file))
    blocks: dict[tuple[Path, Path], list[BlockFacts]] = {}
    for place, facts in zip(places, engine.gather(tasks, _nothing), strict=True):
        blocks.setdefault(place, []).append(facts)
    return [
        None
        if path is None
        else _source(path, {f: b for (p, f), b in blocks.items() if p is path}, adapts)
        for path, adapts in zip(paths, changed, strict=True)
    ]


def _nothing(_place: int, _value: object) -> None:
    pass


def _source(
    path: Path, blocks: Mapping[Path, list[BlockFacts]], adapts: bool
) -> Source:
    parts: list[Path] = []
    numbers: list[int] = []
    hashes, size = [], 0
    if path.is_dir():  # a data set, or what an adapter reads
        return Source(path, (path,), (0,), (), PART_BYTES)
    for number, file in enumerate(files_of(path)):
        sha256 = join_blocks(blocks[file])
        found, unpacked = _parts_of(file, blocks[file], sha256, adapts)
        parts += found
        numbers += [number] * len(found)
        hashes.append({"name": file.name, "sha256": sha256})
        size += unpacked
    return Source(path, tuple(parts), tuple(numbers), tuple(hashes), size)


def _parts_of(
    file: Path, blocks: Sequence[BlockFacts], sha256: str, adapts: bool
) -> tuple[list[Path], int]:
    """Return parts of a file, which know its digest, and its bytes."""
    kind, size = detect_format(file), sum(each.size for each in blocks)
    if kind is Format.PARQUET:
        return _row_groups(file, sha256)
    if adapts or kind is not Format.JSON_LINES or not has_plain_bytes(file):
        return [file], size
    return [FilePart.of_bytes(file, *each, sha256) for each in cut(blocks)], size


def _row_groups(file: Path, sha256: str) -> tuple[list[Path], int]:
    import pyarrow.parquet

    metadata = pyarrow.parquet.read_metadata(file)
    parts: list[Path] = []
    groups: list[int] = []
    first, rows, size, total = 1, 0, 0, 0
    for number in range(metadata.num_row_groups):
        group = metadata.row_group(number)
        groups.append(number)
        rows, size = rows + group.num_rows, size + group.total_byte_size
        if size >= PART_BYTES or number == metadata.num_row_groups - 1:
            parts.append(FilePart.of_row_groups(file, groups, first, sha256))
            total += size
            first, rows, size, groups = first + rows, 0, 0, []
    return parts or [file], total


def identify(dataset: BoundDataset, source: Source) -> DataIdentity:
    """Return what tells the data of a file from others."""
    hashes: Future[tuple[Mapping[str, str], ...]] = Future()
    hashes.set_result(source.hashes)
    known = None if is_data_set(source.path) else hashes
    return fingerprint(
        dataset, ExampleRows(pl.DataFrame(), path=source.path, hashes=known)
    )


def count_bucketed(data: Source | None, predictions: Source | None) -> int:
    """Return the number of files that each hold one bucket, of data and predictions."""
    for source in (data, predictions):
        kinds = [] if source is None else [*map(detect_format, files_of(source.path))]
        if {*kinds} != {Format.PARQUET}:
            raise DataError("bucketed data and predictions must be files of Parquet")
    assert data is not None
    assert predictions is not None
    count, other = len(files_of(data.path)), len(files_of(predictions.path))
    if count != other:
        raise DataError(
            f"bucketed data and predictions must be as many files, got {count} and "
            f"{other}"
        )
    return count


def bucketed_files(source: Source) -> list[tuple[int, Path]]:
    """Return files of Parquet, and the number of rows before each."""
    import pyarrow.parquet

    found, before = [], 0
    for file in files_of(source.path):
        found.append((before, file))
        before += pyarrow.parquet.read_metadata(file).num_rows
    return found
