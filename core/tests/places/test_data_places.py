"""Examples that are named by a file or by a folder of a store."""

import re
from pathlib import Path
from typing import Any

import pytest
from memory_store import MemoryStore

import evalkit
from evalkit.errors import DataError, StorageError
from evalkit.reading.data_places import data_path

ROWS = b"".join(
    b'{"uid": "%d", "statement": "x", "label": "positive"}\n' % n for n in range(9)
)
ANSWERS = [{"id": str(n), "label": "positive"} for n in range(9)]


def test_a_path_is_a_path(tmp_path: Path) -> None:
    assert data_path(tmp_path) == tmp_path
    for name in ("x" * 5000, f"{'x' * 5000}/data.jsonl"):
        assert data_path(name) == Path(name)
        with pytest.raises(DataError, match="name too long"):
            evalkit.evaluate(data=name, task="sentiment", predictions=ANSWERS)
    with pytest.raises(DataError, match="no file of data has such a name"):
        data_path(f"{'x' * 5000}*.jsonl")
    assert data_path(str(tmp_path / "absent")) == tmp_path / "absent"


def test_a_folder_stands_for_its_one_file_of_data(
    store: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.add("mem://b/set/data/test.jsonl", ROWS)
    for other in ("README.md", ".hidden.json", "data/_notes.json", "model.bin"):
        store.add(f"mem://b/set/{other}", b"another")
    for name in ("mem://b/set", "mem://b/set/", Path("mem://b/set")):
        assert str(data_path(name)) == "mem://b/set/data/test.jsonl"
    assert store.calls["read"] == 1

    monkeypatch.setenv("EVALKIT_OFFLINE", "1")
    store.calls.clear()
    assert data_path("mem://b/set").read_bytes() == ROWS
    assert not store.calls


def test_several_files_are_named_and_none_is_fetched(store: MemoryStore) -> None:
    for number in range(12):
        store.add(f"mem://b/set/{number:02}.parquet", b"x")
    message = (
        "mem://b/set: is a folder with 12 files of data; name one of them, or those "
        "of one split by a pattern such as test-*.parquet: 00.parquet, 01.parquet"
    )
    with pytest.raises(DataError, match=f"^{re.escape(message)}.* and 2 more$"):
        data_path("mem://b/set")
    assert not store.calls["read"]


def test_a_folder_without_data_says_so(store: MemoryStore) -> None:
    store.add("mem://b/set/README.md", b"x")
    with pytest.raises(DataError, match="a folder of 1 files, none of which is read"):
        data_path("mem://b/set")


def test_there_may_be_nothing(store: MemoryStore, monkeypatch: Any) -> None:
    with pytest.raises(StorageError, match="file not found"):
        data_path("mem://b/set")
    monkeypatch.setenv("EVALKIT_OFFLINE", "1")
    with pytest.raises(StorageError, match="not in the cache"):
        data_path("mem://b/set")


def test_a_folder_is_scored_and_a_data_set_may_load_it(store: MemoryStore) -> None:
    store.add("mem://b/set/test.jsonl", ROWS)

    class Words(evalkit.Dataset):
        name = "words"
        task = "sentiment"

        def load(self, split: str) -> str:
            return "mem://b/set"

    for given in ({"data": "mem://b/set", "task": "sentiment"}, {"dataset": Words}):
        result = evalkit.evaluate(**given, predictions=ANSWERS)  # type: ignore[arg-type]
        assert result["accuracy"].value == 1.0
        assert [each.name for each in result.record.data.files] == ["test.jsonl"]
