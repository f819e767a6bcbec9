"""What the data set `my-thing` holds."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import evalkit
import pytest

from my_package.my_thing import MyThing

# by version: raise `version` in the data set when the data change, and add theirs here
SHA256 = {
    "1": "47451b90cf35b70bfcc71c4edae27d114b55e108ac052eb97d3459d9424470a9",
}


def rows_of(split: str) -> list[dict[str, Any]]:
    return [*MyThing().load(split)]


def test_the_data_are_those_of_their_version() -> None:
    rows = {split: rows_of(split) for split in MyThing.splits}
    text = json.dumps(rows, sort_keys=True, ensure_ascii=False)
    assert hashlib.sha256(text.encode()).hexdigest() == SHA256[MyThing.version]


@pytest.mark.parametrize("split", MyThing.splits)
def test_right_answers_score_best(split: str) -> None:
    rows = rows_of(split)
    assert len({row["uid"] for row in rows}) == len(rows)
    said = [{"id": row["uid"], "label": row["label"]} for row in rows]
    result = evalkit.evaluate("my-thing", said, split=split, metrics=["accuracy"])
    assert result["accuracy"].value == 1.0
    assert result.counts["scored"] == len(rows)


def test_wrong_answers_score_worst() -> None:
    other = {"positive": "negative", "negative": "positive"}
    said = [{"id": row["uid"], "label": other[row["label"]]} for row in rows_of("test")]
    result = evalkit.evaluate("my-thing", said, metrics=["accuracy"])
    assert result["accuracy"].value == 0.0
