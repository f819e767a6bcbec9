"""`check_storage` finds what breaks a law of places, and nothing else."""

import hashlib
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from threading import Lock
from typing import Any

import pytest

from evalkit import EvalkitError
from evalkit.errors import ObjectExistsError, StorageError
from evalkit.places import Entry, Place, kept
from evalkit_testing import STORAGE_LAWS, StorageLawError, check_storage

PLACE = "memory://user:PaSsWoRd9@bucket/"
KNOWN = {"memory://bucket/a.txt": b"abc", "memory://bucket/b.txt": b"12345"}


@pytest.fixture(autouse=True)
def _cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EVALKIT_CACHE_DIR", str(tmp_path / "cache"))


class Memory(Place):
    """Keeps all laws: the base of those below, which break one each."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.lock = Lock()

    def local(self, uri: str) -> Path | None:
        self.check(uri)
        if uri not in self.files:
            return None
        content = self.content(uri)
        return kept(uri, str(content), lambda path: path.write_bytes(content))

    def content(self, uri: str) -> bytes:
        return self.files[uri]

    def version(self, uri: str) -> str:
        return hashlib.sha256(self.files[uri]).hexdigest()

    def list(self, uri: str) -> Iterator[Entry]:
        self.check(uri)
        for name in sorted(self.files):
            if name == uri or (uri.endswith("/") and name.startswith(uri)):
                yield Entry(name, self.version(name))

    def put(self, path: Path, uri: str, *, overwrite: bool) -> None:
        self.check(uri)
        with self.lock:
            if uri in self.files and not overwrite:
                raise ObjectExistsError(f"{uri}: a file is there")
            self.files[uri] = path.read_bytes()

    def check(self, uri: str) -> None:
        if len(uri) > 1000:
            raise StorageError(f"{uri[:80]}: is too long")


class Missing(Memory):
    def local(self, uri: str) -> Path | None:
        return super().local(uri) or Path("nothing")


class ListsNothing(Memory):
    def list(self, uri: str) -> Iterator[Entry]:
        yield from super().list(uri)
        yield Entry(uri, "")


class Cuts(Memory):
    def content(self, uri: str) -> bytes:
        return self.files[uri][:500]


class SameVersion(Memory):
    def version(self, uri: str) -> str:
        return "1"


class Replaces(Memory):
    def put(self, path: Path, uri: str, *, overwrite: bool) -> None:
        super().put(path, uri, overwrite=True)


class WritesAndRefuses(Memory):
    def put(self, path: Path, uri: str, *, overwrite: bool) -> None:
        is_there = uri in self.files and not overwrite
        super().put(path, uri, overwrite=True)
        if is_there:
            raise ObjectExistsError(f"{uri}: a file is there")


class OneLevel(Memory):
    def list(self, uri: str) -> Iterator[Entry]:
        for entry in super().list(uri):
            if "/" not in entry.uri.removeprefix(uri):
                yield entry


class ListsMore(Memory):
    def list(self, uri: str) -> Iterator[Entry]:
        for name in sorted(self.files):
            if name.startswith(uri.rstrip("/")):
                yield Entry(name, "1")


class Texts(Memory):
    def list(self, uri: str) -> Iterator[Any]:
        return (entry.uri for entry in super().list(uri))


class LongNames(Memory):
    def check(self, uri: str) -> None:
        if len(uri) > 1000:
            raise OSError("name too long")


class Tells(Memory):
    def check(self, uri: str) -> None:
        if len(uri) > 1000:
            raise StorageError(uri)


class OneThread(Memory):
    last = ""

    def content(self, uri: str) -> bytes:
        self.last = uri
        time.sleep(0.002)
        return self.files[self.last]


class Preset(Memory):
    def __init__(self) -> None:
        super().__init__()
        self.files |= KNOWN


class ReadsOnly(Preset):
    put = Place.put


class Unnamed(ReadsOnly):
    def put(self, path: Path, uri: str, *, overwrite: bool) -> None:
        raise StorageError("it cannot be written")


class Other(ReadsOnly):
    def content(self, uri: str) -> bytes:
        return b"?" * len(self.files[uri])


BROKEN: Mapping[str, Sequence[type[Memory]]] = {
    "missing": [Missing, ListsNothing],
    "known": [Other],
    "written": [Cuts],
    "changed": [SameVersion],
    "kept": [Replaces, WritesAndRefuses],
    "listed": [OneLevel, ListsMore, Texts],
    "errors": [LongNames, Tells],
    "threads": [OneThread],
    "read-only": [Preset, Unnamed],
}


def test_each_law_is_broken_by_a_place_below() -> None:
    assert [*BROKEN] == [law.name for law in STORAGE_LAWS]


@pytest.mark.parametrize(
    ("law", "place"),
    [(law, place) for law, places in BROKEN.items() for place in places],
)
def test_a_place_that_breaks_a_law_is_told_which(law: str, place: Any) -> None:
    known = KNOWN if issubclass(place, Preset) else None
    with pytest.raises(StorageLawError) as caught:
        check_storage(PLACE, store=place, known=known, laws=[law])
    assert caught.value.law == law
    assert "PaSsWoRd9" not in str(caught.value)


def test_a_place_that_keeps_the_laws_passes() -> None:
    place = Memory()
    check_storage("memory://bucket/", store=place)
    assert all(uri.startswith("memory://bucket/") for uri in place.files)
    check_storage("memory://bucket/", store=ReadsOnly, known=KNOWN)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"place": "memory://bucket"}, "a URI with a slash at its end"),
        ({"place": PLACE, "known": {}}, "known= names no file"),
        ({"place": PLACE, "known": KNOWN, "laws": ["kept"]}, "only these are checked"),
    ],
)
def test_wrong_arguments_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(EvalkitError, match=message):
        check_storage(**options, store=Memory)
