"""The index of a folder never makes a list of runs wrong, whatever it holds."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from edited_runs import write_record

import evalkit
from evalkit.errors import StorageError
from evalkit.runs import find_run, index, list_runs, listing, read_run
from evalkit.runs.index import INDEX_FILE

ROWS = [{"id": str(number), "label": "yes"} for number in (1, 2, 3)]

COUNT = 3


@pytest.fixture
def root(mini: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Make three runs in a folder that is large enough for an index."""
    monkeypatch.setattr(index, "FEWEST", 2)
    monkeypatch.setattr(index, "_SETTLED", 0)
    made = evalkit.evaluate("mini", ROWS, out=tmp_path / "made").path
    assert made is not None
    for number in range(COUNT):
        copy_run(made, tmp_path / "runs" / "mini" / f"{number:016x}", f"m{number}")
    yield tmp_path / "runs"
    assert [path.name for path in tmp_path.rglob(f"{INDEX_FILE}-*")] == []


def copy_run(original: Path, folder: Path, model: str) -> None:
    shutil.copytree(original, folder)
    record = json.loads((folder / "run.json").read_bytes())
    started = f"2025-03-01T10:00:{int(folder.name, 16):02}+00:00"
    timings = {"started": started, "seconds": 1.0}
    changes = {"run_id": folder.name, "model": model, "timings": timings}
    write_record(folder, {**record, **changes})


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Note the records that are read in full."""
    names: list[str] = []

    def read(folder: Path) -> Any:
        names.append(folder.name)
        return real(folder)

    real = listing.read_record
    monkeypatch.setattr(listing, "read_record", read)
    return names


def without_index(root: Path) -> Any:
    """List a folder without its index, and put that back."""
    place, kept = root / INDEX_FILE, root.parent / "kept"
    place.rename(kept)
    found = list_runs(root)
    kept.replace(place)
    return found


def edit_index(root: Path, edit: Callable[[dict[str, Any]], Any]) -> None:
    """Edit an index as somebody would who computes the digest anew."""
    place = root / INDEX_FILE
    found = json.loads(place.read_bytes().partition(b"\n")[2])
    body = json.dumps(edit(found) or found).encode()
    place.write_bytes(hashlib.sha256(body).hexdigest().encode() + b"\n" + body)


def test_a_second_list_reads_no_record_and_says_the_same(
    root: Path, reads: list[str]
) -> None:
    first = list_runs(root)
    assert len(reads) == COUNT
    second = list_runs(root)
    assert len(reads) == COUNT
    assert second == first == without_index(root)
    assert [type(run) for run in second] == [type(run) for run in first]
    assert second[0].headline == read_run(second[0].path).headline
    assert second[0].bounds == {"hits": (0.0, 1.0)}
    assert find_run("m1", root).name == f"{1:016x}"
    assert find_run("latest", root) == second[0].path


def test_few_runs_have_no_index(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index, "FEWEST", COUNT + 1)
    list_runs(root)
    assert not (root / INDEX_FILE).exists()


def test_a_file_that_was_just_written_is_not_kept(
    root: Path, reads: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index, "_SETTLED", 3_600_000_000_000)
    for _ in range(2):
        list_runs(root)
    assert len(reads) == 2 * COUNT
    assert not (root / INDEX_FILE).exists()


def test_new_changed_and_removed_runs_are_seen(root: Path, reads: list[str]) -> None:
    list_runs(root)
    shutil.rmtree(root / "mini" / f"{0:016x}")
    changed = root / "mini" / f"{1:016x}"
    record = json.loads((changed / "run.json").read_bytes())
    write_record(changed, {**record, "model": "k1"})
    copy_run(changed, root / "mini" / f"{7:016x}", "m7")
    reads.clear()
    assert [run.model for run in list_runs(root)] == ["m7", "m2", "k1"]
    assert sorted(reads) == [f"{1:016x}", f"{7:016x}"]
    entries = json.loads((root / INDEX_FILE).read_bytes().partition(b"\n")[2])["runs"]
    assert sorted(entries) == [f"mini/{number:016x}" for number in (1, 2, 7)]


@pytest.mark.parametrize("restored", [False, True])
def test_a_damaged_run_is_never_reported_from_the_index(
    root: Path, restored: bool
) -> None:
    list_runs(root)
    file = root / "mini" / f"{2:016x}" / "run.json"
    before, content = file.stat(), file.read_bytes()
    file.write_bytes(content.replace(b'"m2"', b'"n2"'))
    if restored:  # the size is the same, and so is the time of writing
        os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    runs = list_runs(root)
    assert [run.model for run in runs] == ["m1", "m0", None]
    assert "is damaged or was changed" in str(runs[2].problem)
    assert runs == without_index(root)
    with pytest.raises(StorageError, match="there is no run 'm2'"):
        find_run("m2", root)


def test_broken_runs_are_named_each_time(root: Path) -> None:
    (root / "mini" / f"{1:016x}" / "run.json").write_text("{", "utf-8")
    (root / "mini" / "leftover").mkdir()
    for _ in range(2):
        problems = [run.problem for run in list_runs(root) if run.problem]
        assert ["is not JSON" in problem for problem in problems] == [False, True]


def test_a_run_that_was_evaluated_again_is_the_latest(root: Path) -> None:
    list_runs(root)
    notes = root / "mini" / ".evaluated"
    notes.mkdir()
    (notes / f"{0:016x}").write_text("2025-04-01T10:00:00+00:00\n")
    assert list_runs(root)[0].evaluated == "2025-04-01T10:00:00+00:00"
    assert find_run("latest", root).name == f"{0:016x}"


def cut(content: bytes) -> bytes:
    return content[: len(content) // 2]


def changed(content: bytes) -> bytes:
    return content.replace(b"m1", b"xx")


def nested(_content: bytes) -> bytes:
    body = b"[" * 100_000
    return hashlib.sha256(body).hexdigest().encode() + b"\n" + body


def not_text(_content: bytes) -> bytes:
    body = b"\xff"
    return hashlib.sha256(body).hexdigest().encode() + b"\n" + body


@pytest.mark.parametrize(
    "edit", [cut, changed, nested, not_text, lambda _: b"", lambda _: b"\n"]
)
def test_a_broken_index_is_made_again(
    root: Path, reads: list[str], edit: Callable[[bytes], bytes]
) -> None:
    first = list_runs(root)
    whole = (root / INDEX_FILE).read_bytes()
    (root / INDEX_FILE).write_bytes(edit(whole))
    reads.clear()
    assert list_runs(root) == first
    assert len(reads) == COUNT
    assert (root / INDEX_FILE).read_bytes() == whole


def other_version(found: dict[str, Any]) -> None:
    found["core"] = "0.0.1"


def no_object(_found: dict[str, Any]) -> Any:
    return [1]


def runs_are_a_list(found: dict[str, Any]) -> None:
    found["runs"] = list(found["runs"].values())


def entry_of(found: dict[str, Any]) -> Any:
    return found["runs"][f"mini/{1:016x}"]


def no_entry(found: dict[str, Any]) -> None:
    found["runs"][f"mini/{1:016x}"] = 7


def a_field_too_few(found: dict[str, Any]) -> None:
    del entry_of(found)[1]["model"]


def a_number_for_a_model(found: dict[str, Any]) -> None:
    entry_of(found)[1]["model"] = 7


def a_text_for_a_score(found: dict[str, Any]) -> None:
    entry_of(found)[1]["headline"]["value"] = "1.0"


def no_score(found: dict[str, Any]) -> None:
    entry_of(found)[1]["headline"] = {"value": 1.0}


def bounds_that_are_none(found: dict[str, Any]) -> None:
    entry_of(found)[1]["bounds"] = {"hits": [0.0]}


@pytest.mark.parametrize(
    "edit",
    [
        *(other_version, no_object, runs_are_a_list, no_entry, a_field_too_few),
        *(a_number_for_a_model, a_text_for_a_score, no_score, bounds_that_are_none),
    ],
)
def test_an_index_of_another_form_is_made_again(
    root: Path, reads: list[str], edit: Callable[[dict[str, Any]], Any]
) -> None:
    first = list_runs(root)
    edit_index(root, edit)
    reads.clear()
    assert list_runs(root) == first
    assert len(reads) == COUNT


@pytest.mark.parametrize("place", range(4))
def test_an_entry_of_another_file_is_not_believed(
    root: Path, reads: list[str], place: int
) -> None:
    first = list_runs(root)

    def other_stamp(found: dict[str, Any]) -> None:
        entry_of(found)[0][place] += 1

    edit_index(root, other_stamp)
    reads.clear()
    assert list_runs(root) == first
    assert reads == [f"{1:016x}"]


def test_a_copied_folder_does_not_believe_the_index_that_came_with_it(
    root: Path, reads: list[str], tmp_path: Path
) -> None:
    list_runs(root)
    shutil.copytree(root, tmp_path / "copy", copy_function=shutil.copy2)
    reads.clear()
    assert [run.path.parents[1].name for run in list_runs(tmp_path / "copy")] == [
        "copy"
    ] * COUNT
    assert len(reads) == COUNT
    root.rename(tmp_path / "moved")
    reads.clear()
    moved = list_runs(tmp_path / "moved")
    assert reads == []
    assert moved[0].path == tmp_path / "moved" / "mini" / f"{COUNT - 1:016x}"
    (tmp_path / "moved").rename(root)


def test_an_index_that_is_no_file_is_neither_waited_for_nor_followed(
    root: Path, tmp_path: Path
) -> None:
    os.mkfifo(root / INDEX_FILE)
    first = list_runs(root)
    (tmp_path / "elsewhere").write_text("mine")
    (root / INDEX_FILE).unlink()
    (root / INDEX_FILE).symlink_to(tmp_path / "elsewhere")
    assert list_runs(root) == first
    assert (tmp_path / "elsewhere").read_text() == "mine"
    assert not (root / INDEX_FILE).is_symlink()
    (root / INDEX_FILE).unlink()
    (root / INDEX_FILE).mkdir()
    assert list_runs(root) == first
    (root / INDEX_FILE).rmdir()


def test_a_folder_that_cannot_be_written_is_listed_all_the_same(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = list_runs(root)
    (root / INDEX_FILE).unlink()

    def refuse(_path: Path, *_arguments: Any, **_options: Any) -> Any:
        raise PermissionError(13, "Permission denied")

    with monkeypatch.context() as patch:
        patch.setattr(Path, "open", refuse)
        assert list_runs(root) == first
    assert not (root / INDEX_FILE).exists()


def test_a_file_that_changes_while_it_is_read_is_not_kept(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = listing.read_record

    def read(folder: Path) -> Any:
        found = real(folder)
        record = json.loads((folder / "run.json").read_bytes())
        write_record(folder, {**record, "model": "later"})
        return found

    with monkeypatch.context() as patch:
        patch.setattr(listing, "read_record", read)
        list_runs(root)
    assert {run.model for run in list_runs(root)} == {"later"}


def test_many_writers_leave_a_whole_index(root: Path, reads: list[str]) -> None:
    first = list_runs(root)
    found = []

    def work() -> None:
        for _ in range(5):
            (root / INDEX_FILE).unlink(missing_ok=True)
            found.append(list_runs(root))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(runs == first for runs in found)
    list_runs(root)
    reads.clear()
    assert list_runs(root) == first
    assert reads == []


def test_what_a_killed_process_left_is_removed_when_it_is_old(root: Path) -> None:
    old, new = (root / f"{INDEX_FILE}-{name}.tmp" for name in "ab")
    for path in (old, new):
        path.write_text("")
    os.utime(old, (time.time() - 4000,) * 2)
    list_runs(root)
    assert (old.exists(), new.exists()) == (False, True)
    new.unlink()
