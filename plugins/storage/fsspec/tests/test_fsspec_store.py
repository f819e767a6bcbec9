"""The store over fsspec's file system in memory, under a scheme of its own."""

from __future__ import annotations

import json
import tomllib
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fsspec
import pytest

import evalkit
from evalkit.errors import StorageError
from evalkit.storage import (
    ALWAYS,
    IF_ABSENT,
    ObjectChangedError,
    ObjectExistsError,
    Store,
    TransferError,
    fetch_file,
    if_match,
    send_file,
    store_of,
)
from evalkit_storage_fsspec.store import AzureStore, FsspecStore, GoogleStore

CODE = """
from evalkit_storage_fsspec.store import FsspecStore

class Shelf(FsspecStore):
    protocol = "shelf"
"""


class Memory(FsspecStore):
    protocol = "memory"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The path of a folder in memory of its own, and a cache of its own."""
    monkeypatch.setenv("EVALKIT_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.delenv("EVALKIT_OFFLINE", raising=False)
    name = f"b-{uuid.uuid4().hex}"
    yield name
    files = fsspec.filesystem("memory")
    if files.exists(name):
        files.rm(name, recursive=True)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "file"
    path.write_bytes(b"content")
    return path


@pytest.fixture
def shelf(folder: str, fake_distribution: Any) -> str:
    """A folder of the scheme `shelf`, for which a distribution is installed."""
    from fsspec.implementations.memory import MemoryFileSystem

    fsspec.register_implementation("shelf", MemoryFileSystem, clobber=True)
    code = f"shelf_{uuid.uuid4().hex}"
    made = fake_distribution(CODE, {"evalkit.storage": {"shelf": "Shelf"}}, name=code)
    assert made
    return f"shelf://{folder}"


def test_what_was_written_is_read(folder: str, file: Path) -> None:
    store: Store = Memory()
    uri = f"memory://{folder}/a folder/ä?#%20.json"
    assert store.stat(uri) is None
    assert store.stat(f"memory://{folder}") is None
    put = store.put(file, uri, ALWAYS)
    found = store.stat(uri)
    assert found == put
    assert found is not None
    assert (found.uri, found.size, found.digest) == (uri, 7, None)
    assert abs(found.modified - file.stat().st_mtime) < 100
    assert b"".join(store.read(found, 0, 7)) == b"content"
    assert b"".join(store.read(found, 2, 5)) == b"nte"
    assert store.stat(f"memory://{folder}/a folder") is None
    store.delete(uri)
    store.delete(uri)
    assert store.stat(uri) is None


def test_objects_are_listed_below_a_folder_alone(folder: str, file: Path) -> None:
    store = Memory()
    for name in ("b/2", "b/1/x", "bc/3", "a"):
        store.put(file, f"memory://{folder}/{name}", ALWAYS)
    found = [*store.list_objects(f"memory://{folder}/b/")]
    assert [each.uri for each in found] == [
        f"memory://{folder}/b/1/x",
        f"memory://{folder}/b/2",
    ]
    assert found[1] == store.stat(f"memory://{folder}/b/2")
    assert [*store.list_objects(f"memory://{folder}/absent/")] == []


def test_conditions_are_looked_at_and_not_promised(folder: str, file: Path) -> None:
    store, uri = Memory(), f"memory://{folder}/k"
    first = store.put(file, uri, IF_ABSENT)
    with pytest.raises(ObjectExistsError, match="is there already"):
        store.put(file, uri, IF_ABSENT)
    file.write_bytes(b"other")
    store.put(file, uri, if_match(first))
    with pytest.raises(ObjectExistsError, match="was changed meanwhile"):
        store.put(file, uri, if_match(first))
    assert store.honours_conditions(f"memory://{folder}") is False


def test_another_version_is_not_read(folder: str, file: Path) -> None:
    store, uri = Memory(), f"memory://{folder}/k"
    first = store.put(file, uri, ALWAYS)
    file.write_bytes(b"another")
    store.put(file, uri, ALWAYS)
    with pytest.raises(ObjectChangedError, match=f"{uri}: was changed meanwhile"):
        [*store.read(first, 0, 7)]
    store.delete(uri)
    with pytest.raises(ObjectChangedError, match=f"{uri}: was changed meanwhile"):
        [*store.read(first, 0, 7)]


@pytest.mark.parametrize(
    ("raised", "expected", "part"),
    [
        (ConnectionError("key=secret"), TransferError, "the connection was lost"),
        (TimeoutError("key=secret"), TransferError, "the connection was lost"),
        (PermissionError("key=secret"), StorageError, "access is denied"),
        (FileNotFoundError("key=secret"), StorageError, "no such bucket or object"),
        (RuntimeError("key=secret"), StorageError, "RuntimeError"),
    ],
)
def test_failures_name_the_uri_and_no_secret(
    folder: str,
    monkeypatch: pytest.MonkeyPatch,
    file: Path,
    raised: Any,
    expected: type[Exception],
    part: str,
) -> None:
    store, uri = Memory(), f"memory://{folder}/k"

    def fail(*_given: Any) -> None:
        raise raised

    monkeypatch.setattr(store._files, "put_file", fail)
    with pytest.raises(
        expected, match=f"^{uri}: cannot be written: .*{part}"
    ) as caught:
        store.put(file, uri, ALWAYS)
    assert "secret" not in str(caught.value)


def test_a_file_system_that_is_not_there_is_named(monkeypatch: Any) -> None:
    def fail(*_given: Any, **_options: Any) -> None:
        raise ImportError

    monkeypatch.setattr(fsspec, "filesystem", fail)
    with pytest.raises(StorageError, match="gs:// needs gcsfs: pip install gcsfs"):
        GoogleStore().stat("gs://b/k")


def test_entry_points_are_named_like_the_schemes() -> None:
    settings = Path(__file__).parents[1] / "pyproject.toml"
    project = tomllib.loads(settings.read_text(encoding="utf-8"))["project"]
    assert project["entry-points"]["evalkit.storage"] == {
        store.protocol: f"{store.__module__}:{store.__name__}"
        for store in (AzureStore, GoogleStore)
    }


# Within evalkit


def test_data_and_predictions_are_read_and_runs_are_written(
    shelf: str, tmp_path: Path
) -> None:
    rows = [
        {"uid": str(n), "statement": "x", "label": ("positive", "negative")[n % 2]}
        for n in range(10)
    ]
    said = [{"id": row["uid"], "label": "positive"} for row in rows]
    for name, lines in (("test.jsonl", rows), ("mine.jsonl", said)):
        local = tmp_path / name
        local.write_text("".join(json.dumps(line) + "\n" for line in lines))
        with pytest.raises(StorageError, match=r"ignores the condition.*--overwrite"):
            write(local, f"{shelf}/{name}", overwrite=False)
        write(local, f"{shelf}/{name}", overwrite=True)
    given: dict[str, Any] = {
        "data": f"{shelf}/test.jsonl",
        "task": "sentiment",
        "predictions": f"{shelf}/mine.jsonl",
    }
    assert evalkit.evaluate(**given)["accuracy"].value == 0.5
    result = evalkit.evaluate(**given, out=f"{shelf}/runs")
    assert result.path is not None
    assert evalkit.read_run(str(result.path))["accuracy"].value == 0.5


def write(path: Path, uri: str, *, overwrite: bool) -> None:
    from evalkit.storage import file_to_write

    with file_to_write(uri, overwrite=overwrite) as target:
        target.write_bytes(path.read_bytes())


def test_it_is_found_by_its_scheme(shelf: str, file: Path) -> None:
    assert store_of(f"{shelf}/k").identity(shelf) == "shelf "
    send_file(file, f"{shelf}/k", overwrite=True)
    found = fetch_file(f"{shelf}/k")
    assert found is not None
    assert found.read_bytes() == b"content"
