"""Digests by blocks do not depend on who reads which block, nor cuts on the blocks."""

import hashlib
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalkit import evaluate
from evalkit.catalog import data_sha256
from evalkit.reading import digests
from evalkit.reading.digests import (
    block_count,
    cut,
    file_digest,
    join_blocks,
    read_block,
)
from evalkit.reading.file_parts import FilePart

BLOCK = 64
LINE = b"a" * 15 + b"\n"
LONG = b"b" * 127 + b"\n"


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(digests, "BLOCK_BYTES", BLOCK)
    monkeypatch.setattr(digests, "_CHUNK_BYTES", 24)
    monkeypatch.setattr(digests, "READ_BYTES", 40)


def digest_of(content: bytes) -> str:
    starts = range(0, len(content), BLOCK) if len(content) > BLOCK else ()
    blocks = [hashlib.sha256(content[at : at + BLOCK]).digest() for at in starts]
    return hashlib.sha256(b"".join(blocks) or content).hexdigest()


@pytest.mark.usefixtures("small_blocks")
@given(
    st.lists(
        st.sampled_from([b"\n", b"\r\n", LINE, LINE * 4, LONG, b"c" * 150, b"\r"])
    ).map(b"".join)
)
def test_blocks_make_the_digest_and_parts_that_are_the_file(
    tmp_path_factory: pytest.TempPathFactory, content: bytes
) -> None:
    path = tmp_path_factory.getbasetemp() / "p.jsonl"
    path.write_bytes(content)
    blocks = [read_block(path, n) for n in range(block_count(path))]
    assert join_blocks(blocks) == file_digest(path) == digest_of(content)
    assert sum(block.newlines for block in blocks) == content.count(b"\n")
    ranges = cut(blocks)
    assert [start for start, _, _ in ranges[1:]] == [s for _, s, _ in ranges[:-1]]
    assert (ranges[0][0], ranges[-1][1]) == (0, len(content))
    assert all(content[start - 1] == ord("\n") for start, _, _ in ranges[1:])
    assert all(n == 1 + content.count(b"\n", 0, start) for start, _, n in ranges)
    if b"\n" in content[:40]:
        starts = {0, *(n + 1 for n, byte in enumerate(content[:-1]) if byte == 10)}
        assert len(ranges) == len({start // BLOCK for start in starts})


def test_a_file_whose_lines_end_as_on_old_computers_is_one_part(tmp_path: Path) -> None:
    path = tmp_path / "p.jsonl"
    content = b"{}\r" * 30 + b"\n{}\n{}\n"
    path.write_bytes(content)
    blocks = [read_block(path, n) for n in range(block_count(path))]
    assert cut(blocks) == [(0, len(content), 1)]


def test_a_run_records_them(tmp_path: Path) -> None:
    rows = [{"id": n, "statement": f"t{n}", "label": "positive"} for n in range(9)]
    content = "".join(json.dumps(row) + "\n" for row in rows).encode()
    data = tmp_path / "data.jsonl"
    data.write_bytes(content)
    record = evaluate(data, data, task="sentiment").record
    expected = digest_of(content)
    assert expected == data_sha256(data) != hashlib.sha256(content).hexdigest()
    assert [file.sha256 for file in record.data.files] == [expected]
    assert record.predictions.sha256 == expected
    part = FilePart.of_bytes(data, 0, len(content), 1, expected)
    data.write_bytes(b"")
    assert data_sha256(part) == expected
