"""Copies that are called by their URIs."""

from __future__ import annotations

import os
import pickle
from pathlib import Path

import pytest

from evalkit.places.fetched import FetchedPath, is_same_file


@pytest.fixture
def folder(tmp_path: Path) -> FetchedPath:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "x.jsonl.gz").write_text("content")
    return FetchedPath(tmp_path / "a", "s3://b/a")


def test_people_read_the_uri_and_files_are_opened(folder: FetchedPath) -> None:
    file = folder / "x.jsonl.gz"
    assert str(file) == f"{file}" == file.uri == "s3://b/a/x.jsonl.gz"
    assert file.read_text() == "content"
    with open(file) as stream:  # noqa: PTH123 - as libraries do
        assert stream.read() == "content"
    assert os.fspath(file) == str(file.local)
    assert file.is_file()
    assert file.exists()
    assert (file.name, file.suffix, file.stem) == ("x.jsonl.gz", ".gz", "x.jsonl")
    assert file.stat().st_size == 7
    assert file.samefile(file.local)
    assert "s3://b/a/x.jsonl.gz" in repr(file)


def test_what_is_in_a_folder_has_uris(folder: FetchedPath) -> None:
    [file] = folder.iterdir()
    assert str(file) == "s3://b/a/x.jsonl.gz"
    assert [*folder.rglob("*")] == [*folder.glob("*.gz")] == [file.local]
    assert [path.relative_to(folder) for path in folder.rglob("*")] == [Path(file.name)]


def test_other_paths_are_those_of_the_cache(folder: FetchedPath) -> None:
    file = folder / "x.jsonl.gz"
    assert type(file.parent) in (type(Path()), FetchedPath)
    assert str(file.parent) == str(folder.local)
    assert str(file.with_name("y")) == str(folder.local / "y")
    assert str(Path(file)) == str(file.local)
    assert file.relative_to(folder) == Path(file.name)
    assert file.is_relative_to(folder)
    assert not file.is_relative_to("/nowhere")
    assert str(FetchedPath(folder.local)) == str(folder.local)


def test_it_is_the_same_path_as_its_place(folder: FetchedPath) -> None:
    file = folder / "x.jsonl.gz"
    assert file == file.local
    assert file.local == file
    assert file != folder
    assert file != "s3://b/a/x.jsonl.gz"
    assert len({file, file.local}) == 1
    assert sorted([file, folder]) == [folder, file]


def test_another_process_gets_both(folder: FetchedPath) -> None:
    file = pickle.loads(pickle.dumps(folder / "x.jsonl.gz"))
    assert (str(file), file.read_text()) == ("s3://b/a/x.jsonl.gz", "content")


def test_files_are_the_same_by_place_or_uri(tmp_path: Path) -> None:
    path, link = tmp_path / "x", tmp_path / "link"
    assert not is_same_file(path, path)
    path.touch()
    link.symlink_to(path)
    assert is_same_file(path, link)
    assert not is_same_file(path, tmp_path)
    to_write = FetchedPath(tmp_path / "outgoing", "mem://b/x")
    assert is_same_file(to_write, FetchedPath(path, "mem://b/x"))
    assert not is_same_file(to_write, FetchedPath(path, "mem://b/y"))
    assert not is_same_file(to_write, path)
