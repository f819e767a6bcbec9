"""What was changed since it was written is not taken for what was written."""

from __future__ import annotations

import hashlib
import json
import os
import random
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from edited_runs import make_older, seal_again, write_record

import evalkit
from evalkit.errors import EvalkitError, StorageError
from evalkit.runs.digests import digest_of, sealed, write_file
from evalkit.runs.folders import find_damage
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
    _ = (found.examples, found.statistics, list(found.problems))


def test_a_record_holds_the_digests_of_all_files_and_its_own(run: Path) -> None:
    content = (run / "run.json").read_bytes()
    record = json.loads(content)
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
    zeros = content.replace(record["digest"].encode(), b"0" * 64)
    assert hashlib.sha256(zeros).hexdigest() == record["digest"]
    assert list(record)[-1] == "digest"


def test_every_flipped_bit_is_noticed_by_who_reads_the_file(run: Path) -> None:
    chance = random.Random(0)
    for path in files(run):
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
    with pytest.raises(StorageError, match=r"no regular file|no run folder"):
        read_all(run)


def test_a_record_without_its_digest_is_refused(run: Path) -> None:
    record = json.loads((run / "run.json").read_bytes())
    del record["digest"]
    (run / "run.json").write_text(json.dumps(record), "utf-8")
    with pytest.raises(StorageError, match="it holds no digest of itself"):
        read_run(run)


def test_a_text_that_looks_like_the_digest_does_no_harm() -> None:
    odd = {"model": '"digest": "', "scores": [{"digest": "1" * 64}]}
    content = sealed(odd)
    assert json.loads(content) == {**odd, "digest": json.loads(content)["digest"]}
    zeros = content[: -len('"\n}\n') - 64] + b"0" * 64 + b'"\n}\n'
    digest = hashlib.sha256(zeros).hexdigest()
    assert json.loads(content)["digest"] == digest


def test_a_run_of_a_version_without_digests_is_read(run: Path) -> None:
    make_older(run)
    read_all(run)
    assert find_damage(run) == []
    found = evalkit.verify(run)
    assert found.agrees
    assert any("no digests before format 3" in each for each in found.unchecked)


def without_digests(run: Path, **changes: Any) -> dict[str, Any]:
    record = json.loads((run / "run.json").read_bytes())
    kept = {key: record[key] for key in record if key not in ("digest", "files")}
    return {**kept, **changes}


def test_an_older_format_does_not_switch_the_digests_off(run: Path) -> None:
    record = without_digests(run, format=2)
    (run / "run.json").write_text(json.dumps(record), "utf-8")
    why = "says format 2, but holds 'installation', which .* since format 3"
    with pytest.raises(StorageError, match=why):
        read_run(run)
    assert len(find_damage(run)) == 1


@pytest.mark.parametrize("key", ["digest", "files"])
def test_an_older_format_holds_no_digests(run: Path, key: str) -> None:
    whole = json.loads((run / "run.json").read_bytes())
    record = without_digests(run, format=1, components=[])
    del record["components"]
    record[key] = whole[key]
    found = sealed(record) if key == "digest" else json.dumps(record).encode()
    (run / "run.json").write_bytes(found)
    with pytest.raises(StorageError, match=f"says format 1, but holds '{key}'"):
        read_run(run)


@pytest.mark.parametrize("changes", [{}, {"files": {}}])
def test_a_run_of_today_holds_the_digests_of_its_files(
    run: Path, changes: dict[str, Any]
) -> None:
    (run / "run.json").write_bytes(sealed(without_digests(run, **changes)))
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
    pl.DataFrame({"id": ["1"]}).write_parquet(run / "perturbed.parquet")
    assert read_run(run).perturbed_examples is None


@pytest.mark.parametrize("name", ["examples.parquet", "scores.parquet", "run.json"])
def test_a_damaged_run_is_repaired_and_not_kept(
    saved: Callable[[], Result], name: str
) -> None:
    path = saved().path
    assert path is not None
    (path / name).write_bytes((path / name).read_bytes()[:-9])
    again = saved()
    assert again.path == path
    assert not again.was_there
    assert find_damage(path) == []
    [aside] = path.parent.glob(".*.damaged")
    assert (aside / name).exists()
    assert "was there and damaged, so it was written anew" in again.warnings[-1]
    assert name in again.warnings[-1]
    assert saved().was_there


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
@pytest.mark.parametrize("key", ["dataset", "run_id"])
def test_names_of_a_record_do_not_lead_out_of_the_folder(
    run: Path, tmp_path: Path, key: str, name: str
) -> None:
    record = json.loads((run / "run.json").read_bytes())
    write_record(run, {**record, key: name})
    out = tmp_path / "deep" / "er" / "out"
    with pytest.raises(EvalkitError, match=r"cannot be (kept under the name|saved)"):
        read_run(run).save(out)
    if key == "dataset":
        with pytest.raises(EvalkitError):
            evalkit.rescore(run, ["macro-f1"], out=out)
    assert not list(tmp_path.rglob("ESC*"))
    assert not out.exists() or not list(out.rglob("*.json"))


@pytest.mark.parametrize("name", ["/etc/hostname", "../../x", "a/../../../b"])
def test_files_elsewhere_are_none_of_the_run(run: Path, name: str) -> None:
    record = json.loads((run / "run.json").read_bytes())
    record["files"][name] = {"size": 0, "sha256": "0" * 64}
    (run / "run.json").write_bytes(
        sealed({k: record[k] for k in record if k != "digest"})
    )
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
    assert write_file(tmp_path / "other", [b"a", b"b"]) == digest_of(b"ab")
