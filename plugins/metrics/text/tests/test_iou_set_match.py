import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel
from sklearn.metrics import jaccard_score

import evalkit
from evalkit_testing import check_metric

from .drawn_rows import Row, check_mean, rows_of, value

NAME = "iou-set-match"
COLOURS = ("red", "blue", "green")
items = st.lists(st.sampled_from(COLOURS), unique=True)


def as_text(colours: list[str]) -> str:
    return " and ".join(colours) or "Nothing."


def iou(given: set[str], answer: set[str]) -> float:
    """Count item by item."""
    shared = sum(colour in given and colour in answer for colour in COLOURS)
    either = sum(colour in given or colour in answer for colour in COLOURS)
    return shared / either if either else 1.0


def test_it_is_what_scikit_learn_gives() -> None:
    sets = [
        [colour for place, colour in enumerate(COLOURS) if number >> place & 1]
        for number in range(1, 8)
    ]
    pairs = [(given, answer) for given in sets for answer in sets]
    said, gold = ([as_text(pair[side]) for pair in pairs] for side in (0, 1))
    vectors = [
        [[colour in pair[side] for colour in COLOURS] for pair in pairs]
        for side in (1, 0)
    ]
    theirs = jaccard_score(*vectors, average="samples")
    assert evalkit.score(NAME, said, gold)[NAME].value == pytest.approx(theirs)


@given(rows=rows_of(items.map(as_text)))
@pytest.mark.slow
def test_it_is_the_jaccard_index_for_the_set_and_every_tag(rows: list[Row]) -> None:
    def sets_of(text: str) -> set[str]:
        return {colour for colour in COLOURS if colour in text}

    check_mean(
        NAME, rows, lambda p, t: max(iou(sets_of(p), sets_of(answer)) for answer in t)
    )


class Question(BaseModel):
    uid: str


class Colours(BaseModel):
    id: str
    colours: list[str]


class Naming(evalkit.TaskIO):
    Input = Question
    Output = Colours
    answer_field = "colours"
    answer_kind = "all-of"
    perf_metric = NAME
    example: Mapping[str, Any] = {"uid": "1"}


def test_lists_keep_the_laws_of_metrics() -> None:
    given = st.tuples(items, items)
    check_metric(NAME, task=Naming, examples=given, max_examples=3)


@pytest.mark.known_result
def test_it_gives_what_helm_gives_but_for_a_blank_at_the_end(oracles: Path) -> None:
    recorded = json.loads((oracles / "helm_golden.json").read_text("utf-8"))
    differ = [
        (case["gold"], case["pred"])
        for case in recorded["metrics"]
        if value(NAME, case["pred"], case["gold"]) != case["iou_set_match"]
    ]
    assert differ == [("33", "33 ")]


@pytest.mark.parametrize(
    ("parameters", "prediction", "target", "expected"),
    [
        ("", "The colour is red and blue.\nI hope so.", "blue and red", 1.0),
        ("", "nothing", "Nothing.", 1.0),
        ("", "", "Nothing.", 1.0),
        ("", "red", "nothing", 0.0),
        ("", "Red", "red", 0.0),
        ("", "red and red", "red", 1.0),
        ("", "3.5", "35", 0.0),
        ("", "sand and candy", "sand and candy", 1.0),
        ("", "sand", "s", 0.0),
        (":separator=comma", "red, blue", "blue,red,green", 2 / 3),
        (":separator=semicolon", "red; blue", "blue;red", 1.0),
        ("", None, "Nothing.", 0.0),
        ("", "red", ["blue", "red and blue"], 0.5),
    ],
)
def test_single_cases(
    parameters: str, prediction: Any, target: Any, expected: float
) -> None:
    assert value(NAME + parameters, prediction, target) == pytest.approx(expected)
