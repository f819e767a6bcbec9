"""Files and folders of a store are fetched once, whole, and in the version seen."""

from __future__ import annotations

import errno
import hashlib
import os
import shutil
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from memory_store import MemoryStore

from evalkit.errors import ObjectChangedError, StorageError, TransferError
from evalkit.storage import StoredObject, fetching, transfers
from evalkit.storage.cache import ObjectCache, size_limit
from evalkit.storage.cache_kinds import clear_kind
from evalkit.storage.fetching import fetch, fetch_file, fetch_folder

FILE = "mem://b/folder/file.jsonl"


@pytest.fixture
def parts(monkeypatch: pytest.MonkeyPatch) -> int:
    """Let ranges be of 100 bytes."""
    monkeypatch.setattr(transfers, "PART_BYTES", 100)
    return 100


def test_a_file_is_fetched_once(store: MemoryStore) -> None:
    store.add(FILE, b"one")
    shares: list[float] = []
    first = fetch_file(FILE, lambda text, share: shares.append(share))
    again = fetch_file(FILE)
    assert first is not None
    assert (first.read_bytes(), str(first), first.name) == (b"one", FILE, "file.jsonl")
    assert again == first
    assert store.calls == {"stat": 2, "read": 1}
    assert shares[-1] == 1
    assert not os.access(first, os.W_OK) or os.geteuid() == 0


def test_a_new_version_is_fetched_anew(store: MemoryStore) -> None:
    store.add(FILE, b"one")
    first = fetch_file(FILE)
    store.add(FILE, b"two")
    second = fetch_file(FILE)
    assert first is not None
    assert second is not None
    assert (first.read_bytes(), second.read_bytes()) == (b"one", b"two")


def test_nothing_is_none_and_an_error_for_both(store: MemoryStore) -> None:
    assert fetch_file(FILE) is None
    assert fetch_file("mem://b/folder/") is None
    assert fetch_folder("mem://b/folder") is None
    with pytest.raises(StorageError, match=f"{FILE}: there is no such file"):
        fetch(FILE)


def test_large_files_come_in_ranges(store: MemoryStore, parts: int) -> None:
    content = os.urandom(1234)
    store.add(FILE, content)
    found = fetch_file(FILE)
    assert found is not None
    assert found.read_bytes() == content
    assert store.calls["read"] == 13


def test_an_empty_file_is_fetched(store: MemoryStore) -> None:
    store.add(FILE, b"", f"sha256:{hashlib.sha256().hexdigest()}")
    found = fetch_file(FILE)
    assert found is not None
    assert found.read_bytes() == b""


def test_a_range_goes_on_where_it_was_cut(store: MemoryStore, parts: int) -> None:
    content = os.urandom(1000)
    store.add(FILE, content)
    store.cuts = 4
    found = fetch_file(FILE)
    assert found is not None
    assert found.read_bytes() == content
    assert store.calls["read"] == 14


def test_what_came_is_kept_when_it_is_given_up(store: MemoryStore, parts: int) -> None:
    content = os.urandom(1000)
    store.add(FILE, content)

    def fail(found: StoredObject) -> None:
        if store.calls["read"] > 5:
            raise TransferError(f"{found.uri}: the connection was lost")

    store.before_read = fail
    with pytest.raises(TransferError, match="tried 6 times"):
        fetch_file(FILE)
    before = store.calls["read"]
    store.before_read = lambda found: None
    found = fetch_file(FILE)
    assert found is not None
    assert found.read_bytes() == content
    assert store.calls["read"] - before < 10


def test_a_file_that_changes_meanwhile_is_fetched_again(
    store: MemoryStore, parts: int
) -> None:
    store.add(FILE, b"a" * 500)

    def change(found: StoredObject) -> None:
        if store.calls["read"] == 3:
            store.add(FILE, b"b" * 700)

    store.before_read = change
    found = fetch_file(FILE)
    assert found is not None
    assert found.read_bytes() == b"b" * 700


