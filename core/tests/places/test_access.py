"""Files of places are fetched whole, kept by version, and never replaced unasked."""

import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from memory_store import MemoryStore

import evalkit
from evalkit.errors import ObjectExistsError, PluginError, StorageError
from evalkit.places import (
    Entry,
    Place,
    exists,
    file_to_write,
    forget_places,
    is_same_file,
    kept,
    local,
    local_file,
    local_folder,
    names_below,
    put,
)
from evalkit.places.names import FetchedPath
from evalkit_commands_perturb import perturb_dataset
from evalkit_models_base import load_inputs

FILE = "mem://b/folder/file.jsonl"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "mine"
    path.write_bytes(b"mine")
    return path


# Fetching


def test_a_version_is_fetched_once(store: MemoryStore) -> None:
    store.add(FILE, b"one")
    first, again = local_file(FILE), local_file(FILE)
    assert first is not None
    assert (first.read_bytes(), str(first), first.name) == (b"one", FILE, "file.jsonl")
    assert (again, store.calls["read"]) == (first, 1)
    store.add(FILE, b"two")
    second = local_file(FILE)
    assert second is not None
    assert (first.read_bytes(), second.read_bytes()) == (b"one", b"two")


def test_nothing_is_none_and_an_error_for_both(store: MemoryStore) -> None:
    assert local_file(FILE) is None
    assert local_file("mem://b/folder/") is None
    assert local_folder("mem://b/folder") is None
    with pytest.raises(StorageError, match=f"{FILE}: file not found"):
        local(FILE)


def test_half_a_file_is_none(store: MemoryStore, tmp_path: Path) -> None:
    def fail(path: Path) -> None:
        path.write_bytes(b"half")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        kept(FILE, "1", fail)
    left = [path for path in (tmp_path / "cache").rglob("*") if path.is_file()]
    assert left == []


