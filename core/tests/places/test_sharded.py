"""Several files that are read as one, on this machine and in a store."""

import hashlib
import io
import json
import re
from itertools import chain
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from memory_store import MemoryStore

import evalkit
from evalkit.errors import DataError, EvalkitError
from evalkit.reading.sharded import refuse_incomplete, shared_pattern
from evalkit_adapters_rows import Rows

ROWS: list[dict[str, Any]] = [
    {"uid": str(n), "statement": f"text {n}", "label": ("positive", "negative")[n % 2]}
    for n in range(9)
]
ANSWERS = [{"id": row["uid"], "label": "positive"} for row in ROWS]
NAMES = [f"test-{n:05}-of-00003.parquet" for n in range(3)]


def as_parquet(rows: list[dict[str, Any]]) -> bytes:
    stream = io.BytesIO()
    pl.DataFrame(rows).write_parquet(stream)
    return stream.getvalue()


def as_lines(rows: list[dict[str, Any]]) -> bytes:
    # a line with nothing in it is a line
    return b"\n" + b"".join(json.dumps(row).encode() + b"\n" for row in rows)


PARTS = [ROWS[:4], ROWS[4:5], ROWS[5:]]
SHARDS = dict(zip(NAMES, map(as_parquet, PARTS), strict=True))


def write(folder: Path, files: dict[str, bytes]) -> Path:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return folder


def evaluated(data: Any, **options: Any) -> evalkit.Result:
    return evalkit.evaluate(data=data, task="sentiment", predictions=ANSWERS, **options)


def refused(data: Any, kind: type[EvalkitError] = DataError) -> str:
    with pytest.raises(kind) as caught:
        evaluated(data)
    return str(caught.value)


@pytest.mark.slow
def test_shards_are_scored_as_one_and_every_hash_is_recorded(
    tmp_path: Path, store: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path / "data", SHARDS)
    for name, content in {**SHARDS, "train-00000-of-00001.parquet": b"x"}.items():
        store.add(f"mem://b/set/data/{name}", content)
    store.add("mem://b/set/README.md", b"x")
    store.add("mem://b/set/data/deeper/test-00000-of-00003.parquet", b"x")
    monkeypatch.chdir(tmp_path)
    places = [
        *(
            "data",
            "data/test-*",
            "data/t**.parquet",
            "./data/../data/test-*",
            "data/*.parquet",
            "data/test-0000?-of-00003.parquet",
        ),
        *(tmp_path / "data" / "test-*.parquet", "*/test-*"),
        *("mem://b/set/data/test-*", "mem://b/set/*/test-*.parquet"),
    ]
    found = [evaluated(place) for place in places]
    assert {result["accuracy"].value for result in found} == {5 / 9}
    assert len({result.run_id for result in found}) == 1
    for result in found:
        assert [file.model_dump() for file in result.record.data.files] == [
            {"name": name, "sha256": hashlib.sha256(content).hexdigest()}
            for name, content in SHARDS.items()
        ]
    assert store.calls["read"] == 3

    monkeypatch.setenv("EVALKIT_OFFLINE", "1")
    store.calls.clear()
    assert evaluated("mem://b/set/data/test-*").run_id == found[0].run_id
    assert not store.calls


def test_rows_come_in_the_order_of_names(tmp_path: Path) -> None:
    write(tmp_path, dict(reversed(SHARDS.items())))
    first = evaluated(tmp_path, limit=5).examples
    assert first["id"].to_list() == [row["uid"] for row in ROWS[:5]]


@pytest.mark.parametrize(
    ("names", "text"),
    [
        (NAMES[:2], r"test-\*: a shard is missing: \S*test-00002-of-00003"),
        (NAMES[1:2], r"missing: \S*test-00000-of-00003.parquet, and 1 more$"),
        (
            [*NAMES, "test-00003-of-00003.parquet"],
            "has more shards than 00003: .*test-00003-of-0",
        ),
        (
            [*NAMES, "test-00000-of-00004.parquet"],
            r"more than one split: .*-\*-of-00003.*-\*-of-00004",
        ),
        ([*NAMES, "test-more.parquet"], "more than one split: .*test-more.parquet;"),
        (
            [*NAMES, "test-1-of-00003.parquet"],
            "has more shards than 00003: .*test-1-of",
        ),
        ([*NAMES[:2], "test-00002-of-00003.jsonl"], "stands for more than one split"),
        ([], r"test-\*: no file of data has such a name"),
    ],
)
def test_what_is_no_whole_split_is_refused(
    names: list[str], text: str, tmp_path: Path, store: MemoryStore
) -> None:
    for name in names:
        store.add(f"mem://b/set/{name}", SHARDS[NAMES[0]])
        write(tmp_path, {name: SHARDS[NAMES[0]]})
    assert re.search(text, refused(tmp_path / "test-*"))
    assert re.search(text, refused("mem://b/set/test-*"))
    assert not store.calls["read"]


@pytest.mark.parametrize(
    ("rows", "names"),
    [
        ([{"uid": "8", "statement": "x"}], "'label'"),
        ([{**ROWS[8], "z": 1, "more": 1}], "'more', 'z'"),
        ([{**ROWS[8], "uid": 8}], "'uid'"),
    ],
)
def test_shards_have_the_same_columns(
    rows: list[dict[str, Any]], names: str, tmp_path: Path
) -> None:
    files = {**SHARDS, NAMES[2]: as_parquet(rows)}
    message = refused(write(tmp_path, files))
    what = "has other columns, or of other types, than"
    assert f"{NAMES[2]}: {what} {NAMES[0]}: {names}" in message


