import enum
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalkit.base.columns import (
    all_named,
    encode,
    frame_of,
    is_storable,
    is_text_only,
    named,
    to_series,
    unnamed,
)


@pytest.mark.parametrize(
    ("value", "stored"),
    [
        ({"b": 1, "a": "é"}, '{"a": "é", "b": 1}'),
        ([1, None], "[1, null]"),
        ([["a"]], '[["a"]]'),
        (2**63, str(2**63)),
        (-(2**63) - 1, str(-(2**63) - 1)),
        (10**400, str(10**400)),
    ],
)
def test_a_value_of_no_column_type_becomes_canonical_json(
    value: Any, stored: str
) -> None:
    assert to_series("x", [value, None]).to_list() == [stored, None]


class Colour(str, enum.Enum):  # noqa: UP042 - the older spelling is what authors have
    RED = "red"


class Size(enum.IntEnum):
    BIG = 3


@pytest.mark.parametrize(
    ("values", "plain"),
    [
        (list(np.array(["a", "b"])), ["a", "b"]),
        (["a", np.str_("b")], ["a", "b"]),
        ([Colour.RED, "blue"], ["red", "blue"]),
        (list(np.array([1, 2])), [1, 2]),
        ([Size.BIG, 4], [3, 4]),
        (list(np.array([0.5, 1.5], dtype=np.float32)), [0.5, 1.5]),
        ([np.float64(0.5), 1], [0.5, 1.0]),
        ([np.bool_(True), False], [True, False]),
        ([("a", "b"), ["c"]], [["a", "b"], ["c"]]),
        ([np.array(["a"]), (np.str_("b"),)], [["a"], ["b"]]),
    ],
)
def test_subclasses_and_numpy_values_count_as_the_plain_type(
    values: list[Any], plain: list[Any]
) -> None:
    assert to_series("x", values).equals(to_series("x", plain))
    assert to_series("x", values).to_list() == plain


HOLDS_ITSELF: list[Any] = []
HOLDS_ITSELF.append(HOLDS_ITSELF)
UNSTORABLE = ["\ud800", ["a\udfff"], 10**5000, {"a": 1, 2: 3}, {"a": HOLDS_ITSELF}]


@pytest.mark.parametrize("value", UNSTORABLE, ids=lambda value: type(value).__name__)
def test_what_cannot_be_stored_is_a_value_error(value: Any) -> None:
    with pytest.raises(ValueError, match=r"."):
        to_series("x", [value])
    assert not is_storable(value)
    assert is_storable("a")


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, None), ("a", "a"), (1, "1"), (True, "true"), (["é"], '["é"]')],
)
def test_encoding_leaves_texts_and_none_alone(value: Any, text: str | None) -> None:
    assert encode(value) == text


@pytest.mark.parametrize(
    ("values", "expected"),
    [([], True), (["a", None], True), (["a", 1], False), ([["a"]], False)],
)
def test_columns_of_texts_are_told_from_others(
    values: list[Any], expected: bool
) -> None:
    assert is_text_only(values) is expected


STRANGE = ["*", "^u.*$", "", "a.b", "a\nb", "^", "$", "^$", "**", "^*$", "^(", "u1"]


def _strange() -> pl.DataFrame:
    return pl.DataFrame({name: [place, 1, 1] for place, name in enumerate(STRANGE)})


@pytest.mark.parametrize("name", STRANGE)
def test_a_column_is_taken_by_its_name(name: str) -> None:
    frame, place = _strange(), STRANGE.index(name)
    only = pl.DataFrame({name: [place, 1, 1]})
    assert frame.select(named(name)).equals(only)
    assert frame.select(all_named([name])).equals(only)
    assert frame.select(named(name) + 1).to_series().to_list() == [place + 1, 2, 2]
    assert frame.drop(all_named([name])).columns == [n for n in STRANGE if n != name]
    assert frame.select(pl.lit(1).sum().over(all_named([name]))).height == 3
    counted = frame.group_by(all_named([name])).agg(pl.len().alias("rows"))
    assert counted.columns == [name, "rows"]
    joined = frame.join(counted, on=all_named([name]), how="left")
    assert joined.columns == [*STRANGE, "rows"]
    assert unnamed(frame[name]).is_null().to_list() == [False] * 3


@given(st.permutations(STRANGE), st.integers(0, len(STRANGE)))
def test_columns_are_taken_in_the_order_of_their_names(
    names: list[str], count: int
) -> None:
    frame, chosen = _strange(), names[:count]
    assert frame.select(all_named(chosen)).columns == chosen
    rest = [name for name in STRANGE if name not in chosen]
    assert frame.select(~all_named(chosen)).columns == rest


def test_columns_sort_in_the_order_of_their_names() -> None:
    frame = pl.DataFrame({"*": [2, 1, 1], "^u.*$": [1, 2, 1], "u1": [0, 0, 0]})
    assert frame.sort(all_named(["*", "^u.*$"])).rows() == [
        (1, 1, 0),
        (1, 2, 0),
        (2, 1, 0),
    ]
    assert frame.sort(all_named(["^u.*$", "*"])).rows() == [
        (1, 1, 0),
        (2, 1, 0),
        (1, 2, 0),
    ]


def test_a_column_that_is_not_there_is_no_pattern_either() -> None:
    for columns in (named("^u.*$"), all_named(["*"])):
        with pytest.raises(pl.exceptions.ColumnNotFoundError):
            pl.DataFrame({"u1": [1]}).select(columns)


def test_a_frame_keeps_an_empty_name() -> None:
    columns = [pl.Series("a", [1]), pl.Series("", [2])]
    assert frame_of(columns).to_dicts() == [{"a": 1, "": 2}]
