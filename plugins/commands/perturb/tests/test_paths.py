"""Texts within objects and lists, which a path leads to."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

import polars as pl
import pytest
from pydantic import BaseModel

import evalkit
from evalkit.errors import EvalkitError, PluginError
from evalkit_analysis_robustness import evaluate_perturbed, find_effects
from evalkit_commands_perturb import perturb, perturb_dataset

Row = dict[str, Any]


class Message(BaseModel):
    role: str
    content: str | None


class Context(BaseModel):
    title: str = ""


class Output(BaseModel):
    id: str
    label: str


class Chat(evalkit.TaskIO):
    """A chat."""

    class Input(BaseModel):
        uid: str
        messages: list[Message]
        context: Context | None = None

    Output = Output
    example: ClassVar[Row] = {"uid": "1", "messages": []}
    answer_field = "label"
    perf_metric = "accuracy"
    perturb_fields = ("messages[].content", "context.title")


class Shout(evalkit.Perturbation):
    families = {"robustness"}
    version = "1"
    label_effect = {"*": "invariant"}

    def perturb(self, text: str) -> str:
        return text.upper()


class Rename(evalkit.Perturbation):
    """Calls the first word of an example by another name, wherever it stands."""

    families = {"robustness"}
    version = "1"
    label_effect = {"*": "invariant"}
    seen: ClassVar[list[list[str]]] = []

    def find_edits(self, texts: Sequence[str]) -> list[list[tuple[int, int, str]]]:
        self.seen.append([*texts])
        name = texts[0].split()[0]
        return [
            [(start, start + len(name), "Bea")]
            if (start := text.find(name)) >= 0
            else []
            for text in texts
        ]


class Whole(Shout):
    def perturb_example(self, example: Row) -> Row:
        messages = [
            {**message, "content": f"So: {message['content']}"}
            for message in example["messages"]
        ]
        return {"messages": messages}


def chat(uid: str = "1") -> Row:
    return {
        "uid": uid,
        "messages": [
            {"role": "user", "content": "Ann left."},
            {"role": "assistant", "content": None},
            {"role": "user", "content": "Where is Ann?"},
        ],
        "context": {"title": "On Ann"},
        "label": "away",
    }


def only(rows: Any) -> Row:
    (row,) = rows
    found: Row = row
    return found


def test_a_path_leads_to_texts_within_fields() -> None:
    """`messages[].content` was no field: nothing was changed."""
    row = chat()
    before = json.dumps(row)
    copy = only(perturb([row], Shout, task=Chat, edits=True))
    contents = [message["content"] for message in copy["messages"]]
    assert contents == ["ANN LEFT.", None, "WHERE IS ANN?"]
    assert [message["role"] for message in copy["messages"]] == [
        *("user", "assistant", "user")
    ]
    assert copy["context"] == {"title": "ON ANN"}
    assert [*copy["edits"]] == [
        *("messages[0].content", "messages[2].content", "context.title")
    ]
    assert json.dumps(row) == before


def test_all_texts_of_an_example_are_seen_at_once() -> None:
    Rename.seen.clear()
    copy = only(perturb([chat()], Rename, task=Chat, edits=True))
    assert Rename.seen == [["Ann left.", "Where is Ann?", "On Ann"]]
    assert copy["messages"][2]["content"] == "Where is Bea?"
    assert copy["context"]["title"] == "On Bea"
    assert copy["edits"]["messages[2].content"] == [[9, 12, "Bea"]]


def test_a_whole_example_tells_its_edits_too() -> None:
    row = chat()
    row["messages"][1]["content"] = "Oh."
    copy = only(perturb([row], Whole, task=Chat, edits=True))
    assert copy["edits"]["messages[1].content"] == [[0, 0, "So: "]]
    assert "context.title" not in copy["edits"]


def test_a_field_that_is_called_like_a_path_goes_first() -> None:
    row = {"uid": "1", "context.title": "a", "context": {"title": "b"}}
    copy = only(perturb([row], Shout, fields=["context.title"], task=Chat))
    assert (copy["context.title"], copy["context"]) == ("A", {"title": "b"})


@pytest.mark.parametrize(
    ("field", "text"),
    [
        (
            "messages[].contnt",
            r"'messages\[\]\.contnt'; did you mean 'messages\[\]\.co",
        ),
        ("messages.content", r"'messages\.content'; did you mean 'messages\[\]\.cont"),
        ("messages", r"'messages'; did you mean 'messages\[\]\.(content|role)'"),
        ("context", r"'context'; did you mean 'context\.title'"),
        (
            "context.title.more",
            r"'context\.title\.more'; did you mean 'context\.title'",
        ),
    ],
)
def test_a_path_that_leads_nowhere_is_refused(
    field: str, text: str, tmp_path: Path
) -> None:
    with pytest.raises(EvalkitError, match=f"no example has a text in .* {text}"):
        [*perturb([chat()], Shout, task=Chat, fields=[field])]
    data = tmp_path / "data.jsonl"
    data.write_text(json.dumps(chat()) + "\n")
    out = tmp_path / "out.jsonl"
    options: Row = {"perturbations": [Shout], "task": Chat, "fields": [field]}
    with pytest.raises(EvalkitError, match=f"no example has a text in .* {text}"):
        perturb_dataset(data, out, **options)
    assert not out.exists()


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        (
            ["messages[].contnt"],
            r"Input.messages\[\] has no field 'contnt'; it has role",
        ),
        (["messages.content"], r"Input.messages is a list: write Input.messages\[\]"),
        (["context.title.x"], r"Input.context.title holds nothing that is called 'x'"),
        (
            ["topic.title"],
            r"Input has no field 'topic' \(it has uid, messages, context",
        ),
    ],
)
def test_a_task_whose_path_leads_nowhere_is_refused(
    fields: Sequence[str], text: str
) -> None:
    class Wrong(Chat):
        perturb_fields = tuple(fields)

    with pytest.raises(PluginError, match=rf"tasks/wrong .*perturb_fields.*{text}"):
        perturb([chat()], Shout, task=Wrong)


def test_a_path_returned_in_place_of_a_field_is_refused() -> None:
    class ByPath(Shout):
        def perturb_example(self, example: Row) -> Row:
            return {"messages[].content": ["A", "B"]}

    rule = r"must return whole fields and not 'messages\[\].content', returned"
    with pytest.raises(PluginError, match=rule):
        only(perturb([chat()], ByPath, task=Chat))


def test_stored_copies_are_matched_and_named(tmp_path: Path) -> None:
    """The copies of a file with nested fields are found again when they are scored."""
    rows = [chat(str(n)) for n in range(4)]
    data, copies = tmp_path / "chats.jsonl", tmp_path / "copies.jsonl"
    data.write_text("".join(json.dumps(row) + "\n" for row in rows))
    fields = ["messages[].content"]
    summary = perturb_dataset(
        data, copies, perturbations=["lowercase"], task=Chat, fields=fields, edits=True
    )
    name = "lowercase{fields=messages[].content}"
    assert [each.perturbation for each in summary.perturbations] == [name]
    made = [json.loads(line) for line in copies.read_text().splitlines()]
    assert made[0]["messages"][0]["content"] == "ann left."
    assert made[0]["context"] == {"title": "On Ann"}
    assert [*made[0]["edits"]] == ["messages[0].content", "messages[2].content"]
    again = only(perturb(rows[:1], name, task=Chat, fields=fields, edits=True))
    assert again == made[0]
    result = evaluate_perturbed(
        data,
        [{"id": row["uid"], "label": "away"} for row in rows],
        task=Chat,
        perturbed=[copies],
        perturbed_predictions=[[{"id": row["uid"], "label": "no"} for row in made]],
    )
    (drop,) = [
        score
        for score in find_effects(result).scores
        if (score.computed_on, score.perturbation) == ("drop", name)
    ]
    assert drop.value == 1.0


def test_frames_and_tables_have_nested_fields(tmp_path: Path) -> None:
    frame = pl.DataFrame([chat()])
    copy = only(perturb(frame, Shout, task=Chat))
    assert copy["messages"][0]["content"] == "ANN LEFT."
    frame.write_parquet(tmp_path / "data.parquet")
    out = tmp_path / "out.jsonl"
    perturb_dataset(tmp_path / "data.parquet", out, perturbations=[Shout], task=Chat)
    assert json.loads(out.read_text())["messages"] == copy["messages"]