def test_one_that_changes_all_the_time_is_an_error(
    store: MemoryStore, parts: int
) -> None:
    store.add(FILE, b"a" * 500)
    store.before_read = lambda found: store.add(FILE, os.urandom(500))
    with pytest.raises(ObjectChangedError, match="was changed meanwhile"):
        fetch_file(FILE)
    with pytest.raises(ObjectChangedError, match="was changed meanwhile"):
        fetch_folder("mem://b/folder")


@pytest.mark.parametrize("name", ["sha256", "md5"])
def test_other_bytes_than_recorded_are_refused(store: MemoryStore, name: str) -> None:
    store.add(FILE, b"one", f"{name}:{hashlib.new(name, b'two').hexdigest()}")
    with pytest.raises(StorageError, match=f"what came is not what was .* its {name}"):
        fetch_file(FILE)
    store.add(FILE, b"two", f"{name}:{hashlib.new(name, b'two').hexdigest()}")
    assert fetch(FILE).read_bytes() == b"two"


@pytest.mark.parametrize("size", [3, 100])
def test_what_may_be_no_md5_is_taken_where_it_comes_twice(
    store: MemoryStore, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transfers, "PART_BYTES", 40)
    content, parts = b"a" * size, -(-size // 40)
    store.add(FILE, content, f"maybe-md5:{'0' * 32}")
    assert fetch(FILE).read_bytes() == content
    assert store.calls["read"] == 2 * parts
    assert fetch(FILE).read_bytes() == content
    assert store.calls["read"] == 2 * parts

    store.add(FILE, content, f"maybe-md5:{hashlib.md5(content).hexdigest()}")
    store.add("mem://b/other", content, f"maybe-md5:{hashlib.md5(content).hexdigest()}")
    assert fetch("mem://b/other").read_bytes() == content
    assert store.calls["read"] == 3 * parts


@pytest.mark.parametrize("is_md5", [True, False])
def test_what_may_be_no_md5_and_comes_otherwise_is_not_taken(
    store: MemoryStore, is_md5: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, count = store.read, 0

    def read(found: StoredObject, start: int, stop: int) -> Iterator[bytes]:
        nonlocal count
        count += 1
        content = b"".join(real(found, start, stop))
        yield content[:-1] + bytes([count]) if count < 3 - is_md5 else content

    monkeypatch.setattr(store, "read", read)
    wanted = hashlib.md5(b"one").hexdigest() if is_md5 else "0" * 32
    store.add(FILE, b"one", f"maybe-md5:{wanted}")
    if is_md5:  # the first time something was lost on the way
        assert fetch(FILE).read_bytes() == b"one"
    else:
        with pytest.raises(StorageError, match="what came is not what was written"):
            fetch(FILE)
    assert count == 2


@pytest.mark.parametrize(
    ("module", "name", "small"),
    [(os, "posix_fallocate", 0), (transfers, "seal", 1000)],
)
def test_a_full_disk_is_said(
    store: MemoryStore,
    monkeypatch: pytest.MonkeyPatch,
    module: object,
    name: str,
    small: int,
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    store.add(FILE, b"one")
    monkeypatch.setattr(module, name, full)
    monkeypatch.setattr(transfers, "SMALL_BYTES", small)
    with pytest.raises(StorageError, match=r"No space left on device.*cache --clear"):
        fetch_file(FILE)
    monkeypatch.undo()


def test_two_threads_fetch_a_file_once(store: MemoryStore) -> None:
    store.add(FILE, b"one")
    store.before_read = lambda found: time.sleep(0.05)
    threads = [threading.Thread(target=fetch_file, args=[FILE]) for _ in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert store.calls["read"] == 1


def test_a_folder_holds_what_was_wanted(store: MemoryStore) -> None:
    for name in ("a.json", "x/b.json", "x/y/c.txt", "x/", ".hidden/d.json"):
        store.add(f"mem://b/folder/{name}", name.encode())
    store.add("mem://b/folder-beside/e.json", b"")
    whole = fetch_folder("mem://b/folder/")
    assert whole is not None
    names = {
        str(path.relative_to(whole)) for path in whole.rglob("*") if path.is_file()
    }
    assert names == {"a.json", "x/b.json", "x/y/c.txt", ".hidden/d.json"}
    assert (whole / "x" / "b.json").read_text() == "x/b.json"
    assert (str(whole), whole.name) == ("mem://b/folder", "folder")
    some = fetch_folder("mem://b/folder", ("*.txt",))
    assert some is not None
    assert [path.name for path in some.rglob("*") if path.is_file()] == ["c.txt"]
    assert store.calls["read"] == 4


def test_a_bucket_is_a_folder(store: MemoryStore) -> None:
    store.add("mem://b/a.json", b"1")
    found = fetch_folder("mem://b")
    assert found is not None
    assert (found / "a.json").read_text() == "1"
    assert found.name == "b"


def test_a_folder_is_fetched_once_and_anew_when_it_changes(store: MemoryStore) -> None:
    store.add("mem://b/f/a", b"1")
    store.add("mem://b/f/b", b"2")
    first = fetch_folder("mem://b/f")
    again = fetch_folder("mem://b/f")
    assert (first, store.calls["read"]) == (again, 2)
    store.add("mem://b/f/b", b"3")
    second = fetch_folder("mem://b/f")
    assert first is not None
    assert second is not None
    assert ((first / "b").read_text(), (second / "b").read_text()) == ("2", "3")
    assert store.calls["read"] == 3


@pytest.fixture
def many(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let folders hold many small objects from two on."""
    monkeypatch.setattr(fetching, "_MANY", 1)


@pytest.mark.usefixtures("many")
def test_of_many_small_files_those_that_are_new_are_fetched(store: MemoryStore) -> None:
    for number in range(20):
        store.add(f"mem://b/f/{number}/x", b"%d" % number)
    first = fetch_folder("mem://b/f")
    assert fetch_folder("mem://b/f") == first
    store.add("mem://b/f/new", b"new")
    del store.contents["mem://b/f/3/x"]
    again = fetch_folder("mem://b/f")
    assert (store.calls["read"], store.calls["stat"]) == (21, 0)
    assert again is not None
    assert {path.read_bytes() for path in again.rglob("*") if path.is_file()} == {
        b"new",
        *(b"%d" % number for number in range(20) if number != 3),
    }
    assert not (again / "3").exists()


@pytest.mark.usefixtures("many")
def test_of_many_small_files_those_that_came_are_kept_after_a_failure(
    store: MemoryStore,
) -> None:
    for number in range(50):
        store.add(f"mem://b/f/{number}/x", b"%d" % number)

    def refuse(found: StoredObject) -> None:
        if store.calls["read"] > 30:
            raise StorageError("access is denied")

    store.before_read = refuse
    with pytest.raises(StorageError, match="denied"):
        fetch_folder("mem://b/f")
    store.before_read = lambda found: None
    store.calls.clear()
    assert fetch_folder("mem://b/f") is not None
    assert 20 <= store.calls["read"] < 40


@pytest.mark.usefixtures("many")
def test_of_many_small_files_an_edited_one_is_fetched_anew(store: MemoryStore) -> None:
    store.add("mem://b/f/a", b"1")
    store.add("mem://b/f/b", b"2")
    first = fetch_folder("mem://b/f")
    assert first is not None
    path = (first / "a").local
    path.chmod(0o600)
    path.write_bytes(b"9")
    again = fetch_folder("mem://b/f")
    assert again is not None
    assert (again / "a").read_bytes() == b"1"


@pytest.mark.usefixtures("many")
def test_of_many_small_files_two_threads_fetch_each_once(store: MemoryStore) -> None:
    for number in range(20):
        store.add(f"mem://b/f/{number}/x", b"%d" % number)
    threads = [
        threading.Thread(target=fetch_folder, args=["mem://b/f"]) for _ in range(4)
    ]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert store.calls["read"] == 20


@pytest.mark.usefixtures("many")
def test_trees_that_nobody_used_of_late_are_removed(store: MemoryStore) -> None:
    store.add("mem://b/f/a", b"1")
    store.add("mem://b/f/b", b"2")
    first = fetch_folder("mem://b/f")
    store.add("mem://b/f/b", b"3")
    second = fetch_folder("mem://b/f")
    assert first is not None
    assert second is not None
    assert (first / "a").exists()
    os.utime(first.local.parent, (0, 0))
    store.add("mem://b/f/b", b"4")
    assert fetch_folder("mem://b/f") is not None
    assert not (first / "a").exists()
    assert (second / "a").exists()


@pytest.mark.parametrize("name", ["../x", "a/../../x", "a//b", "./x", "a\0b", "c"])
def test_names_that_no_file_can_have_are_named_and_left_out(
    store: MemoryStore, name: str
) -> None:
    store.add(f"mem://b/f/{name}", b"1")
    store.add("mem://b/f/c/d", b"2")
    with pytest.warns(UserWarning, match="left out, as no folder can hold") as warned:
        found = fetch_folder("mem://b/f")
    assert repr(f"mem://b/f/{name}") in str(warned[0].message)
    assert found is not None
    assert [path.name for path in found.rglob("*")] == ["c", "d"]


def test_an_empty_object_stands_for_a_folder(store: MemoryStore) -> None:
    store.add("mem://b/f/c", b"")
    store.add("mem://b/f/c/d", b"2")
    found = fetch_folder("mem://b/f")
    assert found is not None
    assert (found / "c" / "d").read_text() == "2"


def test_large_files_of_a_folder_come_in_ranges(
    store: MemoryStore, parts: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fetching, "PART_BYTES", parts)
    store.add("mem://b/f/large", b"a" * 1000)
    store.add("mem://b/f/small", b"b" * 10)
    found = fetch_folder("mem://b/f")
    assert found is not None
    assert (found / "large").read_bytes() == b"a" * 1000
    assert (found / "small").read_bytes() == b"b" * 10


def test_offline_the_cache_answers(
    store: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.add(FILE, b"one")
    fetch_file(FILE)
    fetch_folder("mem://b/folder")
    store.add(FILE, b"two")
    monkeypatch.setenv("EVALKIT_OFFLINE", "1")
    before = dict(store.calls)
    file, folder = fetch_file(FILE), fetch_folder("mem://b/folder")
    assert file is not None
    assert folder is not None
    assert file.read_bytes() == (folder / "file.jsonl").read_bytes() == b"one"
    assert fetch_file("mem://b/other") is None
    with pytest.raises(StorageError, match="is not in the cache, and EVALKIT_OFF"):
        fetch("mem://b/other")
    assert dict(store.calls) == before


def test_offline_a_file_that_was_removed_from_the_cache_is_missing(
    store: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.add(FILE, b"one")
    found = fetch_file(FILE)
    assert found is not None
    found.local.unlink()
    monkeypatch.setenv("EVALKIT_OFFLINE", "1")
    assert fetch_file(FILE) is None


def test_offline_a_folder_that_was_removed_from_the_cache_is_missing(
    store: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.add(FILE, b"one")
    found = fetch_folder("mem://b/folder")
    file = fetch_file(FILE)
    assert found is not None
    assert file is not None
    shutil.rmtree(found.local.parent)
    shutil.rmtree(file.local.parent)
    monkeypatch.setenv("EVALKIT_OFFLINE", "1")
    before = dict(store.calls)
    with pytest.raises(StorageError, match=f"{FILE}: is not in the cache, and EVAL"):
        fetch_folder("mem://b/folder")
    assert dict(store.calls) == before


@pytest.mark.parametrize("content", [b"two", b"longer"])
def test_a_file_that_somebody_edited_is_fetched_anew(
    store: MemoryStore, monkeypatch: pytest.MonkeyPatch, content: bytes
) -> None:
    store.add(FILE, b"one")
    folder, file = fetch_folder("mem://b/folder"), fetch_file(FILE)
    assert folder is not None
    assert file is not None
    file.local.chmod(0o600)
    file.local.write_bytes(content)  # the folder links to it
    with monkeypatch.context() as patch:
        patch.setenv("EVALKIT_OFFLINE", "1")
        assert fetch_file(FILE) is None
    again, whole = fetch_file(FILE), fetch_folder("mem://b/folder")
    assert again is not None
    assert whole is not None
    assert again.read_bytes() == (whole / "file.jsonl").read_bytes() == b"one"


def test_folders_are_made_where_there_are_no_links(
    store: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(source: Path, target: Path) -> None:
        raise OSError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "link", refuse)
    store.add(FILE, b"one")
    found = fetch_folder("mem://b/folder")
    assert found is not None
    assert (found / "file.jsonl").read_bytes() == b"one"
    assert fetch_folder("mem://b/folder") == found


@pytest.mark.parametrize("name", ["x" * 255, "x" * 900 + ".jsonl", "ü" * 150, ".."])
def test_names_that_are_too_long_for_a_file_are_shortened(
    store: MemoryStore, name: str
) -> None:
    uri = f"mem://b/{name}"
    store.add(uri, b"one")
    found = fetch_file(uri)
    assert found is not None
    assert (found.read_bytes(), str(found)) == (b"one", uri)
    assert found.suffix == (".jsonl" if name.endswith(".jsonl") else "")
    assert fetch_file(f"mem://b/missing-{name}") is None
    assert fetch_folder(f"mem://b/missing-{name}") is None


def _age(path: Path, hours: float) -> None:
    then = time.time() - hours * 3600
    os.utime(path, (then, then))


def test_what_was_used_longest_ago_goes_first(
    store: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EVALKIT_CACHE_SIZE", str(2500 / (1 << 30)))
    found = {}
    for number in range(3):
        uri = f"mem://b/{number}"
        store.add(uri, bytes([number]) * 1000)
        file = fetch_file(uri)
        assert file is not None
        found[number] = file.local
        _age(file.local.parent, 10 - number)
    store.add("mem://b/3", b"3")
    fetch_file("mem://b/3")
    assert [n for n, path in found.items() if path.is_file()] == [1, 2]


def test_what_is_in_use_stays_however_large(
    store: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EVALKIT_CACHE_SIZE", "0")
    store.add(FILE, b"one")
    found = fetch_file(FILE)
    assert found is not None
    assert found.is_file()


def test_a_server_that_gives_a_few_bytes_at_a_time_is_given_up(
    store: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.add(FILE, b"a" * 1000)
    read = store.read
    pieces = []

    def few(found: StoredObject, start: int, stop: int) -> Iterator[bytes]:
        pieces.append(start)
        yield b"".join(read(found, start, stop))[:10]
        raise TransferError("cut")

    monkeypatch.setattr(store, "read", few)
    with pytest.raises(TransferError, match="cut; tried 6 times"):
        fetch_file(FILE)
    assert pieces == [0, 10, 20, 30, 40, 50]
    monkeypatch.setattr(transfers, "PROGRESS_BYTES", 10)
    found = fetch_file(FILE)
    assert found is not None
    assert found.read_bytes() == b"a" * 1000


def test_files_that_folders_share_count_once(store: MemoryStore) -> None:
    store.add(FILE, b"a" * 1000)
    fetch_file(FILE)
    fetch_folder("mem://b/folder")
    cache = ObjectCache()
    entries = cache.entries()
    assert [entry.size for entry in entries] == [1000, 1000]
    assert {entry.uri for entry in entries} == {FILE, "mem://b/folder"}
    assert 1000 <= clear_kind("stores") < 2000  # with the listings
    assert cache.entries() == []
    assert clear_kind("stores") == 0


@pytest.mark.parametrize("given", ["much", "-1", "nan", "inf"])
def test_a_wrong_size_is_refused(monkeypatch: pytest.MonkeyPatch, given: str) -> None:
    monkeypatch.setenv("EVALKIT_CACHE_SIZE", given)
    with pytest.raises(StorageError, match="EVALKIT_CACHE_SIZE: must be a number"):
        size_limit()


def test_a_cache_that_cannot_be_written_is_named(
    store: MemoryStore, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("EVALKIT_CACHE_DIR", str(tmp_path / "file"))
    store.add(FILE, b"one")
    with pytest.raises(StorageError, match=r"cannot be written.*EVALKIT_CACHE_DIR"):
        fetch_file(FILE)
