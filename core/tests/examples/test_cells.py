from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

import evalkit
from evalkit.examples.cells import read_cells
from evalkit.plugins.components import Component
from evalkit.plugins.registry import bind
from evalkit.reading.formats import Format


class Question(BaseModel):
    uid: str
    text: str
    year: int
    hints: list[str]


class Saying(BaseModel):
    id: str
    amount: str


class Guess(BaseModel):
    id: str
    amount: float


def read(folder: Path, content: str, **attributes: Any) -> list[Any]:
    members = {
        "Input": Question,
        "Output": Guess,
        "answer_field": "amount",
        "perf_metric": "accuracy",
        "example": {"uid": "1", "text": "x", "year": 1, "hints": []},
        **attributes,
    }
    task_class = type("Guessing", (evalkit.TaskIO,), members)
    task = bind(Component("tasks", "guessing", "m:T", "g-dist", "1.0"), task_class)
    folder.mkdir(exist_ok=True)
    path = folder / "data.csv"
    path.write_text("uid,text,year,hints,amount,tags,note\n" + content, "utf-8")
    members = {"task": "guessing", "load": lambda self, split: path}
    data_class = type("Data", (evalkit.Dataset,), members)
    data = bind(Component("datasets", "data", "m:D", "g-dist", "1.0"), data_class)
    return list(read_cells(data, task, path, Format.CSV))


def test_cells_become_what_the_task_says(tmp_path: Path) -> None:
    content = '7,[12],1999,"[""a"", ""b""]",2.5,"[""x:y""]",12\n'
    (row,) = read(tmp_path, content, answer_kind="number")
    assert row.values == {
        "uid": "7",
        "text": "[12]",
        "year": 1999,
        "hints": ["a", "b"],
        "amount": 2.5,
        "tags": ["x:y"],
        "note": "12",
    }


@pytest.mark.parametrize("kind", ["one", "any-of"])
def test_answers_are_read_as_predictions_are(tmp_path: Path, kind: str) -> None:
    cells = "7,a,1,[],2.5,,\n"
    (row,) = read(tmp_path / "1", cells, answer_kind=kind)
    assert row.values["amount"] == 2.5
    (row,) = read(tmp_path / "2", cells, answer_kind=kind, Output=Saying)
    assert row.values["amount"] == "2.5"
    assert not {"tags", "note"} & row.values.keys()


@pytest.mark.parametrize("cell", ["[deleted]", '[""a""]', "[", "[" * 100_000])
def test_what_is_not_declared_a_list_stays_a_text(tmp_path: Path, cell: str) -> None:
    (row,) = read(tmp_path, f'7,a,1,[],2,[],"{cell}"\n')
    cell = cell.replace('""', '"')
    assert (row.values["note"], row.values["tags"]) == (cell, [])


def test_a_broken_record_is_told_with_its_line(tmp_path: Path) -> None:
    first, second = read(tmp_path, "7,a\n8,b,1,[],2,[],n\n")
    assert (first.line, first.values) == (2, None)
    assert first.problem.rule == "must have 7 cells, as the header has; has 2"
    assert second.values["uid"] == "8"
