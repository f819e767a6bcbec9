"""`evalkit list` chooses data sets, and `evalkit show` has their first rows."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from click.testing import Result

Invoke = Callable[..., Result]

CODE = """
import evalkit


class Chat(evalkit.TaskIO):
    from pydantic import BaseModel

    class Input(BaseModel):
        uid: str
        question: str
        page: str = ""
        hint: str = ""

    class Output(BaseModel):
        id: str
        answer: str

    example = {"uid": "1", "question": ""}
    input_keys = ("question", "hint")
    answer_field = "answer"
    perf_metric = "accuracy"


class Ours(evalkit.Dataset):
    task = Chat
    languages = ("en-GB", "cy")
    tags = ("small",)
    cluster = "page"
    round_id = 2

    def load(self, split):
        return [
            {"uid": str(n), "question": "Why? " * n, "page": f"p{n // 2}", "hint": "H",
             "answer": f"so {n}", "tags": ["first"] if n == 0 else []}
            for n in range(5)
        ]


class Rude(Ours):
    content_warning = "insults"
    languages = ("eng",)
    tags = ()


class Broken(Ours):
    def __init__(self):
        raise ValueError("no data here")
"""


@pytest.fixture(autouse=True)
def ours(fake_distribution: Callable[..., Any]) -> None:
    points = {"evalkit.datasets": {"ours": "Ours", "rude": "Rude", "broken": "Broken"}}
    fake_distribution(CODE, points, name="our-data", version="3.0")


def listed(invoke: Invoke, *options: str) -> list[str]:
    done = invoke("list", "datasets", *options, "--json")
    assert done.exit_code == 0
    return [found["id"] for found in json.loads(done.stdout)["components"]]


@pytest.mark.slow
def test_data_sets_are_chosen_by_task_language_and_tag(invoke: Invoke) -> None:
    """`languages` and `tags` of a data set were read by nothing."""
    assert listed(invoke, "--task", "chat") == ["datasets/ours", "datasets/rude"]
    assert listed(invoke, "--task", "chat", "--language", "EN") == ["datasets/ours"]
    assert listed(invoke, "--language", "cy") == ["datasets/ours"]
    assert listed(invoke, "--tag", "small") == ["datasets/ours"]
    assert "datasets/sample-nli" in listed(invoke, "--task", "nli")
    done = invoke("list", "--tag", "none such")
    assert (done.exit_code, done.stdout) == (0, "")
    assert "no installed data set is of this task, language and tag" in done.stderr
    assert "datasets/broken (our-data 3.0)" in done.stderr
    assert "no data here" in done.stderr


def test_the_first_rows_of_a_data_set_are_shown(invoke: Invoke) -> None:
    """`-n` was an option of runs alone."""
    done = invoke("show", "datasets/ours", "-n", "3")
    assert done.exit_code == 0
    lines = [line.split("  ") for line in done.stdout.splitlines()]
    cells = [[cell.strip() for cell in line if cell.strip()] for line in lines]
    assert cells[0] == ["ours (chat, split test)"]
    assert cells[1] == ["id", "answer", "tags", "cluster", "question", "hint"]
    assert cells[2] == ["0", "so 0", "first", "p0", "H"]
    assert cells[4] == ["2", "so 2", "–", "p1", "Why? Why?", "H"]
    assert cells[6] == ["the first 3 of 5 examples"]


def test_the_rows_as_json(invoke: Invoke) -> None:
    done = invoke("show", "datasets/ours", "-n", "99999999999999999999")
    assert done.exit_code == 0
    shown = json.loads(invoke("show", "datasets/ours", "-n", "2", "--json").stdout)
    assert (shown["task"], shown["examples"], shown["sensitive"]) == ("chat", 5, False)
    assert shown["rows"][1] == {
        "id": "1",
        "answer": "so 1",
        "tags": [],
        "cluster": {"page": "p0"},
        "input": {"question": "Why? ", "hint": "H"},
    }


def test_texts_that_may_be_hurtful_are_masked(invoke: Invoke) -> None:
    done = invoke("show", "datasets/rude", "-n", "3")
    assert "Why" not in done.stdout
    assert "so 2" not in done.stdout
    assert "p1" not in done.stdout
    assert "···?" in done.stdout
    assert "--show-text shows them" in done.stdout
    shown = json.loads(invoke("show", "datasets/rude", "-n", "3", "--json").stdout)
    assert [row["input"] for row in shown["rows"]] == [{}, {}, {}]
    assert {row["answer"] for row in shown["rows"]} == {None}
    whole = invoke("show", "datasets/rude", "-n", "3", "--show-text")
    assert "Why? Why?" in whole.stdout
    # labels are no texts
    assert "not-hateful" in invoke("show", "datasets/sample-hs", "-n", "1").stdout


def test_a_data_set_of_a_task_object_is_described(invoke: Invoke) -> None:
    described = json.loads(invoke("show", "datasets/ours", "--json").stdout)
    attributes = described["attributes"]
    assert attributes["task"] == "chat"
    assert (attributes["round_id"], attributes["languages"]) == (2, ["en-GB", "cy"])
