"""Digests of files: the SHA-256 of a block, or of the SHA-256 of several."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from evalkit.reading.streams import BLOCK_BYTES as READ_BYTES
from evalkit.reading.streams import count_newlines

BLOCK_BYTES = 64 << 20

_CHUNK_BYTES = 1 << 18  # larger ones take memory anew each time


class BlockFacts(NamedTuple):
    """What is known of a block once it was read."""

    sha256: bytes
    newlines: int
    first_newline: int | None
    """Its place in the block."""
    ends_with_newline: bool
    size: int


def block_count(path: Path) -> int:
    """Return how many blocks a file has; an empty one has one."""
    return max(1, -(-path.stat().st_size // BLOCK_BYTES))


def read_block(path: Path, number: int) -> BlockFacts:
    """Hash a block, the first with the number 0, and count its newlines."""
    digest, newlines, size, last = hashlib.sha256(), 0, 0, b""
    first: int | None = None
    with path.open("rb") as stream:
        stream.seek(number * BLOCK_BYTES)
        while chunk := stream.read(min(_CHUNK_BYTES, BLOCK_BYTES - size)):
            digest.update(chunk)
            newlines += count_newlines(chunk)
            if first is None and newlines:
                first = size + chunk.find(b"\n")
            size, last = size + len(chunk), chunk
    return BlockFacts(digest.digest(), newlines, first, last.endswith(b"\n"), size)


def join_blocks(blocks: Sequence[BlockFacts]) -> str:
    """Return the digest of a file, as hex digits."""
    if len(blocks) == 1:
        return blocks[0].sha256.hex()
    return hashlib.sha256(b"".join(block.sha256 for block in blocks)).hexdigest()


def file_digest(path: Path) -> str:
    """Return what `join_blocks` does of all blocks of a file."""
    return join_blocks([read_block(path, n) for n in range(block_count(path))])


def cut(blocks: Sequence[BlockFacts]) -> list[tuple[int, int, int]]:
    r"""Cut a file of lines where its blocks begin.

    Returns:
        For each block in which a line begins: the first byte and the end of the lines
        that begin in it, and the number of the first. A file whose first line is longer
        than what is read at once is one part, as "\r" may end its lines.
    """
    first = blocks[0].first_newline
    is_whole = first is None or first >= READ_BYTES
    begun, at, line, is_begin = [(0, 1)], 0, 1, False
    for block in () if is_whole else blocks:
        first = block.first_newline
        if at and is_begin:
            begun.append((at, line))
        elif at and first is not None and first + 1 < block.size:
            begun.append((at + first + 1, line + 1))
        at, line = at + block.size, line + block.newlines
        is_begin = block.ends_with_newline
    stops = [*(start for start, _ in begun[1:]), sum(block.size for block in blocks)]
    return [(start, stop, n) for (start, n), stop in zip(begun, stops, strict=True)]