def test_a_cache_that_cannot_be_written_is_named(
    store: MemoryStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.add(FILE, b"one")
    (tmp_path / "file").touch()
    monkeypatch.setenv("EVALKIT_CACHE_DIR", str(tmp_path / "file" / "cache"))
    for fetch in (local_file, local_folder):
        with pytest.raises(StorageError, match=r"cannot be kept in .*EVALKIT_CACHE_D"):
            fetch(FILE)


def test_a_folder_contains_what_was_chosen(store: MemoryStore) -> None:
    for name in ("a.json", "below/b.json", "below/c.txt"):
        store.add(f"mem://b/folder/{name}", name.encode())
    folder = local_folder("mem://b/folder/", lambda name: name.endswith(".json"))
    assert folder is not None
    names = [p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file()]
    assert sorted(names) == ["a.json", "below/b.json"]
    assert str(folder / "below" / "b.json") == "mem://b/folder/below/b.json"
    assert (folder / "below" / "b.json").read_bytes() == b"below/b.json"
    store.calls.clear()
    local_folder("mem://b/folder/", lambda name: name.endswith(".json"))
    assert store.calls == {"list": 1}
    store.add("mem://b/folder/a.json", b"new")
    newer = local_folder("mem://b/folder")
    assert newer is not None
    assert (newer / "a.json").read_bytes() == b"new"
    assert store.calls["read"] == 2  # the new one, and c.txt


def test_half_a_folder_is_none(store: MemoryStore) -> None:
    for number in range(3):
        store.add(f"mem://b/folder/{number}", b"x")

    def fail(uri: str) -> None:
        if uri.endswith("2"):
            raise StorageError(f"{uri}: refused")

    store.before_read = fail
    with pytest.raises(StorageError, match="folder/2: refused"):
        local_folder("mem://b/folder")
    store.before_read = lambda uri: None
    folder = local_folder("mem://b/folder")
    assert folder is not None
    assert len([*folder.iterdir()]) == 3


def test_names_that_lead_out_of_a_folder_are_left_out_with_a_word(
    store: MemoryStore, tmp_path: Path
) -> None:
    names = ["../out", "a/../../out", "/etc/x", "a//b", "a/./b", "\0", "l" * 300]
    for name in (*names, "ok", "d", "d/in", "e/"):
        store.add(f"mem://b/folder/{name}", b"x")
    with pytest.warns(UserWarning, match=r"^mem://b/folder/: 8 files left out, .*'mem"):
        folder = local_folder("mem://b/folder")
    assert folder is not None
    inside = {p.relative_to(folder).as_posix() for p in folder.rglob("*")}
    assert inside == {"ok", "d", "d/in"}
    assert not [*tmp_path.rglob("out")]


@pytest.mark.parametrize("name", ["x" * 250 + ".jsonl", "..", "."])
def test_names_that_no_file_has_are_shortened(store: MemoryStore, name: str) -> None:
    store.add(f"mem://b/{name}", b"x")
    path = local_file(f"mem://b/{name}")
    assert path is not None
    assert path.read_bytes() == b"x"
    assert path.suffix in (".jsonl", "")


def test_offline_the_cache_answers(
    store: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    for content in (b"one", b"two"):
        store.add(FILE, content)
        local_file(FILE)
    local_folder("mem://b/folder")
    monkeypatch.setenv("EVALKIT_OFFLINE", "1")
    store.contents.clear()
    path, folder = local_file(FILE), local_folder("mem://b/folder")
    assert path is not None
    assert path.read_bytes() == b"two"
    assert folder is not None
    assert (folder / "file.jsonl").read_bytes() == b"two"
    assert names_below("mem://b/folder") == ["file.jsonl"]
    with pytest.raises(StorageError, match="not in the cache, and EVALKIT_OFFLINE"):
        local("mem://b/other")


# Writing


@pytest.mark.parametrize("place", ["mem://b/x", "{}/below/x"])
def test_another_file_is_not_replaced_unasked(
    store: MemoryStore, file: Path, tmp_path: Path, place: str
) -> None:
    uri = place.format(tmp_path)
    put(file, uri)
    assert exists(uri)
    put(file, uri)  # the same content, as where the answer of a write was lost
    other = tmp_path / "other"
    other.write_bytes(b"others")
    with pytest.raises(ObjectExistsError, match=f"{uri}: another file is there"):
        put(other, uri)
    there = local_file(uri)
    assert there is not None
    assert there.read_bytes() == b"mine"
    put(other, uri, overwrite=True)
    there = local_file(uri)
    assert there is not None
    assert there.read_bytes() == b"others"
    assert not [*tmp_path.rglob("*.partial")]


def test_a_bucket_is_a_folder(store: MemoryStore, mini: object) -> None:
    store.add("mem://b/x", b"1")
    assert not exists("mem://b")
    answers = [{"id": uid, "label": "yes"} for uid in "123"]
    assert evalkit.evaluate("mini", answers, out="mem://b").path


def test_a_file_system_without_links_is_written_to(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_paths: Path) -> None:
        raise PermissionError

    monkeypatch.setattr(os, "link", refuse)
    put(file, f"{tmp_path}/below/x")
    assert (tmp_path / "below/x").read_bytes() == b"mine"
    file.write_bytes(b"other")
    with pytest.raises(ObjectExistsError):
        put(file, f"{tmp_path}/below/x")


def test_what_cannot_be_written_is_named(store: MemoryStore, file: Path) -> None:
    with pytest.raises(StorageError, match=r"/proc/x/y: cannot be written: "):
        put(file, "/proc/x/y")


def test_a_file_is_sent_when_it_is_whole(store: MemoryStore) -> None:
    with suppress(ValueError), file_to_write(FILE, overwrite=True) as path:
        path.write_text("half")
        raise ValueError
    assert store.contents == {}
    with file_to_write(FILE, overwrite=False) as path:
        path.write_text("whole")
        assert (str(path), path.name) == (FILE, "file.jsonl")
    assert store.contents == {FILE: b"whole"}
    assert isinstance(path, FetchedPath)
    assert not path.local.exists()
    with (
        pytest.raises(ObjectExistsError, match="--overwrite"),
        file_to_write(FILE, overwrite=False),
    ):
        raise AssertionError("nothing is to be computed")
    with (
        pytest.raises(StorageError, match="names a folder"),
        file_to_write("mem://b/folder/", overwrite=True),
    ):
        raise AssertionError("nothing is to be computed")


def test_what_cannot_be_sent_is_kept(store: MemoryStore) -> None:
    def write() -> None:
        with file_to_write(FILE, overwrite=False) as path:
            path.write_text("mine")
            store.add(FILE, b"somebody's")

    with pytest.raises(ObjectExistsError, match="The file is kept in ") as caught:
        write()
    left = Path(str(caught.value).rpartition("kept in ")[2])
    assert left.read_text() == "mine"
    left.unlink()
    left.parent.rmdir()


def test_offline_nothing_is_written(
    store: MemoryStore, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EVALKIT_OFFLINE", "1")
    with pytest.raises(StorageError, match=f"{FILE}: cannot be written: EVALKIT_OFF"):
        put(file, FILE)
    put(file, f"{file}-copy")


def test_inputs_go_to_a_place(store: MemoryStore, mini: object) -> None:
    load_inputs("mini").save(FILE)
    assert store.contents[FILE].count(b"\n") == 3


def test_perturbed_examples_go_to_a_place_and_replace_no_originals(
    store: MemoryStore, mini: object
) -> None:
    how: dict[str, Any] = {"perturbations": ["uppercase-words"], "fields": ["text"]}
    perturb_dataset("mini", FILE, **how)
    assert store.contents[FILE].count(b"\n") == 3
    with pytest.raises(StorageError, match=f"{FILE}: another file is there"):
        perturb_dataset("mini", FILE, **how)
    rows = b'{"uid": "1", "text": "yes", "label": "yes"}\n'
    store.add(FILE, rows)
    for out in (FILE, FILE.replace("mem://", "MEM://")):
        with pytest.raises(StorageError, match=f"{FILE} holds the originals"):
            perturb_dataset(FILE, out, task="mini", overwrite=True, **how)
    assert store.contents[FILE] == rows
    assert is_same_file(local(FILE), local(FILE))


# Plugins

CODE = """
from pathlib import Path
from evalkit.places import Place

class Good(Place):
    def local(self, uri):
        return None
    def list(self, uri):
        return ()

class Wrong(Place):
    def local(self, uri):
        return "path"
    def list(self, uri):
        yield uri

class Fails(Place):
    def local(self, uri):
        raise KeyError("k")
    def list(self, uri):
        yield from {}["k"]
    def put(self, path, uri, *, overwrite):
        raise OSError("o")

class Other:
    pass

class Unmade(Good):
    def __init__(self):
        raise RuntimeError("no")
"""


@pytest.fixture
def plugins(
    fake_distribution: Callable[..., Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[None]:
    monkeypatch.setenv("EVALKIT_CACHE_DIR", str(tmp_path / "cache"))
    names = {
        name.lower(): name for name in ("Good", "Wrong", "Fails", "Other", "Unmade")
    }
    fake_distribution(CODE, {"evalkit.storage": names}, name="their-places")
    forget_places()
    yield
    forget_places()


@pytest.mark.usefixtures("plugins")
@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: local_file("wrong://b/x"), "local of wrong://b/x must return a Path,"),
        (
            lambda: names_below("wrong://b/x"),
            "list of wrong://b/x/ must return evalkit",
        ),
        (
            lambda: local_file("fails://b/x"),
            r"local of fails://b/x failed with .*KeyEr",
        ),
        (
            lambda: names_below("fails://b"),
            r"list of fails://b/ failed with .*KeyError",
        ),
        (
            lambda: put(Path(), "fails://b/x"),
            r"put of fails://b/x failed with .*OSErro",
        ),
        (lambda: exists("other://b/x"), "must be a subclass of evalkit.places.Place"),
        (lambda: exists("unmade://b/x"), r"constructing it failed with Runtim"),
    ],
)
def test_a_mistake_of_a_plugin_is_said_of_it(
    call: Callable[[], object], message: str
) -> None:
    with pytest.raises(PluginError, match=f"their-places.*{message}"):
        call()


@pytest.mark.usefixtures("plugins")
def test_a_place_that_only_reads_is_refused_before_anything_is_computed(
    tmp_path: Path,
) -> None:
    asked: list[str] = []
    with pytest.raises(StorageError, match=r"good://b/runs: .*evalkit only reads good"):
        evalkit.evaluate(
            "mini",
            [],
            out="good://b/runs",
            progress=lambda text, share: asked.append(text),
        )
    assert asked == []
    with (
        pytest.raises(StorageError, match="evalkit only reads good"),
        file_to_write("good://b/x", overwrite=True),
    ):
        raise AssertionError("nothing is to be computed")


def test_an_unknown_scheme_names_those_that_there_are(file: Path) -> None:
    with pytest.raises(StorageError, match=r"zz://b/x: zz:// is .*Installed: .*s3://"):
        put(file, "zz://b/x")


def test_a_place_made_by_hand_may_leave_out_put() -> None:
    assert Entry("a://b/c", "1").permanent is None
    for verb in ("local", "list"):
        half = type("Half", (Place,), {verb: lambda *_: []})
        with pytest.raises(TypeError, match="abstract method"):
            half()
    assert type("Whole", (Place,), {"local": len, "list": len})()
    assert os.fspath(local("x")) == "x"
