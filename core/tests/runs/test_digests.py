"""What was changed since it was written is not taken for what was written."""

import hashlib
import json
import os
import random
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from edited_runs import seal_again, write_record

import evalkit
from evalkit.errors import EvalkitError, StorageError
from evalkit.runs.folders import find_damage, write_file
from evalkit.runs.recorded import FileDigest
from evalkit.runs.results import Result
from evalkit.runs.stored import read_run

ROWS = [{"id": "1", "label": "yes"}, {"id": "2", "label": "no"}, {"id": "9"}]


@pytest.fixture
def saved(mini: Any, tmp_path: Path) -> Callable[[], Result]:
    def save() -> Result:
        return evalkit.evaluate(
            "mini", ROWS, out=tmp_path, on_missing="skip", on_invalid="skip"
        )

    return save


@pytest.fixture
def run(saved: Callable[[], Result]) -> Path:
    path = saved().path
    assert path is not None
    return path


def files(run: Path) -> list[Path]:
    return sorted(path for path in run.rglob("*") if path.is_file())


def read_all(run: Path) -> None:
    found = read_run(run)
    _ = (found.examples, found.responses, found.statistics, list(found.problems))


def test_a_record_holds_the_digests_of_all_other_files(run: Path) -> None:
    record = json.loads((run / "run.json").read_bytes())
    others = [path for path in files(run) if path.name != "run.json"]
    assert record["files"] == {
        path.relative_to(run).as_posix(): {
            "size": path.stat().st_size,
            "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
        }
        for path in others
    }
    assert {path.name for path in others} >= {
        *("examples.parquet", "problems.jsonl", "scores.parquet")
    }


def test_every_flipped_bit_is_noticed_by_who_reads_the_file(run: Path) -> None:
    chance = random.Random(0)
    for path in (each for each in files(run) if each.name != "run.json"):
        before = path.read_bytes()
        for _ in range(40):
            changed = bytearray(before)
            changed[chance.randrange(len(before))] ^= 1 << chance.randrange(8)
            path.write_bytes(changed)
            assert len(find_damage(run)) == 1
            if path.name != "scores.parquet":  # nobody reads it but users
                with pytest.raises(StorageError, match=str(path)):
                    read_all(run)
        path.write_bytes(before)
    assert find_damage(run) == []


def test_a_file_that_is_missing_is_named(run: Path) -> None:
    for path in files(run):
        before = path.read_bytes()
        path.unlink()
        [why] = find_damage(run)
        assert why.startswith(str(path))
        path.write_bytes(before)


@pytest.mark.parametrize("name", ["problems.jsonl", "examples.parquet", "run.json"])
def test_what_is_no_regular_file_is_not_waited_for(run: Path, name: str) -> None:
    (run / name).unlink()
    os.mkfifo(run / name)
    with pytest.raises(StorageError, match=r"not a regular file|no run folder"):
        read_all(run)


@pytest.mark.parametrize("changes", [{}, {"files": {}}])
def test_a_record_without_digests_is_refused(
    run: Path, changes: dict[str, Any]
) -> None:
    record = json.loads((run / "run.json").read_bytes())
    del record["files"]
    (run / "run.json").write_text(json.dumps({**record, **changes}), "utf-8")
    with pytest.raises(StorageError, match="holds no digests of the files of the run"):
        read_run(run)


def test_verify_names_every_damaged_file(run: Path) -> None:
    assert evalkit.verify(run).agrees
    for name in ("scores.parquet", "problems.jsonl"):
        (run / name).write_bytes(b"")
    with pytest.raises(StorageError) as caught:
        evalkit.verify(run)
    assert "scores.parquet: is damaged" in str(caught.value)
    assert "problems.jsonl: is damaged" in str(caught.value)


def test_a_table_that_the_run_did_not_write_is_not_read(run: Path) -> None:
    pl.DataFrame({"id": ["1"]}).write_parquet(run / "effects.parquet")
    assert read_run(run).tables == {}


def test_edited_statistics_are_not_read(run: Path) -> None:
    path = files(run / "statistics")[0]
    frame = pl.read_parquet(path)
    number = next(name for name, kind in frame.schema.items() if kind.is_float())
    frame.with_columns(pl.lit(1.0).alias(number)).write_parquet(path)
    with pytest.raises(StorageError, match=f"{path.name}: is damaged"):
        _ = read_run(run).statistics
    seal_again(run)
    assert read_run(run).statistics


ODD_NAMES = ["../../ESC", "..", ".", "", "a/b", "/etc", "a\0b", ".hidden"]


@pytest.mark.parametrize("name", ODD_NAMES)
@pytest.mark.parametrize("key", ["dataset", "model", "fingerprint"])
def test_names_of_a_record_do_not_lead_out_of_the_folder(
    run: Path, tmp_path: Path, key: str, name: str
) -> None:
    record = json.loads((run / "run.json").read_bytes())
    write_record(run, {**record, key: name})
    out = tmp_path / "deep" / "er" / "out"
    with suppress(EvalkitError):
        read_run(run).save(out)
    assert not list(tmp_path.rglob("ESC*"))
    written = [path for path in tmp_path.rglob("run.json") if path.parent != run]
    assert all(len(path.relative_to(out).parts) == 3 for path in written)


@pytest.mark.parametrize("name", ["/etc/hostname", "../../x", "a/../../../b"])
def test_files_elsewhere_are_none_of_the_run(run: Path, name: str) -> None:
    record = json.loads((run / "run.json").read_bytes())
    record["files"][name] = {"size": 0, "sha256": "0" * 64}
    (run / "run.json").write_text(json.dumps(record), "utf-8")
    [why] = find_damage(run)
    assert "names a file elsewhere" in why


@pytest.mark.skipif(sys.platform != "linux", reason="asks /proc for names of files")
def test_all_is_synced_before_the_run_appears(
    saved: Callable[[], Result], monkeypatch: pytest.MonkeyPatch
) -> None:
    steps: list[str] = []
    fsync, rename = os.fsync, Path.rename

    def synced(descriptor: int) -> None:
        steps.append(Path(f"/proc/self/fd/{descriptor}").readlink().name)
        fsync(descriptor)

    def renamed(self: Path, target: Path) -> Path:
        steps.append("renamed")
        return rename(self, target)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(Path, "rename", renamed)
    run = saved().path
    assert run is not None
    place = steps.index("renamed")
    assert {path.name for path in files(run)} <= set(steps[:place])
    assert [name for name in steps[:place] if "." in name[1:]][-2] == "run.json"
    assert steps[place - 1] == "statistics" or steps[place - 1].endswith(".partial")
    assert steps[place + 1 :] == [run.parent.name]


def test_a_file_is_never_written_through_a_symlink(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("mine")
    (tmp_path / "new").symlink_to(victim)
    with pytest.raises(FileExistsError):
        write_file(tmp_path / "new", [b"theirs"])
    assert victim.read_text() == "mine"
    assert write_file(tmp_path / "other", [b"a", b"b"]) == FileDigest.of(b"ab")
