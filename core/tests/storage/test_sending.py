"""Files are written to a path, or sent to a store when they are whole."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import pytest
from memory_store import MemoryStore

from evalkit.errors import ObjectExistsError, StorageError
from evalkit.storage import StoredObject, file_to_write, send_file
from evalkit_commands_perturb import perturb_dataset
from evalkit_models_base import load_inputs

FILE = "mem://b/folder/file.jsonl"


def test_a_path_is_a_path(tmp_path: Path) -> None:
    with file_to_write(tmp_path / "x", overwrite=False) as path:
        assert path == tmp_path / "x"


def test_a_file_is_sent_when_it_is_whole(store: MemoryStore, tmp_path: Path) -> None:
    with file_to_write(FILE, overwrite=False) as path:
        path.write_text("content")
        assert str(path) == FILE
        assert FILE not in store.contents
    assert store.contents[FILE] == b"content"
    assert store.digests[FILE] == f"sha256:{hashlib.sha256(b'content').hexdigest()}"
    assert [*(tmp_path / "cache" / "outgoing").iterdir()] == []


def test_nothing_is_sent_after_an_error(store: MemoryStore) -> None:

    def fail() -> None:
        with file_to_write(FILE, overwrite=False) as path:
            path.write_text("half")
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert store.contents == {}
    with file_to_write(FILE, overwrite=False) as path:
        assert not path.exists()
        path.write_text("whole")
    assert store.contents[FILE] == b"whole"


def test_what_is_there_is_not_replaced(store: MemoryStore, tmp_path: Path) -> None:
    store.add(FILE, b"first")
    with (
        pytest.raises(
            ObjectExistsError, match=rf"{FILE} is there already; .*overwrite"
        ),
        file_to_write(FILE, overwrite=False),
    ):
        pass
    (tmp_path / "x").write_text("second")
    with pytest.raises(ObjectExistsError, match=f"{FILE} is there already"):
        send_file(tmp_path / "x", FILE, overwrite=False)
    with file_to_write(FILE, overwrite=True) as path:
        path.write_text("second")
    assert store.contents[FILE] == b"second"


def test_what_cannot_be_sent_is_kept(store: MemoryStore) -> None:
    def write() -> None:
        with file_to_write(FILE, overwrite=False) as path:
            path.write_text("second")
            store.add(FILE, b"first")

    with pytest.raises(ObjectExistsError, match="is kept in") as caught:
        write()
    kept = Path(str(caught.value).rpartition(" ")[2])
    assert kept.read_text() == "second"
    assert store.contents[FILE] == b"first"


def test_a_store_that_ignores_conditions_is_refused(store: MemoryStore) -> None:
    store.honours = False
    with (
        pytest.raises(StorageError, match=r"ignores the condition .*--overwrite"),
        file_to_write(FILE, overwrite=False),
    ):
        pass
    with file_to_write(FILE, overwrite=True) as path:
        path.write_text("content")
    assert store.contents[FILE] == b"content"


@pytest.mark.parametrize("name", ["mem://b/", "mem://b", "mem://b/folder/"])
def test_a_folder_is_no_file(store: MemoryStore, name: str) -> None:
    with (
        pytest.raises(StorageError, match="names a folder; add the name of a file"),
        file_to_write(name, overwrite=False),
    ):
        pass


def test_offline_nothing_is_written(
    store: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EVALKIT_OFFLINE", "1")
    with (
        pytest.raises(StorageError, match="EVALKIT_OFFLINE forbids the network"),
        file_to_write(FILE, overwrite=True),
    ):
        pass


def test_a_write_whose_answer_was_lost_is_done(
    store: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    put = store.put

    def twice(*given: Any, **named: Any) -> StoredObject:
        put(*given, **named)
        return put(*given, **named)

    monkeypatch.setattr(store, "put", twice)
    with file_to_write(FILE, overwrite=False) as path:
        path.write_bytes(b"one")
    assert store.contents[FILE] == b"one"


def test_inputs_go_to_a_store(store: MemoryStore, mini: object) -> None:
    load_inputs("mini").save(FILE)
    assert store.contents[FILE].startswith(b'{"uid": "1"')
    with pytest.raises(StorageError, match=f"{FILE} is there already"):
        load_inputs("mini").save(FILE)


def test_copies_do_not_replace_their_originals(store: MemoryStore) -> None:
    rows = b'{"uid": "1", "statement": "I love this", "label": "positive"}\n'
    store.add(FILE, rows)
    for out in (FILE, FILE.replace("mem://", "MEM://")):
        with pytest.raises(StorageError, match=f"{FILE} holds the originals"):
            perturb_dataset(
                FILE,
                out,
                perturbations=["uppercase-words"],
                task="sentiment",
                overwrite=True,
            )
    assert store.contents[FILE] == rows


def test_perturbed_copies_go_to_a_store(store: MemoryStore, mini: object) -> None:
    told: list[str] = []
    perturb_dataset(
        "mini",
        FILE,
        perturbations=["uppercase-words"],
        fields=["text"],
        progress=lambda text, share: told.append(text),
    )
    assert store.contents[FILE].count(b"\n") == 3
    with pytest.raises(StorageError, match=f"{FILE} is there already"):
        perturb_dataset(
            "mini", FILE, perturbations=["uppercase-words"], fields=["text"]
        )
    with pytest.raises(StorageError, match=r"\.jsonl"):
        perturb_dataset(
            "mini", "mem://b/x.csv", perturbations=["uppercase-words"], fields=["text"]
        )
