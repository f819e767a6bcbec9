"""Archives (zip) of JSON files, which may be compressed by Zstandard.

Python reads that from 3.14 on; until then the bytes of a member are taken out and
decompressed here.
"""

from __future__ import annotations

import struct
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from evalkit.errors import AdapterError
from evalkit_adapters_peers.documents import parse_document

ZSTANDARD = 93
"""Number of the compression in archives."""

MOST_BYTES = 1 << 30
"""How large a member may be once it is decompressed."""

_LOCAL_HEADER = struct.Struct("<26xHH")
"""Before the bytes of a member: how long its name and its further fields are."""


@contextmanager
def open_archive(path: Path) -> Iterator[zipfile.ZipFile]:
    """Open an archive."""
    try:
        archive = zipfile.ZipFile(path)
    except OSError as error:
        raise AdapterError(f"cannot be read: {error.strerror or error}") from error
    except zipfile.BadZipFile as error:
        raise AdapterError(f"invalid archive: {error}") from error
    with archive:
        yield archive


def read_member(archive: zipfile.ZipFile, path: Path, name: str) -> Any:
    """Read a member of the archive at a path that is a JSON document."""
    member = archive.getinfo(name)
    if member.file_size > MOST_BYTES:
        raise AdapterError(f"{name}: may have {MOST_BYTES >> 30} GiB")
    try:
        if member.compress_type == ZSTANDARD:
            content = _decompressed(path, member)
        else:
            content = archive.read(member)
    except (zipfile.BadZipFile, NotImplementedError, OSError, EOFError) as error:
        raise AdapterError(f"{name}: cannot be read: {error}") from error
    return parse_document(content, name)


def _decompressed(path: Path, member: zipfile.ZipInfo) -> bytes:
    import pyarrow as pa

    with path.open("rb") as stream:
        stream.seek(member.header_offset)
        header = stream.read(_LOCAL_HEADER.size)
        if len(header) < _LOCAL_HEADER.size:
            raise EOFError("the archive ends before it")
        stream.seek(sum(_LOCAL_HEADER.unpack(header)), 1)
        packed = stream.read(member.compress_size)
    with pa.input_stream(pa.py_buffer(packed), compression="zstd") as unpacked:
        content: bytes = unpacked.read(member.file_size + 1)
    if len(content) != member.file_size:
        raise EOFError("it has another size than the archive says")
    return content
