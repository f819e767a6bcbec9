"""Runs in a store are whole, found, read, and never damaged by another writer."""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from memory_store import MemoryStore

import evalkit
from evalkit import Result
from evalkit.errors import ObjectExistsError, StorageError
from evalkit.runs import find_run, find_runs, index, listing, remote
from evalkit.runs.folders import read_record
from evalkit.runs.listing import list_runs
from evalkit_analysis_compare import compare

ROOT = "mem://b/runs"
ANSWERS = [{"id": "1", "label": "yes"}, {"id": "2", "label": "yes"}]
ANSWERS.append({"id": "3", "label": "no"})

pytestmark = pytest.mark.usefixtures("mini")


def run(out: str | Path = ROOT, model: str = "m") -> Result:
    return evalkit.evaluate("mini", ANSWERS, model=model, out=out)


def test_a_run_is_written_with_its_record_last(store: MemoryStore) -> None:
    order: list[str] = []
    store.before_put = order.append
    result = run()
    place = f"{ROOT}/mini/{result.run_id}"
    assert str(result.path) == place
    assert order[-1] == f"{place}/run.json"
    assert {name.removeprefix(f"{place}/") for name in store.contents} == {
        *("run.json", "scores.parquet", "examples.parquet", "problems.jsonl"),
        "statistics/hits.parquet",
    }
    assert not result.was_there


def test_it_is_the_run_that_a_folder_would_hold(
    store: MemoryStore, tmp_path: Path
) -> None:
    far, near = run(), run(tmp_path)
    assert near.path is not None
    names = [p.relative_to(near.path) for p in near.path.rglob("*") if p.is_file()]
    for name in names:
        if name.name != "run.json":
            there = store.contents[f"{ROOT}/mini/{far.run_id}/{name.as_posix()}"]
            assert there == (near.path / name).read_bytes()


@pytest.mark.parametrize(
    "name",
    [
        *("latest", "m", "m@mini", "{id}", "{start}", f"{ROOT}/mini/{{id}}"),
        *(f"{ROOT}/mini/{{id}}/run.json", f"{ROOT}:m", f"{ROOT}:{{start}}"),
    ],
)
def test_it_is_found_by_every_name(store: MemoryStore, name: str) -> None:
    result = run()
    name = name.format(id=result.run_id, start=result.run_id[:6])
    found = evalkit.find_run(name, ROOT)
    assert str(found) == f"{ROOT}/mini/{result.run_id}"
    read = evalkit.read_run(found)
    assert read.scores == result.scores
    assert read.examples is not None
    assert read.statistics["hits"].height == 3


def test_a_run_is_read_by_its_uri_alone(store: MemoryStore) -> None:
    result = run()
    assert evalkit.read_run(f"{ROOT}/mini/{result.run_id}").scores == result.scores
    with pytest.raises(StorageError, match=f"there is no run folder {ROOT}/mini/nope"):
        evalkit.read_run(f"{ROOT}/mini/nope")
    with pytest.raises(StorageError, match=f"{ROOT}/mini is no run folder.*it holds"):
        evalkit.read_run(f"{ROOT}/mini")


def test_runs_are_listed_from_their_records_alone(store: MemoryStore) -> None:
    run()
    run(model="n")
    reads: list[str] = []
    store.before_read = lambda found: reads.append(found.uri)
    listed = list_runs(ROOT)
    assert [each.model for each in listed] == ["n", "m"]
    assert all(uri.endswith("run.json") for uri in reads)
    assert list_runs("mem://b/nothing") == []


def test_verbs_take_runs_of_stores(store: MemoryStore) -> None:
    first, second = run(), run(model="n")
    compared = compare(evalkit.find_run("m", ROOT), evalkit.find_run("n", ROOT))
    assert compared.rows
    again = evalkit.verify(first.run_id, folder=ROOT)
    assert not again.differences
    rescored = evalkit.rescore("n", ["hits:weight=2"], folder=ROOT, out=ROOT)
    assert str(rescored.path).startswith(f"{ROOT}/mini/")
    assert rescored.record.parent == second.run_id


