"""Fetches one version of an object in parallel ranges, and goes on where it was cut."""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial as bind
from pathlib import Path
from threading import Event, Lock

from evalkit.errors import StorageError, TransferError
from evalkit.storage.cache import cache_errors, seal
from evalkit.storage.stores import Store, StoredObject
from evalkit.storage.working import in_threads

PART_BYTES = 8 << 20
"""Size of a range."""

SMALL_BYTES = 1 << 20
"""Size up to which an object is kept in memory until it is whole."""

THREADS = 8
"""Ranges that are fetched at once."""

ATTEMPTS = 6
"""How often a range is tried without so many bytes that are new."""

PROGRESS_BYTES = 64 << 10
"""A server that gives less than these before it cuts is not asked for ever."""

_FIRST_WAIT = 0.25
"""Seconds before it is tried again; twice as many each time."""

Advance = Callable[[int], None]
"""Told how many bytes have come."""


def fetch_object(
    store: Store,
    found: StoredObject,
    place: Path,
    advance: Advance,
    came: str | None = None,
) -> None:
    """Fetch an object into a file that appears when it is whole.

    Parts that an earlier process fetched are not fetched again.

    Args:
        store: Where it is.
        found: The object.
        place: The file. Nobody else may be writing it.
        advance: Told of bytes that came.
        came: The digest of what came before, where its own is doubtful.

    Raises:
        ObjectChangedError: There is another object by now.
        StorageError: It cannot be fetched or written, or its bytes are others than its
            writer recorded.
    """
    partial = place.with_name(f".{place.name}.partial")
    done = place.with_name(f".{place.name}.done")
    is_small = found.size <= min(SMALL_BYTES, PART_BYTES)
    with cache_errors(place):
        if is_small:
            size, come = _take_small(store, found, partial, advance)
        else:
            size, come = _take_large(store, found, partial, done, advance)
        problem = _difference(found, size, come, came)
        if problem is None:
            if not is_small:
                _sync(partial)
            seal(partial)
            partial.replace(place)
        partial.unlink(missing_ok=True)
        done.unlink(missing_ok=True)
    if problem is not None and come and came is None and _kind_of(found)[1]:
        fetch_object(store, found, place, lambda _: None, come)
    elif problem is not None:
        raise StorageError(f"{found.uri}: what came is not what was written: {problem}")


def _take_large(
    store: Store, found: StoredObject, partial: Path, done: Path, advance: Advance
) -> tuple[int, str | None]:
    """Fetch an object in ranges; return size and digest of what came."""
    parts = _missing(found, partial, done)
    with _opened(partial) as target:
        if parts:
            _reserve(target, found.size)
    digest = _Digest(found, partial, parts)
    _fetch_parts(store, found, parts, partial, done, advance, digest)
    size = partial.stat().st_size
    return size, digest.finish() if size == found.size else None


def _take_small(
    store: Store, found: StoredObject, partial: Path, advance: Advance
) -> tuple[int, str | None]:
    """Do the same with little work beside: there may be thousands."""
    content = bytearray()

    def write(piece: bytes, _start: int) -> None:
        content.extend(piece)

    _fetch_range(store, found, (0, found.size), write, advance, Event())
    partial.unlink(missing_ok=True)
    partial.write_bytes(content)
    name, _ = _kind_of(found)
    come = hashlib.new(name, content, usedforsecurity=False).hexdigest() if name else ""
    return len(content), come or None


def _kind_of(found: StoredObject) -> tuple[str, bool]:
    """Return the name of the digest that is known, and whether it may be another's."""
    given = (found.digest or "").partition(":")[0]
    return given.removeprefix("maybe-"), given.startswith("maybe-")


def _difference(
    found: StoredObject, size: int, come: str | None, came: str | None
) -> str | None:
    """Compare what came with what the store knows of the object."""
    if size != found.size:
        return f"{size:,} bytes, not {found.size:,}"
    wanted = (found.digest or "").partition(":")[2]
    if come is None or come in (wanted, came):
        return None
    return f"its {_kind_of(found)[0]} is {come}, not {wanted}"


