"""Runs in a store are whole, found, read, and never damaged by another writer."""

import json
import os
import threading
from pathlib import Path

import pytest
from memory_store import MemoryStore
from run_parts import in_parts

import evalkit
from evalkit import Result
from evalkit.errors import StorageError
from evalkit.runs import find_damage, find_run, send_run
from evalkit.runs.listing import list_runs

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
    place = str(result.path)
    assert place.startswith(f"{ROOT}/mini/2")
    assert place.endswith(f"-m-{result.run_id}")
    assert order[-1] == f"{place}/run.json"
    assert {name.removeprefix(f"{place}/") for name in store.contents} == {
        *("run.json", "scores.parquet", "examples.parquet", "problems.jsonl"),
        "responses.parquet",
        "statistics/hits.parquet",
    }


def test_it_is_the_run_that_a_folder_would_hold(
    store: MemoryStore, tmp_path: Path
) -> None:
    far, near = run(), run(tmp_path)
    assert near.path is not None
    names = [p.relative_to(near.path) for p in near.path.rglob("*") if p.is_file()]
    for name in names:
        if name.name != "run.json":
            there = store.contents[f"{far.path}/{name.as_posix()}"]
            assert there == (near.path / name).read_bytes()


def test_a_run_of_parts_is_written_from_their_store(
    store: MemoryStore, tmp_path: Path
) -> None:
    parts = in_parts(evalkit.evaluate("mini", ANSWERS, model="m"), tmp_path)
    for name, path in parts.part_files.items():
        store.add(f"mem://b/store/{Path(path).name}", Path(path).read_bytes())
        parts.part_files[name] = f"mem://b/store/{Path(path).name}"
    path = parts.save(ROOT)
    assert f"{path}/parts/00002/statistics/hits.parquet" in store.contents
    assert evalkit.verify("m", folder=ROOT).agrees
    assert find_damage(path) == []


@pytest.mark.parametrize(
    "name", [*("latest", "m", "m@mini", "{id}", "{start}", "{path}", "{path}/run.json")]
)
def test_it_is_found_by_every_name(store: MemoryStore, name: str) -> None:
    result = run()
    given = {"id": result.run_id, "start": result.run_id[:6], "path": result.path}
    found = evalkit.find_run(name.format(**given), ROOT)
    assert str(found) == str(result.path)
    read = evalkit.read_run(found)
    assert read.scores == result.scores
    assert read.examples is not None
    assert read.statistics["hits"].height == 3


def test_a_run_is_read_by_its_uri_alone(store: MemoryStore) -> None:
    result = run()
    assert evalkit.read_run(str(result.path)).scores == result.scores
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
    assert [each.record.model for each in listed] == ["n", "m"]
    assert all(uri.endswith("run.json") for uri in reads)
    assert list_runs("mem://b/nothing") == []


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


@pytest.mark.parametrize("puts", range(6))
def test_what_a_dead_writer_left_is_no_run(store: MemoryStore, puts: int) -> None:
    _stop_after(store, puts)
    with pytest.raises(KeyboardInterrupt):
        run()
    assert len(store.contents) == puts
    assert not [each for each in list_runs(ROOT) if each.problem is None]
    store.before_put = lambda uri: None
    assert evalkit.verify(run().run_id, folder=ROOT).differences == ()


@pytest.mark.slow
def test_many_writers_write_a_whole_run_each(store: MemoryStore) -> None:
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
    assert len({each.path for each in results}) == 8
    assert not evalkit.verify("m", folder=ROOT).differences


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


def test_offline_runs_that_were_never_seen_are_not_said_to_be_none(
    store: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    run()
    monkeypatch.setenv("EVALKIT_OFFLINE", "1")
    with pytest.raises(StorageError, match=f"{ROOT}: not in the cache, and EVAL"):
        find_run("latest", ROOT)


def test_sending_may_only_look(store: MemoryStore, tmp_path: Path) -> None:
    result = run(tmp_path)
    assert result.path is not None
    place = f"{ROOT}/mini/{result.path.name}"
    assert send_run(result.path, ROOT, dry_run=True) == (place, True)
    assert store.contents == {}
    assert send_run(result.path, ROOT) == (place, True)
    assert send_run(result.path, ROOT, dry_run=True) == (place, False)


def test_an_interrupted_upload_is_finished_and_another_file_is_kept(
    store: MemoryStore, tmp_path: Path
) -> None:
    result = run(tmp_path)
    assert result.path is not None
    place = f"{ROOT}/mini/{result.path.name}"
    _stop_after(store, 3)
    with pytest.raises(KeyboardInterrupt):
        send_run(result.path, ROOT)
    store.before_put = lambda uri: None
    assert send_run(result.path, ROOT) == (place, True)
    del store.contents[f"{place}/run.json"]
    store.add(f"{place}/examples.parquet", b"another")
    with pytest.raises(StorageError, match="another file is there"):
        send_run(result.path, ROOT)
    assert store.contents[f"{place}/examples.parquet"] == b"another"


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
