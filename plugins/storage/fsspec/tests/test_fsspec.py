"""The places over fsspec's file system in memory, under a scheme of its own."""

import json
import tomllib
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fsspec
import pytest
from fsspec.implementations.local import LocalFileSystem
from fsspec.implementations.memory import MemoryFileSystem

import evalkit
from evalkit.errors import ObjectExistsError, StorageError, TransferError
from evalkit.places import local_file, place_of, put
from evalkit_storage_fsspec.place import Azure, FsspecPlace, GoogleCloud, Ssh
from evalkit_testing import check_storage

CODE = """
from evalkit_storage_fsspec.place import FsspecPlace

class Shelf(FsspecPlace):
    protocol = "shelf"
"""


class OwnPositions(MemoryFileSystem):
    """Reads for several threads: `open` hands the same object to all of them."""

    def get_file(self, rpath: str, lpath: str, **options: Any) -> None:
        Path(lpath).write_bytes(self.cat_file(rpath))


class Memory(FsspecPlace):
    protocol = "memory"

    def _open(self, options: dict[str, Any]) -> Any:
        return OwnPositions(**options)


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
    fsspec.register_implementation("shelf", MemoryFileSystem, clobber=True)
    code = f"shelf_{uuid.uuid4().hex}"
    fake_distribution(CODE, {"evalkit.storage": {"shelf": "Shelf"}}, name=code)
    return f"shelf://{folder}"


def test_it_keeps_the_laws_of_places(folder: str) -> None:
    check_storage(f"memory://{folder}/", store=Memory)


def test_a_name_that_begins_like_a_folder_is_not_below_it(
    folder: str, file: Path
) -> None:
    place = Memory()
    for name in ("b/2", "b/1/x", "bc/3", "a"):
        place.put(file, f"memory://{folder}/{name}", overwrite=False)
    names = [entry.uri for entry in place.list(f"memory://{folder}/b/")]
    assert sorted(names) == [f"memory://{folder}/b/1/x", f"memory://{folder}/b/2"]
    assert place.local(f"memory://{folder}/b") is None
    with pytest.raises(ObjectExistsError, match="a file is there already"):
        place.put(file, f"memory://{folder}/a", overwrite=False)


def test_half_a_file_is_said(folder: str, file: Path, monkeypatch: Any) -> None:
    place = Memory()
    real = place._plain.put_file

    def cut(path: str, target: str) -> None:
        Path(path).write_bytes(Path(path).read_bytes()[:3])
        real(path, target)
        Path(path).write_bytes(b"content")

    monkeypatch.setattr(place._plain, "put_file", cut)
    with pytest.raises(StorageError, match="it did not arrive whole"):
        place.put(file, f"memory://{folder}/k", overwrite=False)


@pytest.mark.parametrize(
    ("raised", "expected", "part"),
    [
        (ConnectionError("key=secret"), TransferError, "the connection was lost"),
        (TimeoutError("key=secret"), TransferError, "the connection was lost"),
        (PermissionError("key=secret"), StorageError, "access is denied"),
        (FileNotFoundError("key=secret"), StorageError, "no such bucket or file"),
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
    place, uri = Memory(), f"memory://{folder}/k"

    def fail(*_given: Any) -> None:
        raise raised

    monkeypatch.setattr(place._plain, "put_file", fail)
    with pytest.raises(
        expected, match=f"^{uri}: cannot be written: .*{part}"
    ) as caught:
        place.put(file, uri, overwrite=True)
    assert "secret" not in str(caught.value)


def test_a_file_system_that_is_not_there_is_named(monkeypatch: Any) -> None:
    def fail(*_given: Any, **_options: Any) -> None:
        raise ImportError

    monkeypatch.setattr(fsspec, "filesystem", fail)
    with pytest.raises(StorageError, match="gs:// needs gcsfs: pip install gcsfs"):
        GoogleCloud().local("gs://b/k")


def test_hosts_of_ssh_have_file_systems_of_their_own(
    file: Path, folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[dict[str, Any]] = []

    def connect(protocol: str, **options: Any) -> Any:
        opened.append({"protocol": protocol, **options})
        return LocalFileSystem(auto_mkdir=True)

    monkeypatch.setattr(fsspec, "filesystem", connect)
    place, root = Ssh(), f"{file.parent}/remote"
    check_storage(f"ssh://me@host:22{root}/", store=place, laws=["written", "listed"])
    assert Path(root).is_dir()
    assert place.local(f"ssh://other{root}/absent") is None
    hosts = [(each["protocol"], each["host"], each.get("username")) for each in opened]
    assert hosts == [("ssh", "host", "me"), ("ssh", "other", None)]


def test_entry_points_are_named_like_the_schemes() -> None:
    settings = Path(__file__).parents[1] / "pyproject.toml"
    project = tomllib.loads(settings.read_text(encoding="utf-8"))["project"]
    assert project["entry-points"]["evalkit.storage"] == {
        place.protocol: f"{place.__module__}:{place.__name__}"
        for place in (Azure, GoogleCloud, Ssh)
    }


def test_data_and_predictions_are_read_and_runs_are_written(
    shelf: str, tmp_path: Path
) -> None:
    rows = [
        {"uid": str(n), "statement": "x", "label": ("positive", "negative")[n % 2]}
        for n in range(10)
    ]
    said = [{"id": row["uid"], "label": "positive"} for row in rows]
    for name, lines in (("test.jsonl", rows), ("mine.jsonl", said)):
        path = tmp_path / name
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))
        put(path, f"{shelf}/{name}")
    given: dict[str, Any] = {
        "data": f"{shelf}/test.jsonl",
        "task": "sentiment",
        "predictions": f"{shelf}/mine.jsonl",
    }
    result = evalkit.evaluate(**given, out=f"{shelf}/runs")
    assert result.path is not None
    assert evalkit.read_run(str(result.path))["accuracy"].value == 0.5
    assert isinstance(place_of(f"{shelf}/k"), FsspecPlace)
    assert local_file(f"{shelf}/none") is None
