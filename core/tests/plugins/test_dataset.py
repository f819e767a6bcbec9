"""The base class of data sets, and the publisher's files that it names."""

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import polars as pl
import pytest

import evalkit
from evalkit import DataError, Dataset, Source
from evalkit.plugins.contract import read_attributes
from evalkit.reading import digests

TASK = """
    import evalkit
    from pydantic import BaseModel

    class Input(BaseModel):
        uid: str
        text: str

    class Output(BaseModel):
        id: str
        label: str

    class Tone(evalkit.TaskIO):
        Input = Input
        Output = Output
        example = {"uid": "1", "text": "Hello"}
        answer_field = "label"
        perf_metric = "hits"
"""
ROWS = b'{"uid": "1", "text": "Hello", "label": "glad"}\n'
SHA256 = hashlib.sha256(ROWS).hexdigest()
RESPONSES = [{"id": "1", "label": "glad"}]


def get_hits(predictions: list[str], targets: list[str]) -> float:
    pairs = zip(predictions, targets, strict=True)
    return sum(one == other for one, other in pairs) / len(targets)


class Greetings(Dataset):
    name = "greetings"
    task = "tone"
    sources: ClassVar = {
        "rows.jsonl": Source("https://publisher.invalid/rows.jsonl", SHA256)
    }

    def load(self, split: str) -> Path:
        return self.file("rows.jsonl")


@pytest.fixture(autouse=True)
def task(fake_distribution: Callable[..., Any]) -> None:
    fake_distribution(TASK, {"evalkit.tasks": {"tone": "Tone"}})


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give the folder that the data set's file is looked for in."""
    monkeypatch.setenv("EVALKIT_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("EVALKIT_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("EVALKIT_OFFLINE", "1")
    found = tmp_path / "data" / "greetings"
    found.mkdir(parents=True)
    return found


def evaluate(dataset: Any = Greetings) -> evalkit.Result:
    return evalkit.evaluate(dataset, RESPONSES, metrics=[get_hits])


def test_file_that_is_not_declared_is_refused() -> None:
    with pytest.raises(
        DataError, match=r"Greetings must .*declare 'other' in `sources`"
    ):
        Greetings().file("other")


def test_unedited_file_is_hashed_and_gives_no_notice(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "rows.jsonl").write_bytes(ROWS)
    result = evaluate()
    assert result["hits"].value == 1.0
    assert result.notices == ()
    files = result.to_dict()["data"]["files"]
    assert {"name": "rows.jsonl", "sha256": SHA256} in files
    monkeypatch.setattr(digests, "BLOCK_BYTES", 8)
    large = evaluate()
    assert large.notices == ()
    assert large.record.data.sha256 != result.record.data.sha256


def test_edited_file_is_scored_with_a_notice_and_is_another_run(folder: Path) -> None:
    (folder / "rows.jsonl").write_bytes(ROWS)
    original = evaluate()
    edited = ROWS.replace(b"Hello", b"Hi")
    (folder / "rows.jsonl").write_bytes(edited)
    result = evaluate()
    sha256 = hashlib.sha256(edited).hexdigest()
    (notice,) = result.notices
    assert "rows.jsonl is not the published file" in notice
    assert sha256[:12] in notice
    files = result.to_dict()["data"]["files"]
    assert {"name": "rows.jsonl", "sha256": sha256} in files
    assert result["hits"].value == 1.0
    assert result.run_id != original.run_id


def test_missing_file_stops_the_evaluation_and_names_file_folder_and_url(
    folder: Path,
) -> None:
    with pytest.raises(DataError) as caught:
        evaluate()
    message = str(caught.value)
    for part in ("rows.jsonl", str(folder), "https://publisher.invalid/rows.jsonl"):
        assert part in message


def test_defaults_keep_the_contract_and_only_the_task_has_none() -> None:
    class Bare(Dataset):
        def load(self, split: str) -> list[dict[str, Any]]:
            return []

    _, problems = read_attributes("datasets", Bare())
    assert problems == ["the attribute 'task' is missing"]
    assert (Bare.splits, Bare.default_split, Bare.round_id) == (("test",), "test", 0)


def as_frame() -> pl.DataFrame:
    return pl.read_ndjson(ROWS)


@pytest.mark.parametrize(
    "loaded",
    [
        lambda: as_frame(),
        lambda: as_frame().lazy(),
        lambda: as_frame().to_arrow(),
        lambda: as_frame().rows(named=True),
        lambda: iter(as_frame().rows(named=True)),
    ],
    ids=["frame", "lazy frame", "Arrow table", "dicts", "iterator"],
)
def test_load_may_give_any_table_and_the_run_is_the_same(
    loaded: Callable[[], Any],
) -> None:
    class Inline(Dataset):
        name = "inline"
        task = "tone"

        def load(self, split: str) -> Any:
            return loaded()

    result = evaluate(Inline)
    assert result["hits"].value == 1.0
    assert result.to_dict()["data"]["sha256"] == _hash_of_the_rows()


def _hash_of_the_rows() -> str:
    rows = [json.loads(line) for line in ROWS.splitlines()]
    lines = [
        json.dumps(row, separators=(",", ":"), sort_keys=True) + "\n" for row in rows
    ]
    return hashlib.sha256("".join(lines).encode()).hexdigest()


@pytest.mark.parametrize(
    ("loaded", "words"),
    [
        (None, "load returned NoneType; it must return a polars frame"),
        ([], "split 'test' has no examples"),
        (3, "load returned int; it must return a polars frame"),
        (["x"], "example 1 is 'x', not a dict"),
        ([{"text": "a", "label": "b"}], r"no example has an id \('uid' or 'id'\)"),
        ([{"uid": 1.0, "text": "a", "label": "b"}], "uid: must be a text"),
        ([{"uid": "1", "text": "a", "label": None}], "'1'.*label: is required"),
        ([{"uid": "1", "label": "b"}], "text: is required"),
        (
            [{"uid": i, "text": "a", "label": "b"} for i in (1, "1")],
            "example 2: uid '1' was given before, at example 1",
        ),
        (
            [{"uid": i, "text": "a", "label": "b"} for i in ("1", 2.0)],
            "example 2: uid: must be a text that is not empty or an integer, found 2.0",
        ),
    ],
)
def test_what_load_must_not_give_is_named(loaded: Any, words: str) -> None:
    class Odd(Dataset):
        name = "odd"
        task = "tone"

        def load(self, split: str) -> Any:
            return loaded

    with pytest.raises(DataError, match=words) as caught:
        evaluate(Odd)
    assert "datasets/odd" in str(caught.value)


def test_unknown_split_is_refused_with_those_there_are() -> None:
    with pytest.raises(DataError, match="no split 'dev'; it has test"):
        evalkit.evaluate(Greetings, RESPONSES, metrics=[get_hits], split="dev")
