"""What looks like a run is a whole one."""

import errno
import json
import os
import threading
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import evalkit
from evalkit.base.violations import Violation
from evalkit.errors import StorageError
from evalkit.predictions.alignment import Problem
from evalkit.runs.listing import list_runs
from evalkit.runs.record import FORMAT_VERSION
from evalkit.runs.results import Result

FINGERPRINT = "0123456789abcdef"
STARTED = "2026-11-28T10:15:00.123456+00:00"
NAME = "20261128T101500.123Z-m-01234567"
RECORD = {
    **{"format": FORMAT_VERSION, "fingerprint": FINGERPRINT},
    **{"status": "complete", "model": "m"},
    **{"dataset": "mini", "timings": {"started": STARTED, "seconds": 1.0}},
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
    assert folder == tmp_path / "new" / "runs" / "mini" / NAME
    assert whole(folder)
    assert names(folder.parent) == [NAME]
    assert (
        json.loads((folder / "run.json").read_text("utf-8"))["fingerprint"]
        == FINGERPRINT
    )
    assert pl.read_parquet(folder / "examples.parquet")["id"].to_list() == ["a", "b"]
    assert (folder / "problems.jsonl").read_text("utf-8") == (
        '{"status": "invalid", "line": 3, "id": "b", "violations": '
        '[{"field": "label", "rule": "must be short", "value": "x"}]}\n'
    )


def test_a_run_that_is_there_is_kept_beside_a_new_one(tmp_path: Path) -> None:
    first = result().save(tmp_path)
    before = {path: path.stat().st_mtime_ns for path in first.iterdir()}
    second = result().save(tmp_path)
    assert names(tmp_path / "mini") == [first.name, second.name]
    assert second.name == "20261128T101500.124Z-m-01234567"
    assert {path: path.stat().st_mtime_ns for path in first.iterdir()} == before
    [listed] = list_runs(tmp_path)
    assert listed.path == second


@pytest.mark.parametrize(
    ("model", "shown"),
    [("org/model:2", "org_model_2"), ("\udcff ..", "_ .."), ("m" * 99, "m" * 60)],
)
def test_a_model_has_any_name(tmp_path: Path, model: str, shown: str) -> None:
    folder = result(model=model).save(tmp_path)
    assert folder.name == f"20261128T101500.123Z-{shown}-01234567"
    assert evalkit.read_run(folder).model == model


def test_writers_at_once_write_a_whole_run_each(tmp_path: Path) -> None:
    start = threading.Barrier(8)
    failures: list[BaseException] = []

    def publish() -> None:
        start.wait()
        try:
            result().save(tmp_path)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=publish) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    runs = [*(tmp_path / "mini").iterdir()]
    assert len(runs) == 8
    assert all(map(whole, runs))


@pytest.mark.parametrize("place", ["runs", "runs/mini", f"runs/mini/{NAME}"])
def test_a_file_in_place_of_a_folder_is_a_storage_error(
    tmp_path: Path, place: str
) -> None:
    path = tmp_path / place
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("mine", encoding="utf-8")
    with pytest.raises(StorageError) as caught:
        result().save(tmp_path / "runs")
    assert str(caught.value).startswith(
        f"the run {tmp_path / 'runs' / 'mini' / NAME} cannot be written: "
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


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "a\0b", "\ud800", "a" * 300])
def test_a_dataset_of_any_name_has_one_folder(tmp_path: Path, name: str) -> None:
    folder = result(dataset=name).save(tmp_path / "runs")
    assert folder.parent.parent == tmp_path / "runs"
    assert list_runs(tmp_path / "runs")[0].record.dataset == name
