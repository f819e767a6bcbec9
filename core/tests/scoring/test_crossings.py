import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from evalkit import EvalkitError, evaluate
from evalkit.scoring import grouping
from evalkit.scoring.grouping import cross, read_crossings

TAGS = [["topic:a", "size:s", "plain"], ["topic:b", "topic:a"], [], ["size:l"]]


def tag_column(tags: Sequence[Sequence[str] | None]) -> pl.Series:
    return pl.Series("tags", list(tags), dtype=pl.List(pl.String))


def groups_of(
    given: str, tags: Sequence[Sequence[str] | None] = TAGS, **columns: Any
) -> list[list[str]]:
    made = {name: pl.Series(name, values) for name, values in columns.items()}
    [found] = cross(read_crossings([given]), tag_column(tags), made).values()
    return found.to_list()


def labels(values: Any) -> list[str]:
    """Give the group of each value of a column."""
    column = values if isinstance(values, pl.Series) else pl.Series(values)
    found = groups_of("x", [[]] * len(column), x=column)
    assert all(len(one) == 1 for one in found)
    return [one.removeprefix("x:") for [one] in found]


@pytest.mark.parametrize("text", ["", "a,", ",a", "a,,b", "a,b,a", " , "])
def test_names_must_be_there_and_differ(text: str) -> None:
    with pytest.raises(EvalkitError) as caught:
        read_crossings([text])
    assert str(caught.value) == (
        f"--by {text!r}: must name different facets or columns, with commas between "
        "them"
    )


def test_facets_are_crossed() -> None:
    assert groups_of("topic,size") == [
        ["topic:a & size:s"],
        ["topic:b & size:(none)", "topic:a & size:(none)"],
        ["topic:(none) & size:(none)"],
        ["topic:(none) & size:l"],
    ]
    assert groups_of("size,topic")[0] == ["size:s & topic:a"]


def test_different_values_are_different_groups() -> None:
    assert labels([None, "(none)", "x"]) == ["((none))", "(none)", "x"]
    assert groups_of("f,g", [["f:(none)", "g:1"], ["g:1"]]) == [
        ["f:(none) & g:1"],
        ["f:((none)) & g:1"],
    ]


def test_a_facet_by_itself_is_left_out_as_its_tags_are_groups_anyway() -> None:
    found = cross(
        read_crossings(["topic", "x", "topic,size"]),
        tag_column(TAGS),
        {"x": pl.Series([1, 1, 2, 2]), "topic": pl.Series([9, 9, 9, 9])},
    )
    assert list(found) == ["x", "topic,size"]
    # a facet comes before a column of its name
    assert found["topic,size"].to_list()[0] == ["topic:a & size:s"]


def test_unknown_names_are_refused() -> None:
    with pytest.raises(EvalkitError) as caught:
        groups_of("topic,colour", x=[1, 2, 3, 4], size=[1, 2, 3, 4])
    assert str(caught.value) == (
        "--by topic,colour: 'colour' is no facet of the tags and no column; there are: "
        "size, topic, x"
    )
    with pytest.raises(EvalkitError, match=r"there are: none$"):
        groups_of("plain", [["plain"]])


def test_all_columns_of_the_data_can_be_named(tmp_path: Path) -> None:
    file = tmp_path / "set.jsonl"
    row = {"uid": "1", "statement": "s", "label": "yes", "tags": ["genre:a"], "year": 1}
    file.write_text(json.dumps(row), "utf-8")
    with pytest.raises(EvalkitError) as caught:
        evaluate(
            file, [{"id": "1", "label": "yes"}], task="text-classification", by="Genre"
        )
    assert str(caught.value) == (
        "--by Genre: 'Genre' is no facet of the tags and no column; there are: "
        "genre, answer, label, pred, prob, statement, tags, uid, year; did you mean "
        "genre?"
    )


def test_too_many_groups_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    names = [str(i) for i in range(5_001)]
    with pytest.raises(EvalkitError) as caught:
        groups_of("x", [[]] * 5_001, x=names)
    assert str(caught.value) == "--by x: makes 5001 groups, more than 5000"
    assert len(groups_of("x", [[]] * 5_000, x=names[:5_000])) == 5_000
    monkeypatch.setattr(grouping, "MOST_GROUPS", 1)
    with pytest.raises(EvalkitError, match="makes 2 groups"):
        groups_of("x", [[]] * 2, x=["a", "b"])


# values of columns ---------------------------------------------------------------


def test_many_numbers_are_put_in_bins_of_about_equal_size() -> None:
    found = labels([*range(20), None])
    assert found == [
        *["below 4.75"] * 5,
        *["4.75 to below 9.5"] * 5,
        *["9.5 to below 14.25"] * 5,
        *["14.25 or more"] * 5,
        "(none)",
    ]


def test_ties_are_in_one_bin() -> None:
    values = [0] * 50 + list(range(1, 20))
    found = labels(values)
    by_value = dict(zip(values, found, strict=True))
    assert [by_value[value] for value in values] == found
    assert by_value[0] != by_value[19]
    assert len(set(found)) <= 4
    ends = labels([*[7] * 95, *range(10)])
    assert set(ends[:95]) == {ends[0]}


def test_bins_whose_edges_look_alike_have_names_of_their_own() -> None:
    values = [1e9 + i / 8 for i in range(80)]
    found = labels(values)
    assert [len([f for f in found if f == name]) for name in dict.fromkeys(found)] == [
        20
    ] * 4
    edges = [name.split()[-1] for name in dict.fromkeys(found)][:3]
    assert edges == ["1000000002", "1000000005", "1000000007"]
    exact = labels(
        [float(np.nextafter(0.1, 1))] * 3 + [0.1] * 3 + [0.2] * 2 + [*range(1, 12)]
    )
    assert exact[0] == exact[1]


# in an evaluation ----------------------------------------------------------------

ROWS = [
    {"id": "1", "label": "yes", "sure": 0.5},
    {"id": "2", "label": "yes", "sure": 1.0},
    {"id": "3", "label": "no", "sure": None},
]


def test_columns_answers_and_predictions_may_be_crossed(mini: Any) -> None:
    by = ["answer,pred", "text", "sure"]
    result = evaluate("mini", ROWS, metrics=["accuracy"], by=by)
    found = {
        score.tag: (score.value, score.n)
        for score in result.scores
        if not score.aggregate
    }
    assert found == {
        None: (1 / 3, 3),
        "a": (0.5, 2),
        "b": (0.0, 1),
        "answer:yes & pred:yes": (1.0, 1),
        "answer:no & pred:yes": (0.0, 1),
        "answer:yes & pred:no": (0.0, 1),
        **{f"text:test {uid}": (float(uid == "1"), 1) for uid in "123"},
        "sure:0.5": (1.0, 1),
        "sure:1.0": (0.0, 1),
        "sure:(none)": (0.0, 1),
    }
    assert result.to_dict()["by"] == ["answer,pred", "text", "sure"]
    one = evaluate("mini", ROWS, metrics=["accuracy"], by="answer,pred")
    assert one.to_dict()["by"] == ["answer,pred"]
    with pytest.raises(EvalkitError, match="'nothing' is no facet"):
        evaluate("mini", ROWS, metrics=["accuracy"], by=["nothing"])