def _sync(path: Path) -> None:
    """Have the system write a file: a power cut could leave a sealed one of zeros."""
    with _opened(path) as target:
        os.fsync(target)


def _reserve(target: int, size: int) -> None:
    """Find out before the transfer whether there is room for all of it."""
    if sys.platform == "darwin":
        os.ftruncate(target, size)  # it cannot reserve
    else:
        os.posix_fallocate(target, 0, size)


def _missing(found: StoredObject, partial: Path, done: Path) -> list[int]:
    """Return the numbers of the parts that are not there yet."""
    count = -(-found.size // PART_BYTES)
    try:
        marks = done.read_bytes() if partial.stat().st_size == found.size else b""
    except OSError:
        marks = b""
    if not marks:
        done.unlink(missing_ok=True)
    return [n for n in range(count) if marks[n : n + 1] != b"\x01"]


@contextmanager
def _opened(path: Path) -> Iterator[int]:
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _fetch_parts(
    store: Store,
    found: StoredObject,
    parts: list[int],
    partial: Path,
    done: Path,
    advance: Advance,
    digest: _Digest,
) -> None:
    stopped = Event()

    def fetch(number: int) -> None:
        start = number * PART_BYTES
        stop = min(found.size, start + PART_BYTES)
        # of its own, as it may go on for a moment when all is given up
        with _opened(partial) as target, _opened(done) as marks:
            write = bind(os.pwrite, target)
            if _fetch_range(store, found, (start, stop), write, advance, stopped):
                os.pwrite(marks, b"\x01", number)
                digest.follow(number)

    if len(parts) == 1:
        return fetch(parts[0])
    try:
        in_threads(fetch, parts, THREADS)
    except BaseException:
        stopped.set()
        raise


def _fetch_range(
    store: Store,
    found: StoredObject,
    span: tuple[int, int],
    write: Callable[[bytes, int], object],
    advance: Advance,
    stopped: Event,
) -> bool:
    """Fetch a range; after a cut go on with the first byte that is missing.

    Returns:
        Whether all of it has come; not where another range failed for good.
    """
    start, stop = span
    failures, counted = 0, start
    while start < stop:
        try:
            for piece in store.read(found, start, stop):
                if stopped.is_set():
                    return False
                write(piece, start)
                start += len(piece)
                if start - counted >= PROGRESS_BYTES:
                    failures, counted = 0, start
                advance(len(piece))
            if start < stop:
                raise TransferError(f"{found.uri}: its end is missing")
        except TransferError as error:
            failures += 1
            if failures == ATTEMPTS:
                raise TransferError(
                    f"{error}; tried {ATTEMPTS} times. What has come is kept: start "
                    "again to go on from there"
                ) from error
            if stopped.wait(_FIRST_WAIT * 2 ** (failures - 1)):
                return False
    return True


class _Digest:
    """Computes the digest of a file while its parts come, from those that are read.

    Args:
        found: The object, which tells the digest's kind.
        partial: The file.
        parts: The numbers of the parts that are to come.
    """

    def __init__(self, found: StoredObject, partial: Path, parts: list[int]) -> None:
        name, _ = _kind_of(found)
        self._hash = hashlib.new(name, usedforsecurity=False) if name else None
        self._partial = partial
        self._coming = set(parts)
        self._next = 0
        self._count = -(-found.size // PART_BYTES)
        self._lock = Lock()

    def follow(self, number: int) -> None:
        """Note that a part has come, and take what follows the last one taken.

        Args:
            number: Its number.
        """
        self._coming.discard(number)
        if self._hash is not None and self._lock.acquire(blocking=False):
            try:
                self._take()
            finally:
                self._lock.release()

    def finish(self) -> str | None:
        """Return the digest when all parts have come; None where none is wanted."""
        if self._hash is None:
            return None
        with self._lock:
            self._take()
        return self._hash.hexdigest()

    def _take(self) -> None:
        assert self._hash is not None
        with self._partial.open("rb") as stream:
            while self._next < self._count and self._next not in self._coming:
                stream.seek(self._next * PART_BYTES)
                self._hash.update(stream.read(PART_BYTES))
                self._next += 1
