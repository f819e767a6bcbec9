r"""Reads files, compressed or not, as blocks of whole lines in bounded memory.

Lines end at "\n" only, and at "\r" in a file without any "\n": other line separators
occur inside real texts. A byte-order mark and a missing final newline are no errors. A
file that unpacks to very many more bytes than it has is refused.
"""

from __future__ import annotations

import codecs
import io
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np

from evalkit.errors import DataError
from evalkit.reading.file_parts import FilePart, first_number

BLOCK_BYTES = 4 << 20
"""Bytes that are read at once."""

MOST_LINE_BYTES = 64 << 20
"""The longest line that is read; a longer one is skipped and reported."""

FREE_BYTES = 1 << 30
"""Bytes that any file may unpack to."""

MOST_TIMES = 200
"""How many times its own size a file may unpack to beyond them."""

_NEWLINE = 10
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_GZIP_MAGIC = b"\x1f\x8b"
_ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"


class Expansion:
    """Counts what a file has unpacked to so far."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._most = max(FREE_BYTES, MOST_TIMES * path.stat().st_size)
        self._bytes = 0

    def add(self, count: int) -> None:
        """Count some bytes more; raise DataError where they are too many."""
        self._bytes += count
        if self._bytes > self._most:
            raise DataError(
                f"{self._path}: it unpacks to more than {FREE_BYTES >> 20:,} MiB and "
                f"{MOST_TIMES} times its size; where that is right, unpack it to "
                "JSON lines before"
            )


class _CountedStream:
    """A stream of unpacked bytes, which are counted as they are read."""

    def __init__(self, stream: Any, path: Path) -> None:
        self._stream, self._expansion = stream, Expansion(path)

    def read(self, size: int) -> bytes:
        found: bytes = self._stream.read(size)
        self._expansion.add(len(found))
        return found


class _Utf16Stream:
    """A stream of UTF-16 as one of UTF-8."""

    def __init__(self, stream: IO[bytes], path: Path) -> None:
        self._stream, self._path = stream, path
        self._decoder = codecs.getincrementaldecoder("utf-16")()

    def read(self, size: int) -> bytes:
        text, part = "", b" "
        try:
            while part and not text:
                part = self._stream.read(size)
                text = self._decoder.decode(part, final=not part)
        except UnicodeDecodeError as error:
            rule = f"must be UTF-16, as its first bytes say ({error.reason})"
            raise DataError(f"{self._path}: {rule}") from error
        return text.encode()


class LineBlock(NamedTuple):
    """Consecutive whole lines of a file."""

    first_line: int
    """Number of the first line, from 1."""
    data: bytes
    """The lines; the last one of a file may lack its newline."""
    is_too_long: bool = False
    """Whether this is the beginning of a single line beyond `MOST_LINE_BYTES`."""


@contextmanager
def open_bytes(path: Path) -> Iterator[IO[bytes]]:
    """Open a file for reading; decompress gzip and Zstandard, make UTF-8 of UTF-16."""
    refuse_other_than_file(path)
    try:
        with path.open("rb") as raw:
            magic = raw.read(4)
            raw.seek(0)
            yield _decompressed(path, raw, magic)
    except (EOFError, zlib.error) as error:
        raise DataError(f"{path}: its compressed data are damaged: {error}") from error
    except OSError as error:
        reason = error.strerror or error
        raise DataError(f"{path}: cannot be read: {reason}") from error


def has_plain_bytes(path: Path) -> bool:
    """Tell whether a file is neither compressed nor UTF-16, so that it can be cut."""
    with open_bytes(path) as stream:
        return isinstance(stream, io.BufferedReader)


def _decompressed(path: Path, raw: IO[bytes], magic: bytes) -> Any:
    if magic.startswith(_GZIP_MAGIC):
        import gzip

        return _CountedStream(gzip.GzipFile(fileobj=raw), path)
    if magic == _ZSTD_MAGIC:
        import pyarrow

        return _CountedStream(pyarrow.CompressedInputStream(raw, "zstd"), path)
    is_utf16 = magic.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    return _Utf16Stream(raw, path) if is_utf16 else raw


def refuse_other_than_file(path: Path) -> None:
    """Raise DataError for a path that is missing, a folder, a pipe or a device."""
    try:
        if path.is_file():
            return
        if path.is_dir():
            raise DataError(f"{path}: is a folder, not a file")
        exists = path.exists()
    except OSError as error:
        reason = error.strerror or error
        raise DataError(f"{path}: cannot be read: {reason}") from error
    if not exists:
        raise DataError(f"{path}: there is no such file")
    raise DataError(
        f"{path}: is a pipe or a device, which can be read only once; write it to a "
        "file first, or give `-` and send it to the standard input"
    )


def line_blocks(path: Path) -> Iterator[LineBlock]:
    """Read a file as blocks of whole lines; gzip and Zstandard are decompressed."""
    with open_bytes(path) as stream:
        line = first_number(path)
        for data, is_too_long in _whole_lines(_chunks(stream, path)):
            yield LineBlock(line, data, is_too_long)
            line += 1 if is_too_long else count_newlines(data)


def count_newlines(data: bytes) -> int:
    """Count newlines; bytes.count is slower where lines are short."""
    return int(np.count_nonzero(np.frombuffer(data, np.uint8) == _NEWLINE))


def _chunks(stream: IO[bytes], path: Path) -> Iterator[bytes]:
    at, stop, has_returns = 0, sys.maxsize, False
    if isinstance(path, FilePart):
        at, stop = stream.seek(path.start), path.stop
    while chunk := read_up_to(stream, min(BLOCK_BYTES, stop - at)):
        before, at = at, at + len(chunk)
        if not before:
            chunk = chunk.removeprefix(_BYTE_ORDER_MARK)
            has_returns = b"\r" in chunk[:-1] and b"\n" not in chunk  # of old computers
        yield chunk.replace(b"\r", b"\n") if has_returns else chunk


def read_up_to(stream: IO[bytes], size: int) -> bytes:
    """Read as many bytes as are there; decompressors give fewer at a time."""
    parts = []
    while size > 0 and (part := stream.read(size)):
        parts.append(part)
        size -= len(part)
    return parts[0] if len(parts) == 1 else b"".join(parts)


def _whole_lines(chunks: Iterator[bytes]) -> Iterator[tuple[bytes, bool]]:
    """Cut chunks at their last newline; say which line is too long to be held."""
    begun: list[bytes] = []
    held = 0
    for chunk in chunks:
        end = chunk.find(b"\n") if held else -1
        rest = len(chunk) if end < 0 else end
        if held and held + rest > MOST_LINE_BYTES:
            pieces = (piece[:1000] for piece in (*begun, chunk[:rest]))
            begun, held = [b"".join(pieces)[:1000]], held + rest
            if end < 0:
                continue
            yield begun[0], True
            begun, held, chunk = [], 0, chunk[end + 1 :]
        cut = chunk.rfind(b"\n") + 1
        if cut:
            # a view, as joining copies the bytes anyway
            yield b"".join((*begun, memoryview(chunk)[:cut])), False
            begun, held = [], 0
        if cut < len(chunk):
            begun.append(chunk[cut:])
            held += len(begun[-1])
    if held:
        yield b"".join(begun), held > MOST_LINE_BYTES
