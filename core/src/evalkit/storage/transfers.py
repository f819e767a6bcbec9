"""Fetches one version of an object in parallel ranges, and goes on where it was cut."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Event

from evalkit.errors import StorageError, TransferError
from evalkit.storage.cache import cache_errors, seal
from evalkit.storage.stores import Store, StoredObject

PART_BYTES = 8 << 20
"""Size of a range."""

THREADS = 8
"""Ranges that are fetched at once."""

ATTEMPTS = 6
"""How often a range is tried without a byte that is new."""

_FIRST_WAIT = 0.25
"""Seconds before it is tried again; twice as many each time."""

Advance = Callable[[int], None]
"""Told how many bytes have come."""


def fetch_object(
    store: Store, found: StoredObject, place: Path, advance: Advance
) -> None:
    """Fetch an object into a file that appears when it is whole.

    Parts that an earlier process fetched are not fetched again.

    Args:
        store: Where it is.
        found: The object.
        place: The file. Nobody else may be writing it.
        advance: Told of bytes that came.

    Raises:
        ObjectChangedError: There is another object by now.
        StorageError: It cannot be fetched or written, or its bytes are others than its
            writer recorded.
    """
    partial = place.with_name(f".{place.name}.partial")
    done = place.with_name(f".{place.name}.done")
    with cache_errors(place):
        parts = _missing(found, partial, done)
        with _opened(partial) as target, _opened(done) as marks:
            if parts and found.size:
                os.posix_fallocate(target, 0, found.size)
            _fetch_parts(store, found, parts, target, marks, advance)
        _check(found, partial, done)
        seal(partial)
        partial.replace(place)
        done.unlink(missing_ok=True)


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
    target: int,
    marks: int,
    advance: Advance,
) -> None:
    stopped = Event()

    def fetch(number: int) -> None:
        start = number * PART_BYTES
        stop = min(found.size, start + PART_BYTES)
        if _fetch_range(store, found, (start, stop), target, advance, stopped):
            os.pwrite(marks, b"\x01", number)

    if len(parts) == 1:
        return fetch(parts[0])
    with ThreadPoolExecutor(THREADS, "evalkit-fetch") as threads:
        waiting = [threads.submit(fetch, number) for number in parts]
        try:
            done, _ = wait(waiting, return_when=FIRST_EXCEPTION)
            for future in done:
                future.result()
        except BaseException:
            stopped.set()
            threads.shutdown(wait=False, cancel_futures=True)
            raise


def _fetch_range(
    store: Store,
    found: StoredObject,
    span: tuple[int, int],
    target: int,
    advance: Advance,
    stopped: Event,
) -> bool:
    """Fetch a range; after a cut go on with the first byte that is missing.

    Returns:
        Whether all of it has come; not where another range failed for good.
    """
    start, stop = span
    failures = 0
    while start < stop:
        try:
            for piece in store.read(found, start, stop):
                if stopped.is_set():
                    return False
                os.pwrite(target, piece, start)
                start += len(piece)
                failures = 0
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


def _check(found: StoredObject, partial: Path, done: Path) -> None:
    """Compare what came with what the store knows of the object."""
    problem = _difference(found, partial)
    if problem is None:
        return
    for path in (partial, done):
        with suppress(OSError):
            path.unlink()
    raise StorageError(f"{found.uri}: what came is not what was written: {problem}")


def _difference(found: StoredObject, partial: Path) -> str | None:
    size = partial.stat().st_size
    if size != found.size:
        return f"{size:,} bytes, not {found.size:,}"
    if found.digest is None:
        return None
    name, _, wanted = found.digest.partition(":")
    with partial.open("rb") as stream:
        # MD5 is there for security alone, or not, where FIPS rules
        come = hashlib.file_digest(
            stream, lambda: hashlib.new(name, usedforsecurity=False)
        ).hexdigest()
    return None if come == wanted else f"its {name} is {come}, not {wanted}"