def test_the_same_run_is_kept_and_noted(store: MemoryStore) -> None:
    first = run()
    before = store.contents[f"{ROOT}/mini/{first.run_id}/run.json"]
    other = run(model="n")
    second = run()
    assert second.was_there
    assert str(second.path) == str(first.path)
    assert store.contents[f"{ROOT}/mini/{first.run_id}/run.json"] == before
    assert f"{ROOT}/mini/.evaluated/{first.run_id}" in store.contents
    assert str(evalkit.find_run("latest", ROOT)) == str(first.path)
    assert other.path is not None


def test_a_note_that_cannot_be_written_is_a_warning(store: MemoryStore) -> None:
    run()

    def refuse(uri: str) -> None:
        if ".evaluated" in uri:
            raise StorageError(f"{uri}: access is denied")

    store.before_put = refuse
    assert any("cannot be noted" in text for text in run().warnings)


def test_other_numbers_are_a_run_of_their_own(
    store: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = run()
    result = evalkit.evaluate("mini", ANSWERS, model="m")
    changed = [score._replace(value=0.5) for score in result.scores]
    other = Result(result.record, changed, (), result.examples, result.statistics)
    other.save(ROOT)
    assert other.record.repeat_of == first.run_id
    assert not other.was_there
    assert f"{ROOT}/mini/{other.run_id}/run.json" in store.contents


def test_a_damaged_run_is_neither_kept_nor_replaced(store: MemoryStore) -> None:
    first = run()
    uri = f"{ROOT}/mini/{first.run_id}/examples.parquet"
    store.add(uri, b"PAR1 damaged")
    with pytest.raises(StorageError, match="is damaged, so this one cannot be kept"):
        run()
    assert store.contents[uri] == b"PAR1 damaged"


def test_a_store_that_ignores_conditions_is_refused_first(store: MemoryStore) -> None:
    store.honours = False
    asked: list[str] = []
    with pytest.raises(StorageError, match="the server ignores the condition"):
        evalkit.evaluate(
            "mini",
            ANSWERS,
            out=ROOT,
            progress=lambda text, share: asked.append(text),
        )
    assert store.contents == {}
    assert asked == []


@pytest.mark.parametrize(
    ("out", "message"),
    [
        ("mem://", "names no bucket"),
        (Path("mem://"), "names no bucket"),
        ("zz://b/runs", "zz:// is read and written by no plugin"),
    ],
)
def test_no_place_is_refused(store: MemoryStore, out: str, message: str) -> None:
    with pytest.raises(evalkit.EvalkitError, match=message):
        run(out)


def test_offline_no_run_is_written(
    store: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EVALKIT_OFFLINE", "1")
    with pytest.raises(StorageError, match="EVALKIT_OFFLINE forbids the network"):
        run()


def _stop_after(store: MemoryStore, puts: int) -> None:
    """Let a writer die after some files."""
    count = iter(range(1000))

    def put(uri: str) -> None:
        if next(count) >= puts:
            raise KeyboardInterrupt

    store.before_put = put


@pytest.mark.parametrize("puts", range(5))
def test_what_a_dead_writer_left_is_no_run_and_is_taken_up(
    store: MemoryStore, puts: int
) -> None:
    _stop_after(store, puts)
    with pytest.raises(KeyboardInterrupt):
        run()
    assert len(store.contents) == puts
    assert not [each for each in list_runs(ROOT) if each.problem is None]
    store.before_put = lambda uri: None
    result = run()
    assert not result.was_there
    assert evalkit.verify(result.run_id, folder=ROOT).differences == ()


def test_other_files_of_a_dead_writer_are_replaced(
    store: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remote, "_WAIT_SECONDS", 0.01)
    run_id = evalkit.evaluate("mini", ANSWERS, model="m").run_id
    left = f"{ROOT}/mini/{run_id}/problems.jsonl"
    store.add(left, b"others\n")
    monkeypatch.setattr(remote.RemoteStorage.__init__, "__defaults__", (0.05,))
    result = run()
    assert store.contents[left] != b"others\n"
    assert not evalkit.verify(result.run_id, folder=ROOT).differences


def test_other_files_that_are_old_are_replaced_at_once(store: MemoryStore) -> None:
    run_id = evalkit.evaluate("mini", ANSWERS, model="m").run_id
    left = f"{ROOT}/mini/{run_id}/problems.jsonl"
    store.add(left, b"others\n")
    store.written[left] = time.time() - 7200
    started = time.monotonic()
    run()
    assert store.contents[left] != b"others\n"
    assert time.monotonic() - started < 30


def test_the_writer_of_other_files_is_waited_for(
    store: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remote, "_WAIT_SECONDS", 0.01)
    run()
    whole = dict(store.contents)
    [run_file] = [uri for uri in whole if uri.endswith("run.json")]
    record = json.loads(whole[run_file])
    other = run_file.replace("run.json", "problems.jsonl")
    del store.contents[run_file]
    # another writer's file, and soon its record
    store.add(other, b"{}\n")

    def finish() -> None:
        time.sleep(0.1)
        store.add(other, whole[other])
        store.add(run_file, whole[run_file])

    thread = threading.Thread(target=finish)
    thread.start()
    result = run()
    thread.join()
    assert result.was_there
    assert json.loads(store.contents[run_file]) == record


@pytest.mark.slow
def test_of_many_writers_one_wins(store: MemoryStore) -> None:
    results: list[Result] = []
    made = [evalkit.evaluate("mini", ANSWERS, model="m") for _ in range(8)]

    def save(result: Result) -> None:
        result.save(ROOT)
        results.append(result)

    threads = [threading.Thread(target=save, args=[result]) for result in made]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 8
    assert sum(not result.was_there for result in results) == 1
    assert not evalkit.verify("m", folder=ROOT).differences


def test_a_writer_whose_files_were_removed_says_so(store: MemoryStore) -> None:
    run_id = evalkit.evaluate("mini", ANSWERS, model="m").run_id
    place = f"{ROOT}/mini/{run_id}"

    def remove(uri: str) -> None:
        if uri.endswith("statistics/hits.parquet"):
            store.contents.pop(f"{place}/examples.parquet")

    store.before_put = remove
    with pytest.raises(StorageError, match="was removed while the run was written"):
        run()
    assert f"{place}/run.json" not in store.contents


def test_predictions_and_data_are_read_from_stores(
    store: MemoryStore, tmp_path: Path
) -> None:
    lines = "".join(json.dumps(row) + "\n" for row in ANSWERS).encode()
    store.add("mem://b/in/m.jsonl", lines)
    near = tmp_path / "m.jsonl"
    near.write_bytes(lines)
    far = evalkit.evaluate("mini", "mem://b/in/m.jsonl")
    assert far.model == "m"
    assert far.run_id == evalkit.evaluate("mini", near).run_id
    assert far.record.predictions.name == "m.jsonl"


def test_messages_about_a_line_name_the_uri(store: MemoryStore) -> None:
    store.add("mem://b/in/m.jsonl", b'{"id": "1", "label": "yes"}\n{"id": \n')
    with pytest.raises(evalkit.AlignmentError) as caught:
        evalkit.evaluate("mini", "mem://b/in/m.jsonl", out=ROOT)
    assert os.environ["EVALKIT_CACHE_DIR"] not in str(caught.value)
    [problems] = [uri for uri in store.contents if uri.endswith("problems.jsonl")]
    assert os.environ["EVALKIT_CACHE_DIR"].encode() not in store.contents[problems]


def test_a_folder_that_a_dataset_names_is_fetched(
    store: MemoryStore, fake_distribution: Callable[..., object]
) -> None:
    store.add("mem://b/data.jsonl", b'{"uid": "1", "text": "a", "label": "yes"}\n')
    code = (
        "import evalkit\n\n\nclass Far(evalkit.Dataset):\n    task = 'mini'\n"
        "    splits = ('test',)\n\n    def load(self, split):\n"
        "        return 'mem://b/data.jsonl'\n"
    )
    fake_distribution(code, {"evalkit.datasets": {"far": "Far"}}, name="far")
    result = evalkit.evaluate("far", ANSWERS[:1], model="m")
    assert result["hits"].value == 1


def test_offline_runs_that_were_never_seen_are_not_said_to_be_none(
    store: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    run()
    monkeypatch.setenv("EVALKIT_OFFLINE", "1")
    with pytest.raises(StorageError, match=f"{ROOT}: is not in the cache, and EVAL"):
        find_run("latest", ROOT)


def test_sending_may_only_look(store: MemoryStore, tmp_path: Path) -> None:
    result = run(tmp_path)
    assert result.path is not None
    place = f"{ROOT}/mini/{result.run_id}"
    assert remote.send_run(result.path, ROOT, dry_run=True) == (place, True)
    assert store.contents == {}
    assert remote.send_run(result.path, ROOT) == (place, True)
    assert remote.send_run(result.path, ROOT, dry_run=True) == (place, False)


def test_a_store_that_contradicts_itself_is_not_asked_for_ever(
    store: MemoryStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def put(path: Path, uri: str, *_: object, **__: object) -> None:
        raise ObjectExistsError(f"{uri}: is there already")

    result = run(tmp_path)
    assert result.path is not None
    monkeypatch.setattr(store, "put", put)
    monkeypatch.setattr(store, "honours_conditions", lambda uri: True)
    monkeypatch.setattr(remote, "_WAIT_SECONDS", 0.001)
    record, _ = read_record(result.path)
    with pytest.raises(StorageError, match="says that it is there, and that it is not"):
        remote.RemoteStorage(ROOT, 0.01).send(result.path, record)


@pytest.fixture
def listed(store: MemoryStore, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Two runs in a store, of which an index is kept; the ids of records read."""
    monkeypatch.setattr(index, "FEWEST", 1)
    run()
    run(model="n")
    reads: list[str] = []
    real = listing.read_record

    def read(folder: Path) -> object:
        reads.append(folder.name)
        return real(folder)

    monkeypatch.setattr(listing, "read_record", read)
    return reads


def test_a_second_list_reads_no_record_and_asks_only_for_names(
    store: MemoryStore, listed: list[str]
) -> None:
    first = list_runs(ROOT)
    assert len(listed) == 2
    store.calls.clear()
    assert list_runs(ROOT) == first
    assert len(listed) == 2
    assert dict(store.calls) == {"list": 1}


def test_only_what_is_new_is_read(store: MemoryStore, listed: list[str]) -> None:
    list_runs(ROOT)
    third = run(model="o")
    listed.clear()
    store.calls.clear()
    assert [each.model for each in list_runs(ROOT)] == ["o", "n", "m"]
    assert listed == [third.run_id]
    assert store.calls["read"] <= 1  # its writer may have fetched it


def test_a_record_that_was_replaced_is_read_again(
    store: MemoryStore, listed: list[str]
) -> None:
    first = list_runs(ROOT)
    uri = f"{first[0].path}/run.json"
    store.add(uri, store.contents[uri].replace(b'"n"', b'"k"'))
    again = list_runs(ROOT)
    assert [each.problem is None for each in again] == [True, False]
    assert "is damaged or was changed" in str(again[1].problem)


def test_of_several_names_a_store_is_listed_once(store: MemoryStore) -> None:
    run()
    run(model="n")
    store.calls.clear()
    found = find_runs(["m", "n", "latest"], ROOT)
    assert len({each.path for each in found}) == 2
    assert store.calls["list"] == 1


def test_a_file_is_no_folder_of_runs(store: MemoryStore) -> None:
    store.add(ROOT, b"data")
    asked: list[str] = []
    for out in (ROOT, f"{ROOT}/"):
        with pytest.raises(StorageError, match=f"{ROOT}: is a file; runs are written"):
            evalkit.evaluate(
                "mini",
                ANSWERS,
                out=out,
                progress=lambda text, share: asked.append(text),
            )
    assert asked == []
    with pytest.raises(StorageError, match="is a file"):
        evalkit.evaluate("mini", ANSWERS).save(ROOT)
    assert list(store.contents) == [ROOT]
