"""What the store of `my-thing://…` reads, writes and refuses."""

from __future__ import annotations

import json
from pathlib import Path

import evalkit
import pytest
from evalkit.errors import StorageError
from evalkit.storage import IF_ABSENT, ObjectExistsError
from evalkit_testing import check_storage

from my_package.my_thing import MyThing

URI = "my-thing://films/said.jsonl"
ROWS = [{"uid": "1", "statement": "What a film!", "label": "positive"}]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MY_THING_FOLDER", str(tmp_path))
    return tmp_path


def test_what_was_written_is_read_listed_and_deleted(folder: Path) -> None:
    given = folder / "given.txt"
    given.write_text("text", encoding="utf-8")
    store = MyThing()
    store.put(given, URI, IF_ABSENT)
    found = store.stat(URI)
    assert found is not None
    assert b"".join(store.read(found, 1, 3)) == b"ex"
    assert [each.uri for each in store.list_objects("my-thing://films/")] == [URI]
    with pytest.raises(ObjectExistsError):
        store.put(given, URI, IF_ABSENT)
    store.delete(URI)
    assert store.stat(URI) is None


def test_evalkit_reads_predictions_from_it(folder: Path) -> None:
    path = folder / "films" / "said.jsonl"
    path.parent.mkdir()
    path.write_text(json.dumps({"id": "1", "label": "positive"}), encoding="utf-8")
    result = evalkit.evaluate(data=ROWS, predictions=URI, task="sentiment")
    assert result.counts["scored"] == 1


def test_nothing_outside_of_the_folder_is_touched(folder: Path) -> None:
    with pytest.raises(StorageError, match="leads out"):
        MyThing().stat("my-thing://../secret.txt")


def test_the_laws_of_stores(folder: Path) -> None:
    check_storage("my-thing://tried/")
    assert [path for path in folder.rglob("*") if path.is_file()] == []
