"""Examples that share long texts are told of, where nothing clusters them."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from pydantic import BaseModel

import evalkit
from evalkit import Dataset, Registry, TaskIO
from evalkit.examples.clusters import repeated_text_notices
from evalkit.plugins.components import Component
from evalkit.plugins.discovery import Catalog


class Question(BaseModel):
    uid: str
    context: str
    question: str = ""
    label: str


class Said(BaseModel):
    id: str
    label: str


class Asking(TaskIO):
    Input = Question
    Output = Said
    answer_field = "label"
    perf_metric = "match"
    example = {"uid": "1", "context": "a", "label": "b"}


def match(predictions: list[Any], targets: list[Any]) -> float:
    return sum(map(lambda p, t: p == t, predictions, targets)) / len(targets)


REGISTRY = Registry(
    Catalog(
        (
            Component("tasks", "asking", f"{__name__}:Asking", "d", "1"),
            Component("metrics", "match", f"{__name__}:match", "d", "1"),
        ),
        (),
    )
)

LONG = "Text number {} is about nothing."
LABEL = "a label of more than twenty characters"


def rows_of(contexts: Sequence[str]) -> list[dict[str, str]]:
    return [
        {"uid": str(k), "context": text, "question": f"q{k}", "label": LABEL}
        for k, text in enumerate(contexts)
    ]


def notices_of(data: Any, count: int, **how: Any) -> Sequence[str]:
    answers = [{"id": str(k), "label": LABEL} for k in range(count)]
    if not isinstance(data, type):
        how["task"] = "asking"
    return evalkit.evaluate(data, answers, registry=REGISTRY, **how).notices


TOLD = (
    "20 examples have only 10 different texts in 'context', and the intervals take "
    "them for independent; --cluster context does not"
)
TWICE = rows_of([LONG.format(k // 2) for k in range(20)])


@pytest.mark.parametrize("name", ["data.jsonl", "data.csv", "data.parquet"])
def test_shared_texts_are_told_for_files(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    if name.endswith("jsonl"):
        path.write_text("".join(json.dumps(row) + "\n" for row in TWICE), "utf-8")
    elif name.endswith("csv"):
        pl.DataFrame(TWICE).write_csv(path)
    else:
        pl.DataFrame(TWICE).write_parquet(path)
    assert notices_of(path, 20) == (TOLD,)
    checked = evalkit.validate(path, task="asking", registry=REGISTRY)
    assert tuple(checked.notices) == (TOLD,)
    assert notices_of(path, 20, cluster="context") == ()
    assert notices_of(path, 20, cluster="question")[1:] == ()


def test_a_data_set_that_declares_clusters_is_not_told() -> None:
    class Plain(Dataset):
        task = "asking"

        def load(self, split: str) -> list[dict[str, str]]:
            return TWICE

    class Clustered(Plain):
        cluster = "context"

    assert notices_of(Plain, 20) == (TOLD,)
    assert notices_of(Clustered, 20) == ()


@pytest.mark.parametrize(
    ("texts", "is_told"),
    [
        ([LONG.format(max(k, 10)) for k in range(100)], True),  # 90 of 100
        ([LONG.format(max(k, 9)) for k in range(100)], False),  # 91
        ([LONG.format(0)] * 100, False),
        ([LONG.format(k % 9) for k in range(100)], False),
        ([f"word {k % 50}" for k in range(100)], False),
    ],
    ids=["a tenth", "less", "an instruction", "kinds", "words"],
)
def test_only_long_texts_that_often_repeat_are_told(
    texts: list[str], is_told: bool
) -> None:
    frame = pl.DataFrame({"context": texts})
    assert bool(repeated_text_notices(frame, {}, ["context", "other"])) is is_told
