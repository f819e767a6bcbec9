"""What looks like a run is a whole one."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import shutil
import threading
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import evalkit
from evalkit.base.violations import Violation
from evalkit.errors import EvalkitError, StorageError
from evalkit.predictions.alignment import Problem
from evalkit.runs import storage
from evalkit.runs.results import Result

RUN_ID = "0123456789abcdef"
RECORD = {
    **{"format": 3, "run_id": RUN_ID, "status": "complete", "dataset": "mini"},
    "counts": {},
}


def result(**record: Any) -> Result:
    values = {**RECORD, **record}
    problem = Problem("invalid", 3, "b", (Violation("label", "must be short", "x"),))
    return Result(values, (), (problem,), pl.DataFrame({"id": ["a", "b"]}))


def whole(folder: Path) -> bool:
    files = {"run.json", "examples.parquet", "scores.parquet", "problems.jsonl"}
    return {path.name for path in folder.iterdir()} == files


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_run_is_four_readable_files(tmp_path: Path) -> None:
    folder = result().save(tmp_path / "new" / "runs")
    assert folder == tmp_path / "new" / "runs" / "mini" / RUN_ID
    assert whole(folder)
    assert names(folder.parent) == [RUN_ID]
    assert json.loads((folder / "run.json").read_text("utf-8"))["run_id"] == RUN_ID
    assert pl.read_parquet(folder / "examples.parquet")["id"].to_list() == ["a", "b"]
    assert (folder / "problems.jsonl").read_text("utf-8") == (
        '{"status": "invalid", "line": 3, "id": "b", "violations": '
        '[{"field": "label", "rule": "must be short", "value": "x"}]}\n'
    )


def test_a_result_without_examples_has_no_file_of_them(tmp_path: Path) -> None:
    folder = Result(RECORD, (), (), None).save(tmp_path)
    assert names(folder) == ["problems.jsonl", "run.json", "scores.parquet"]
    assert (folder / "problems.jsonl").read_bytes() == b""


def test_a_run_that_is_there_is_kept_as_it_is(tmp_path: Path) -> None:
    folder = result(model="first").save(tmp_path)
    before = {path: path.stat().st_mtime_ns for path in folder.iterdir()}
    assert result(model="second").save(tmp_path) == folder
    assert {path: path.stat().st_mtime_ns for path in folder.iterdir()} == before
    assert json.loads((folder / "run.json").read_text("utf-8"))["model"] == "first"


def test_a_run_that_is_not_at_its_place_was_not_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "rename", lambda *paths: None)  # as a plugin may
    with pytest.raises(StorageError, match="cannot be written"):
        result().save(tmp_path)


@pytest.mark.parametrize("content", [[], ["scores.parquet"], ["a/b", "run.json.part"]])
def test_a_folder_without_run_json_is_replaced(
    tmp_path: Path, content: list[str]
) -> None:
    leftover = tmp_path / "mini" / RUN_ID
    leftover.mkdir(parents=True)
    for name in content:
        (leftover / name).parent.mkdir(exist_ok=True)
        (leftover / name).write_text("old", encoding="utf-8")
    folder = result().save(tmp_path)
    assert whole(folder)
    assert names(folder.parent) == [RUN_ID]


def test_a_run_published_meanwhile_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = result(model="winner").save(tmp_path / "other")
    write_run = storage.write_run

    def slower(found: Result, folder: Path) -> None:
        write_run(found, folder)
        shutil.copytree(other, tmp_path / "mini" / RUN_ID)

    monkeypatch.setattr(storage, "write_run", slower)
    folder = result(model="loser").save(tmp_path)
    assert json.loads((folder / "run.json").read_text("utf-8"))["model"] == "winner"
    assert names(tmp_path / "mini") == [RUN_ID]


def rename_with(
    monkeypatch: pytest.MonkeyPatch, before: Any, of: Path
) -> list[tuple[str, str]]:
    """Do something just before a folder is renamed for the first time."""
    rename, done = Path.rename, []

    def interfering(self: Path, target: Path) -> Path:
        if self == of and not done:
            done.append((self.name, Path(target).name))
            before()
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", interfering)
    return done


def test_a_leftover_that_another_process_moves_first_is_no_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    leftover = tmp_path / "mini" / RUN_ID
    (leftover / "part").mkdir(parents=True)
    interfered = rename_with(monkeypatch, lambda: shutil.rmtree(leftover), leftover)
    assert whole(result().save(tmp_path))
    assert interfered
    assert names(tmp_path / "mini") == [RUN_ID]


def test_a_leftover_that_becomes_a_run_at_the_last_moment_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = result(model="winner").save(tmp_path / "other")
    leftover = tmp_path / "mini" / RUN_ID
    (leftover / "part").mkdir(parents=True)

    def win() -> None:
        shutil.rmtree(leftover)
        shutil.copytree(other, leftover)

    assert rename_with(monkeypatch, win, leftover) == []
    folder = result(model="loser").save(tmp_path)
    assert json.loads((folder / "run.json").read_text("utf-8"))["model"] == "winner"
    assert names(tmp_path / "mini") == [RUN_ID]


@pytest.mark.parametrize("with_leftover", [False, True])
def test_writers_at_once_leave_one_whole_run(
    tmp_path: Path, with_leftover: bool
) -> None:
    if with_leftover:
        (tmp_path / "mini" / RUN_ID / "part").mkdir(parents=True)
    start = threading.Barrier(8)
    failures: list[BaseException] = []

    def publish(number: int) -> None:
        start.wait()
        try:
            result(model=str(number)).save(tmp_path)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=publish, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert names(tmp_path / "mini") == [RUN_ID]
    assert whole(tmp_path / "mini" / RUN_ID)


@pytest.mark.parametrize("place", ["runs", "runs/mini", f"runs/mini/{RUN_ID}"])
def test_a_file_in_place_of_a_folder_is_a_storage_error(
    tmp_path: Path, place: str
) -> None:
    path = tmp_path / place
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("mine", encoding="utf-8")
    with pytest.raises(StorageError) as caught:
        result().save(tmp_path / "runs")
    assert str(caught.value).startswith(
        f"the run {tmp_path / 'runs' / 'mini' / RUN_ID} cannot be written: "
    )
    assert path.read_text("utf-8") == "mine"
    assert list(tmp_path.rglob(".*partial")) == []


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EROFS, errno.EACCES, errno.EIO])
@pytest.mark.parametrize("step", ["fsync", "rename"])
def test_an_error_of_the_system_leaves_no_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int, step: str
) -> None:
    def fail(*_: Any) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(*((os, "fsync") if step == "fsync" else (Path, "rename")), fail)
    with pytest.raises(StorageError) as caught:
        result().save(tmp_path)
    assert str(caught.value).endswith(f"cannot be written: {os.strerror(code)}")
    assert names(tmp_path / "mini") == []


def test_an_error_while_a_table_is_written_is_a_storage_error(tmp_path: Path) -> None:
    class Full(pl.DataFrame):
        def write_parquet(self, *_: Any, **__: Any) -> None:
            raise pl.exceptions.ComputeError("underlying IO error: no space left")

    full = result()
    full.examples = Full({"id": ["a"]})
    with pytest.raises(StorageError, match="no space left"):
        full.save(tmp_path)
    assert names(tmp_path / "mini") == []


def test_an_interrupt_while_writing_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def press(_: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", press)
    with pytest.raises(KeyboardInterrupt):
        result().save(tmp_path)
    assert names(tmp_path / "mini") == []


def test_half_a_surrogate_pair_is_written_as_json_writes_it(tmp_path: Path) -> None:
    folder = result(model="\udcffname").save(tmp_path)
    text = (folder / "run.json").read_text("utf-8")
    assert r"\udcffname" in text
    assert json.loads(text)["model"] == "\udcffname"


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "a\0b", "\ud800", "a" * 300])
def test_a_name_that_no_folder_can_have_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(StorageError):
        result(dataset=name).save(tmp_path / "runs")
    assert not list(tmp_path.rglob("run.json"))


def test_what_a_dead_process_left_is_removed_by_the_next(tmp_path: Path) -> None:
    folders = {
        name: tmp_path / "mini" / f".{name}.partial" for name in ["old", "live", "new"]
    }
    for folder in folders.values():
        folder.mkdir(parents=True)
        (folder / "examples.parquet").write_bytes(b"half")
    for name in ("old", "live"):
        os.utime(folders[name], (0, 0))
    descriptor = os.open(folders["live"], os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        result().save(tmp_path)
    finally:
        os.close(descriptor)
    assert names(tmp_path / "mini") == [".live.partial", ".new.partial", RUN_ID]
    assert (folders["live"] / "examples.parquet").exists()


def test_scores_of_two_lists_cannot_be_saved(tmp_path: Path, mini: Any) -> None:
    scores = evalkit.score("hits", ["yes"], ["yes"])
    with pytest.raises(EvalkitError, match="have no run id and cannot be saved"):
        scores.save(tmp_path)


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", "{}", '{"scores": 1}', '{"scores": [1]}', '{"scores": [{}]}'],
)
def test_a_broken_run_in_its_place_is_moved_aside(tmp_path: Path, text: str) -> None:
    path = tmp_path / "mini" / RUN_ID / "run.json"
    path.parent.mkdir(parents=True)
    path.write_text(text, "utf-8")
    given = result()
    folder = given.save(tmp_path)
    assert whole(folder)
    [aside] = tmp_path.glob("mini/.*.damaged")
    assert (aside / "run.json").read_text("utf-8") == text
    assert not given.was_there
    [warning] = given.warnings
    assert warning.startswith("the run was there and damaged, so it was written anew")
    assert aside.name in warning
    assert str(path) in warning
