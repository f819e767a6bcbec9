"""What a model is sent: inputs without answers, in every format."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

import polars as pl
import pytest
from pydantic import BaseModel

import evalkit
from evalkit_adapters_rows import Rows
from evalkit_adapters_rows.sources import file_rows
from evalkit_models_base import load_inputs

ROWS: list[dict[str, Any]] = [
    {"uid": "a", "statement": 'so, "good"', "label": "positive", "tags": ["x:1"]},
    {"uid": "b", "statement": "", "label": "negative", "tags": ["x:2"]},
    {"uid": "007", "statement": "line\nbreak", "label": "neutral", "tags": []},
]


class Reviews(evalkit.Dataset):
    name = "reviews"
    task = "sentiment"

    def load(self, split: str) -> list[dict[str, Any]]:
        return ROWS


class ChatInput(BaseModel):
    uid: str
    messages: list[dict[str, str]]
    hint: str | None = None
    answer: str


class ChatOutput(BaseModel):
    id: str
    answer: str


class Chat(evalkit.TaskIO):
    name = "chat"
    Input = ChatInput
    Output = ChatOutput
    answer_field = "answer"
    answer_kind = "one"
    perf_metric = "accuracy"
    example: ClassVar[dict[str, Any]] = {
        "uid": "1",
        "messages": [{"role": "user", "content": "Hi"}],
        "answer": "Hello",
    }
    input_keys: ClassVar[Sequence[str]] = ("messages", "hint", "answer")


class Chats(evalkit.Dataset):
    name = "chats"
    task = Chat

    def load(self, split: str) -> list[dict[str, Any]]:
        said = [{"role": "user", "content": "Hi"}]
        return [
            {"uid": "1", "messages": said, "answer": "Hello"},
            {"uid": "2", "messages": [], "answer": "?", "hint": "h"},
        ]


def test_inputs_are_ids_and_keys_and_never_answers() -> None:
    found = load_inputs(Reviews)
    assert list(found) == [
        {"uid": row["uid"], "statement": row["statement"]} for row in ROWS
    ]
    assert found.keys == ("statement",)
    assert (found.dataset, found.task, found.split) == ("reviews", "sentiment", "test")
    assert (len(found), found.examples) == (3, 3)


def test_an_answer_among_the_input_keys_is_left_out_with_a_notice() -> None:
    found = load_inputs(Chats)
    assert found.keys == ("messages", "hint")
    assert found.rows[0] == {
        "uid": "1",
        "messages": [{"role": "user", "content": "Hi"}],
        "hint": None,
    }
    [notice] = [each for each in found.notices if "answer" in each]
    assert "'answer' is among the inputs of the task chat" in notice


@pytest.mark.parametrize(
    ("options", "ids"),
    [
        ({"limit": 2}, ["a", "b"]),
        ({"filters": {"x": "2"}}, ["b"]),
        ({"filters": {"answer": ["positive", "neutral"]}, "limit": 1}, ["a"]),
    ],
)
def test_examples_are_chosen_as_for_an_evaluation(
    options: dict[str, Any], ids: list[str]
) -> None:
    found = load_inputs(Reviews, **options)
    assert [row["uid"] for row in found] == ids
    assert found.examples == 3


def _file(tmp_path: Path, rows: Sequence[dict[str, Any]]) -> Path:
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_a_file_needs_no_answers(tmp_path: Path) -> None:
    rows = [{"uid": row["uid"], "statement": row["statement"]} for row in ROWS]
    path = _file(tmp_path, rows)
    assert list(load_inputs(path, task="sentiment")) == rows
    assert len(load_inputs(path, task="sentiment", limit=1)) == 1
    with pytest.raises(evalkit.EvalkitError, match="cannot be filtered"):
        load_inputs(path, task="sentiment", filters={"x": "2"})


def test_a_file_goes_through_adapters(tmp_path: Path) -> None:
    path = _file(tmp_path, [{"uid": 1, "text": "hi"}])
    adapters = {"data": "rename:text=statement"}
    found = load_inputs(path, task="sentiment", rows=Rows(adapters=adapters))
    assert list(found) == [{"uid": "1", "statement": "hi"}]
    mapped = {"statement": "text"}
    again = load_inputs(path, task="sentiment", rows=Rows(map=mapped))
    assert list(again) == list(found)


@pytest.mark.parametrize("suffix", [".parquet", ".arrow"])
def test_tables_are_read_again_as_they_were(tmp_path: Path, suffix: str) -> None:
    found = load_inputs(Chats)
    path = found.save(tmp_path / f"inputs{suffix}")
    read = pl.read_parquet(path) if suffix == ".parquet" else pl.read_ipc(path)
    assert read.to_dicts() == list(found)


def test_the_inputs_of_a_file_are_scored_again(tmp_path: Path) -> None:
    path = load_inputs(Reviews).save(tmp_path / "inputs.csv")
    answers = {row["uid"]: row["label"] for row in ROWS}
    rows = [row.values or {} for row in file_rows(path)]
    said = [{"id": row["uid"], "label": answers[row["uid"]]} for row in rows]
    assert evalkit.evaluate(Reviews, said)["accuracy"].value == 1


def test_nothing_is_overwritten_without_being_told(tmp_path: Path) -> None:
    path = tmp_path / "inputs.jsonl"
    path.write_text("mine")
    found = load_inputs(Reviews)
    with pytest.raises(evalkit.StorageError, match=r"already.*--overwrite"):
        found.save(path)
    assert path.read_text() == "mine"
    found.save(path, overwrite=True)
    assert len(path.read_text().splitlines()) == 3
    assert list(tmp_path.iterdir()) == [path]


def test_a_link_to_nowhere_is_not_written_through(tmp_path: Path) -> None:
    path = tmp_path / "inputs.jsonl"
    path.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(evalkit.StorageError, match="is a symlink, and is not replaced"):
        load_inputs(Reviews).save(path)


def test_what_cannot_be_written_says_why(tmp_path: Path) -> None:
    found = load_inputs(Reviews)
    with pytest.raises(evalkit.StorageError, match=r"suffix \.jsonl, .*\.parquet"):
        found.save(tmp_path / "inputs.xlsx")
    (tmp_path / "file").write_text("")
    with pytest.raises(evalkit.StorageError, match="cannot be written"):
        found.save(tmp_path / "file" / "inputs.jsonl")
    mixed = found.__class__(
        "d", "t", "s", ("x",), [{"uid": "1", "x": 1}, {"uid": "2", "x": "a"}], 2
    )
    with pytest.raises(evalkit.SchemaError, match="x: has values of several types"):
        mixed.save(tmp_path / "inputs.parquet")
    assert [each.name for each in tmp_path.iterdir()] == ["file"]


def test_inputs_that_break_the_task_are_refused(tmp_path: Path) -> None:
    path = _file(tmp_path, [{"uid": "1", "statement": 3}])
    with pytest.raises(evalkit.SchemaError, match="statement"):
        load_inputs(path, task="sentiment")