def test_a_bad_row_is_named_by_its_shard(tmp_path: Path) -> None:
    broken = [{**PARTS[2][0]}, {**PARTS[2][1], "statement": None}, *PARTS[2][2:]]
    write(tmp_path, {**SHARDS, NAMES[2]: as_parquet(broken)})
    assert f"{NAMES[2]}: example 2 (uid '6'): statement" in refused(tmp_path)

    twice = [*PARTS[2][:3], PARTS[0][1]]
    write(tmp_path, {NAMES[2]: as_parquet(twice)})
    text = f"{NAMES[2]}: example 4: uid '1' was given before, at {NAMES[0]}: example 2"
    assert text in refused(tmp_path)


def test_a_bad_line_is_named_by_its_shard(tmp_path: Path) -> None:
    lines = [*map(as_lines, PARTS)]
    write(tmp_path, {f"{n}.jsonl": part for n, part in enumerate(lines)})
    assert evaluated(tmp_path / "*.jsonl")["accuracy"].value == 5 / 9

    write(tmp_path, {"1.jsonl": lines[1] + b"{\n"})
    assert "1.jsonl: line 3: must be JSON" in refused(tmp_path / "*.jsonl").replace(
        "(line): ", ""
    )
    write(tmp_path, {"1.jsonl": as_lines([{**PARTS[1][0], "statement": 1}])})
    assert "1.jsonl: line 2 (uid '4'): statement" in refused(tmp_path / "*.jsonl")
    write(tmp_path, {"1.jsonl": as_lines([{**PARTS[1][0], "uid": "8"}])})
    text = "2.jsonl: line 5: uid '8' was given before, at 1.jsonl: line 2"
    assert text in refused(tmp_path / "*.jsonl")


def test_other_formats_and_mixed_ones_are_refused(tmp_path: Path) -> None:
    write(tmp_path, {"1.csv": b"uid,label\n", "2.csv": b"uid,label\n"})
    text = "must all be Parquet, all Arrow, or all JSON lines; these are "
    assert refused(tmp_path / "*.csv").endswith(f"{text}CSV")
    write(tmp_path, {"a1.jsonl": as_lines(ROWS), "a2.parquet": SHARDS[NAMES[0]]})
    assert refused(tmp_path / "a*").endswith(f"{text}JSON lines and Parquet")


def test_adapters_see_one_table_and_rows_are_still_named(tmp_path: Path) -> None:
    renamed = [
        [{"n": r["uid"], "text": r["statement"], "label": r["label"]} for r in part]
        for part in PARTS
    ]
    write(tmp_path, dict(zip(NAMES, map(as_parquet, renamed), strict=True)))
    fields = {"uid": "n", "statement": "text"}
    whole = write(tmp_path / "whole", {"a.parquet": as_parquet([*chain(*renamed)])})
    for place in (tmp_path / "test-*", whole / "a.parquet"):
        assert evaluated(place, rows=Rows(map=fields))["accuracy"].value == 5 / 9
    renamed[2][1]["text"] = None
    write(tmp_path, {NAMES[2]: as_parquet(renamed[2])})
    with pytest.raises(EvalkitError, match=f"{NAMES[2]}: example 2 .*: statement"):
        evaluated(tmp_path, rows=Rows(map=fields))


def test_a_data_set_loads_a_pattern_or_paths(
    tmp_path: Path, store: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, content in SHARDS.items():
        store.add(f"mem://b/set/{name}", content)
    digests = [hashlib.sha256(content).hexdigest() for content in SHARDS.values()]

    class Published(evalkit.Dataset):
        name = "published"
        task = "sentiment"
        sources = {
            name: evalkit.Source(f"mem://b/set/{name}", digest)
            for name, digest in zip(NAMES, digests, strict=True)
        }

        def load(self, split: str) -> Any:
            return [self.file(name) for name in self.sources]

    class Named(evalkit.Dataset):
        name = "named"
        task = "sentiment"

        def load(self, split: str) -> Any:
            return "mem://b/set/test-*.parquet"

    for kind in (Published, Named):
        result = evalkit.evaluate(kind, predictions=ANSWERS)
        assert result["accuracy"].value == 5 / 9
        hashes = [file.sha256 for file in result.record.data.files]
        assert hashes[:3] == digests

    monkeypatch.setattr(Published, "sources", dict([*Published.sources.items()][:2]))
    with pytest.raises(DataError, match=r"a shard is missing: \S*test-00002-of-0"):
        evalkit.evaluate(Published, predictions=ANSWERS)


@given(st.integers(1, 40), st.booleans(), st.sampled_from(["", "test-", "a/b."]))
def test_a_whole_set_is_whole_and_any_gap_is_found(
    count: int, from_one: bool, start: str
) -> None:
    names = [f"{start}{n + from_one:05}-of-{count:05}.arrow" for n in range(count)]
    refuse_incomplete("there", names)
    if count > 1:
        assert shared_pattern(names) == f"{start}*-of-{count:05}.arrow"
    for gap in {0, count // 2} - {count - 1}:
        left = names[:gap] + names[gap + 1 :]
        if left and not (from_one and gap == count - 1):
            with pytest.raises(DataError, match="missing"):
                refuse_incomplete("there", left)
