"""Stand-in until the real one lands."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

BLOCK_BYTES = 64 << 20


class BlockFacts(NamedTuple):
    sha256: bytes
    newlines: int
    first_newline: int | None
    ends_with_newline: bool
    size: int


def read_block(path: Path, number: int) -> BlockFacts:
    with path.open("rb") as f:
        f.seek(number * BLOCK_BYTES)
        data = f.read(BLOCK_BYTES)
    i = data.find(b"\n")
    return BlockFacts(
        hashlib.sha256(data).digest(),
        data.count(b"\n"),
        None if i < 0 else i,
        data.endswith(b"\n"),
        len(data),
    )


def join_blocks(blocks: Sequence[BlockFacts]) -> str:
    if len(blocks) == 1:
        return blocks[0].sha256.hex()
    return hashlib.sha256(b"".join(b.sha256 for b in blocks)).hexdigest()
