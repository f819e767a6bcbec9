"""What the place of `my-thing://…` reads, writes and refuses."""

from __future__ import annotations

import json
from pathlib import Path

import evalkit
import pytest
from evalkit.errors import ObjectExistsError, StorageError
from evalkit_testing import check_storage

from my_package.my_thing import MyThing

URI = "my-thing://films/said.jsonl"
ROWS = [{"uid": "1", "statement": "What a film!", "label": "positive"}]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MY_THING_FOLDER", str(tmp_path / "folder"))
    monkeypatch.setenv("EVALKIT_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "folder"


def test_what_was_written_is_read_and_listed(folder: Path, tmp_path: Path) -> None:
    file = tmp_path / "file.txt"
    file.write_text("text", encoding="utf-8")
    place = MyThing()
    assert place.local(URI) is None
    place.put(file, URI, overwrite=False)
    path = place.local(URI)
    assert path is not None
    assert path.read_text(encoding="utf-8") == "text"
    assert [entry.uri for entry in place.list("my-thing://films/")] == [URI]
    with pytest.raises(ObjectExistsError):
        place.put(file, URI, overwrite=False)


def test_evalkit_reads_predictions_from_it(folder: Path) -> None:
    path = folder / "films" / "said.jsonl"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps({"id": "1", "label": "positive"}), encoding="utf-8")
    result = evalkit.evaluate(data=ROWS, predictions=URI, task="sentiment")
    assert result.counts["scored"] == 1


def test_nothing_outside_of_the_folder_is_touched(folder: Path) -> None:
    with pytest.raises(StorageError, match="leads out"):
        MyThing().local("my-thing://../secret.txt")


def test_the_laws_of_places(folder: Path) -> None:
    check_storage("my-thing://tried/")
