import enum
from typing import Any

import numpy as np
import polars as pl
import pytest

from evalkit.base.columns import frame_of, to_series


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


def test_a_frame_keeps_an_empty_name() -> None:
    columns = [pl.Series("a", [1]), pl.Series("", [2])]
    assert frame_of(columns).to_dicts() == [{"a": 1, "": 2}]
