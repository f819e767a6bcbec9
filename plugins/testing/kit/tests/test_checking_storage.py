from __future__ import annotations

import hashlib
import posixpath
import time
from collections.abc import Iterator, Mapping, Sequence
from itertools import count
from pathlib import Path
from threading import Lock
from typing import Any

import pytest

from evalkit import EvalkitError
from evalkit.errors import StorageError
from evalkit.storage import (
    ALWAYS,
    Condition,
    ObjectChangedError,
    ObjectExistsError,
    StoredObject,
)
from evalkit_testing import STORAGE_LAWS, StorageLawError, check_storage

PLACE = "memory://user:PaSsWoRd9@bucket/"
KNOWN = {"memory://bucket/a.txt": b"abc", "memory://bucket/b.txt": b"12345"}


class Memory:
    """Keeps all laws: the base of those below, which break one each."""

    def __init__(self) -> None:
        self.objects: dict[str, tuple[bytes, StoredObject]] = {}
        self.lock = Lock()
        self.writes = count()

    def identity(self, uri: str) -> str:
        return "memory"

    def stat(self, uri: str) -> StoredObject | None:
        self.check(uri)
        return self.objects[uri][1] if uri in self.objects else None

    def read(self, found: StoredObject, start: int, stop: int) -> Iterator[bytes]:
        content, now = self.objects.get(found.uri, (b"", None))
        if now is None or now.etag != found.etag:
            raise ObjectChangedError(f"{found.uri}: was changed meanwhile")
        yield content[start:stop]

    def put(
        self, path: Path, uri: str, condition: Condition, *, sha256: str | None = None
    ) -> StoredObject:
        self.check(uri)
        with self.lock:
            there = self.stat(uri)
            if condition.kind == "absent" and there is not None:
                raise ObjectExistsError(f"{uri}: is there already")
            etag = there.etag if there else None
            if condition.kind == "match" and etag != condition.etag:
                raise ObjectExistsError(f"{uri}: was changed meanwhile")
            return self.write(uri, path.read_bytes())

    def write(self, uri: str, content: bytes) -> StoredObject:
        etag = f"e{next(self.writes)}"
        digest = f"sha256:{hashlib.sha256(content).hexdigest()}"
        found = StoredObject(uri, len(content), etag, 0.0, digest)
        self.objects[uri] = (content, found)
        return found

    def list_objects(self, prefix: str) -> Iterator[StoredObject]:
        for uri in sorted(self.objects):
            if uri.startswith(prefix):
                yield self.objects[uri][1]

    def delete(self, uri: str) -> None:
        self.objects.pop(uri, None)

    def honours_conditions(self, uri: str) -> bool:
        return True

    def check(self, uri: str) -> None:
        if len(uri) > 1000:
            raise StorageError(f"{uri[:80]}: is too long")


class Missing(Memory):
    def stat(self, uri: str) -> StoredObject | None:
        return StoredObject(uri, 0, "", 0.0)


class DeletesNoTwice(Memory):
    def delete(self, uri: str) -> None:
        if uri not in self.objects:
            raise StorageError(f"{uri}: nothing is there")
        super().delete(uri)


class Cuts(Memory):
    def write(self, uri: str, content: bytes) -> StoredObject:
        return super().write(uri, content[:500])


class SaysOther(Memory):
    def write(self, uri: str, content: bytes) -> StoredObject:
        return super().write(uri, content)._replace(etag="new")


class Inclusive(Memory):
    def read(self, found: StoredObject, start: int, stop: int) -> Iterator[bytes]:
        return super().read(found, start, stop + (stop < found.size))


class WrongDigest(Memory):
    def write(self, uri: str, content: bytes) -> StoredObject:
        found = super().write(uri, content)._replace(digest="md5:0")
        self.objects[uri] = (content, found)
        return found


class ReadsTheNew(Memory):
    def read(self, found: StoredObject, start: int, stop: int) -> Iterator[bytes]:
        yield self.objects[found.uri][0][start:stop]


class SameEtag(Memory):
    def write(self, uri: str, content: bytes) -> StoredObject:
        found = super().write(uri, content)._replace(etag="e")
        self.objects[uri] = (content, found)
        return found


class NoConditions(Memory):
    def put(
        self, path: Path, uri: str, condition: Condition, *, sha256: str | None = None
    ) -> StoredObject:
        return super().put(path, uri, ALWAYS, sha256=sha256)


class WritesAndRefuses(Memory):
    def put(
        self, path: Path, uri: str, condition: Condition, *, sha256: str | None = None
    ) -> StoredObject:
        if condition.kind == "match" and uri in self.objects:
            before = self.objects[uri][1].etag
            if before != condition.etag:
                self.write(uri, path.read_bytes())
        return super().put(path, uri, condition, sha256=sha256)


class HalfConditions(Memory):
    """One that says that it honours none, and overwrites what is not empty."""

    def honours_conditions(self, uri: str) -> bool:
        return False

    def put(
        self, path: Path, uri: str, condition: Condition, *, sha256: str | None = None
    ) -> StoredObject:
        is_empty = uri in self.objects and not self.objects[uri][0]
        if condition.kind == "absent" and not is_empty:
            condition = ALWAYS
        return super().put(path, uri, condition, sha256=sha256)


class LooksFirst(Memory):
    """One that refuses what it sees, and keeps no two writers apart."""

    def honours_conditions(self, uri: str) -> bool:
        return False


class IgnoresAll(NoConditions):
    """One whose server knows no conditions."""

    def honours_conditions(self, uri: str) -> bool:
        return False


class Races(Memory):
    def put(
        self, path: Path, uri: str, condition: Condition, *, sha256: str | None = None
    ) -> StoredObject:
        if condition.kind == "absent" and uri in self.objects:
            return super().put(path, uri, condition, sha256=sha256)
        time.sleep(0.05)
        return self.write(uri, path.read_bytes())


