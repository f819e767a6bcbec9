import gzip
import os
import random
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalkit.errors import DataError
from evalkit.reading import streams as byte_streams
from evalkit.reading.streams import line_blocks, open_bytes

MARK = b"\xef\xbb\xbf"


def each_line(path: Path) -> Iterator[tuple[int, bytes, bool]]:
    """Give number, bytes without the end, and whether it is too long, of each line."""
    for block in line_blocks(path):
        if block.is_too_long:
            yield block.first_line, block.data, True
            continue
        lines = block.data.removesuffix(b"\n").split(b"\n")
        for number, line in enumerate(lines, start=block.first_line):
            yield number, line.removesuffix(b"\r"), False


def zstd(content: bytes) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, "zstd") as stream:
        stream.write(content)
    packed: bytes = sink.getvalue().to_pybytes()
    return packed


PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "plain": bytes,
    "gzip": gzip.compress,
    "zstd": zstd,
}


@pytest.mark.parametrize("packed", PACKERS)
@given(
    content=st.lists(
        st.sampled_from([b"\n", b"\r\n", b"a", b"bcd", MARK, b"\xe2\x80\xa8"]),
        max_size=40,
    ).map(b"".join),
    block_bytes=st.integers(3, 20),
)
def test_blocks_are_whole_lines_and_together_the_file(
    tmp_path_factory: pytest.TempPathFactory,
    packed: str,
    content: bytes,
    block_bytes: int,
) -> None:
    path = tmp_path_factory.getbasetemp() / "file"
    path.write_bytes(PACKERS[packed](content))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(byte_streams, "BLOCK_BYTES", block_bytes)
        blocks = list(line_blocks(path))
        lines = list(each_line(path))
    kept = content.removeprefix(MARK)
    assert b"".join(block.data for block in blocks) == kept
    assert all(block.data.endswith(b"\n") for block in blocks[:-1])
    before = 0
    for block in blocks:
        assert block.first_line == 1 + before
        assert not block.is_too_long
        before += block.data.count(b"\n")
    expected = kept.split(b"\n")
    if expected[-1] == b"":
        expected.pop()
    assert lines == [
        (number, line.removesuffix(b"\r"), False)
        for number, line in enumerate(expected, start=1)
    ]


@pytest.mark.parametrize("block_bytes", [7, 10, 49])
def test_a_line_beyond_the_limit_is_skipped_and_counted(
    tmp_path: Path, block_bytes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(byte_streams, "BLOCK_BYTES", block_bytes)
    monkeypatch.setattr(byte_streams, "MOST_LINE_BYTES", 50)
    long = b"x" * 2000
    path = tmp_path / "file"
    path.write_bytes(b"\n".join([b"a", long, b"b", long, long, b"", b"c", long]))
    lines = list(each_line(path))
    assert [number for number, _, _ in lines] == list(range(1, 9))
    assert [number for number, _, is_too_long in lines if is_too_long] == [2, 4, 5, 8]
    for _, line, is_too_long in lines:
        assert long.startswith(line) if is_too_long else line in (b"a", b"b", b"", b"c")
        assert len(line) <= 1000


@pytest.mark.parametrize("name", ["gzip", "zstd"])
class TestDamage:
    CONTENT = bytes(random.Random(0).randbytes(50_000))

    def test_cut_data_are_refused_wherever_they_are_cut(
        self, tmp_path: Path, name: str
    ) -> None:
        packed = PACKERS[name](self.CONTENT)
        path = tmp_path / "file"
        for length in (5, 12, 100, len(packed) // 2, len(packed) - 1):
            path.write_bytes(packed[:length])
            with pytest.raises(DataError) as caught:
                list(line_blocks(path))
            message = str(caught.value)
            assert message.startswith(f"{path}: ")
            assert "damaged" in message or "cannot be read" in message

    def test_what_follows_the_data_is_refused(self, tmp_path: Path, name: str) -> None:
        path = tmp_path / "file"
        path.write_bytes(PACKERS[name](b"a\nb\n") + b"garbage")
        with pytest.raises(DataError, match="cannot be read"):
            list(line_blocks(path))

    def test_several_packed_parts_are_one_file(self, tmp_path: Path, name: str) -> None:
        path = tmp_path / "file"
        path.write_bytes(PACKERS[name](b"a\nb") + PACKERS[name](b"c\n"))
        assert [line for _, line, _ in each_line(path)] == [b"a", b"bc"]

    def test_flipped_bits_are_refused_or_read_but_never_crash(
        self, tmp_path: Path, name: str
    ) -> None:
        generator = random.Random(1)
        packed = PACKERS[name](b'{"id": "1"}\n' * 1000)
        path = tmp_path / "file"
        refused = 0
        for _ in range(300):
            broken = bytearray(packed)
            broken[generator.randrange(4, len(broken))] ^= 1 << generator.randrange(8)
            path.write_bytes(broken)
            try:
                list(line_blocks(path))
            except DataError:
                refused += 1
        assert refused > 50


def _message(path: Path) -> str:
    with pytest.raises(DataError) as caught, open_bytes(path):
        pass
    return str(caught.value)


def test_what_is_no_ordinary_file_is_named_for_what_it_is(tmp_path: Path) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    to_zero = tmp_path / "zero.jsonl"
    to_zero.symlink_to("/dev/zero")
    assert _message(tmp_path) == f"{tmp_path}: is a folder, not a file"
    assert _message(tmp_path / "no") == f"{tmp_path / 'no'}: there is no such file"
    for path in (fifo, to_zero, Path("/dev/null")):
        assert _message(path).startswith(f"{path}: is a pipe or a device")


@pytest.mark.parametrize("path", ["x" * 5000, "a/" * 3000, "nul\0"])
def test_a_path_that_cannot_be_is_an_error(path: str) -> None:
    message = _message(Path(path))
    assert "there is no such file" in message or "cannot be read" in message


def test_a_loop_of_links_is_an_error(tmp_path: Path) -> None:
    loop = tmp_path / "loop"
    loop.symlink_to(loop)
    message = _message(loop)
    assert "there is no such file" in message or "cannot be read" in message