class OneLevel(Memory):
    def list_objects(self, prefix: str) -> Iterator[StoredObject]:
        for each in super().list_objects(prefix):
            if "/" not in each.uri.removeprefix(prefix):
                yield each


class ListsMore(Memory):
    def list_objects(self, prefix: str) -> Iterator[StoredObject]:
        return super().list_objects(prefix.rstrip("/"))


class Unsorted(Memory):
    def list_objects(self, prefix: str) -> Iterator[StoredObject]:
        return reversed([*super().list_objects(prefix)])


class DeletesMore(Memory):
    def delete(self, uri: str) -> None:
        for each in [*self.objects]:
            if each.startswith(uri):
                del self.objects[each]


class KeyErrors(Memory):
    def read(self, found: StoredObject, start: int, stop: int) -> Iterator[bytes]:
        yield self.objects[found.uri][0][start:stop]


class LongNames(Memory):
    def check(self, uri: str) -> None:
        if len(uri) > 1000:
            raise OSError("name too long")


class Tells(Memory):
    def identity(self, uri: str) -> str:
        return uri


class Moves(Memory):
    def identity(self, uri: str) -> str:
        return str(next(self.writes))


class OneThread(Memory):
    last = ""

    def read(self, found: StoredObject, start: int, stop: int) -> Iterator[bytes]:
        self.last = found.uri
        time.sleep(0.002)
        content, _ = self.objects[self.last]
        yield content[start:stop]


class Preset(Memory):
    def __init__(self) -> None:
        super().__init__()
        for uri, content in KNOWN.items():
            self.write(uri, content)


class ReadsOnly(Preset):
    def put(
        self, path: Path, uri: str, condition: Condition, *, sha256: str | None = None
    ) -> StoredObject:
        raise StorageError(f"{uri}: cannot be written: this store only reads")

    def honours_conditions(self, uri: str) -> bool:
        raise StorageError(f"{uri}: cannot be written: this store only reads")


class BlamesTheServer(ReadsOnly):
    def honours_conditions(self, uri: str) -> bool:
        return False


class Other(ReadsOnly):
    def read(self, found: StoredObject, start: int, stop: int) -> Iterator[bytes]:
        yield b"?" * (stop - start)


BROKEN: Mapping[str, Sequence[type[Memory]]] = {
    "missing": [Missing, DeletesNoTwice],
    "known": [Other],
    "written": [Cuts, SaysOther],
    "ranges": [Inclusive],
    "digest": [WrongDigest],
    "changed": [ReadsTheNew, SameEtag],
    "conditions": [NoConditions, WritesAndRefuses, HalfConditions],
    "races": [Races],
    "listed": [OneLevel, ListsMore, Unsorted],
    "deleted": [DeletesMore, KeyErrors],
    "errors": [LongNames],
    "identity": [Tells, Moves],
    "threads": [OneThread],
    "read-only": [Preset, BlamesTheServer],
}


def test_each_law_is_broken_by_a_store_below() -> None:
    assert [*BROKEN] == [law.name for law in STORAGE_LAWS]


@pytest.mark.parametrize(
    ("law", "store"),
    [(law, store) for law, stores in BROKEN.items() for store in stores],
)
def test_a_store_that_breaks_a_law_is_told_which(law: str, store: Any) -> None:
    known = KNOWN if issubclass(store, Preset) else None
    with pytest.raises(StorageLawError) as caught:
        check_storage(PLACE, store=store, known=known, laws=[law])
    assert caught.value.law == law
    assert "PaSsWoRd9" not in str(caught.value)


def test_a_store_that_keeps_the_laws_passes_and_is_empty_afterwards() -> None:
    store = Memory()
    check_storage("memory://bucket/", store=store)
    assert store.objects == {}
    check_storage("memory://bucket/", store=ReadsOnly, known=KNOWN)


@pytest.mark.parametrize("store", [LooksFirst, IgnoresAll])
def test_a_store_may_refuse_all_conditions_or_none(store: Any) -> None:
    check_storage(PLACE, store=store, laws=["conditions", "races"])


def test_nothing_outside_of_the_place_is_touched() -> None:
    class Resolves(Memory):
        """Takes two dots for the folder above, as file systems do."""

        def write(self, uri: str, content: bytes) -> StoredObject:
            return super().write(_resolved(uri), content)

        def delete(self, uri: str) -> None:
            super().delete(_resolved(uri))

    store = Resolves()
    names = ["memory://bucket/b", "memory://bucket/in/b", "memory://bucket/c"]
    for uri in names:
        store.write(uri, b"somebody's")
    check_storage("memory://bucket/in/", store=store, laws=["errors"])
    assert sorted(store.objects) == sorted(names)


def _resolved(uri: str) -> str:
    scheme, _, path = uri.partition("://")
    return f"{scheme}://{posixpath.normpath(path)}"


def test_known_objects_may_be_empty() -> None:
    class Holds(ReadsOnly):
        def __init__(self) -> None:
            super().__init__()
            self.write("memory://bucket/empty", b"")
            self.write("memory://bucket/byte", b"1")

        def read(self, found: StoredObject, start: int, stop: int) -> Iterator[bytes]:
            assert 0 <= start <= stop <= found.size
            return super().read(found, start, stop)

    known = {"memory://bucket/empty": b"", "memory://bucket/byte": b"1"}
    check_storage(PLACE, store=Holds, known=known, laws=["ranges"])


def test_a_place_is_a_folder() -> None:
    with pytest.raises(EvalkitError, match="a URI with a slash at its end"):
        check_storage("memory://bucket", store=Memory)
