"""Lists are scored only where a file could hold them."""

import math
from typing import Any

import pytest

import evalkit
from evalkit.errors import DataError
from evalkit.workflows.lists import check_values

GOLD = ["a", "b"]


def check(labels: list[str] | None = None, **lists: list[Any]) -> None:
    """Check lists, with answers of two labels."""
    given = {"predictions": GOLD, "targets": GOLD, **lists}
    check_values(given, given["targets"], labels)


@pytest.mark.parametrize(
    ("prob", "why"),
    [
        ({"a": -0.2, "b": 1.2}, "gives 'a' -0.2: must be between 0 and 1"),
        ({"a": math.inf, "b": 0}, "gives 'a' inf: must be between 0 and 1"),
        ({"a": 1, "b": 1}, "sums to 2: probabilities must sum to 1"),
        ({"a": 0.2, "b": None}, "sums to 0.2"),
        ({"a": "1", "b": 0}, "gives 'a' '1', which is no number"),
        ({"a": True, "b": 0}, "gives 'a' True, which is no number"),
        ({"a": 0.5, "zz": 0.5}, "has 'zz', which is none of the labels"),
    ],
)
def test_probabilities_are_a_distribution(prob: Any, why: str) -> None:
    with pytest.raises(DataError) as caught:
        check(labels=GOLD, prob=[{"a": 1, "b": 0}, prob])
    assert str(caught.value).startswith(f"prob[1] {why}")


@pytest.mark.parametrize(
    "prob",
    [
        None,
        {"a": 0.5, "b": 0.5},
        {"a": 0.3334, "b": 0.6665},
        {"a": 1},
        {"a": math.nan, "b": 1},  # is given none, which metrics say
        {"a": 1, "b": None},
    ],
)
def test_what_may_be_a_distribution_passes(prob: Any) -> None:
    check(labels=GOLD, prob=[prob, None])
    check(prob=[prob, None])


@pytest.mark.parametrize("name", ["predictions", "targets"])
def test_spans_end_behind_their_start(name: str) -> None:
    empty = [{"start": 3, "end": 3}, {"start": None, "end": 1}, {"from": 1, "to": 0}]
    check(**{name: [empty, []]})
    with pytest.raises(DataError, match=rf"{name}\[1\] has a span that ends before"):
        check(**{name: [empty, [*empty, {"start": 3, "end": 1}]]})


HALF = "x\ud800"


@pytest.mark.parametrize(
    "options",
    [
        {"predictions": [HALF, "b"]},
        {"targets": [HALF, "b"]},
        {"targets": [["a", HALF], ["b"]]},
        {"tags": [["a"], [HALF]]},
        {"fields": {"prob": [{HALF: 1}, None]}},
        {"fields": {HALF: [1, 2]}},
        {"labels": [*GOLD, HALF]},
    ],
)
def test_half_a_surrogate_pair_is_named(options: dict[str, Any]) -> None:
    given = {"predictions": GOLD, "targets": GOLD, **options}
    with pytest.raises(DataError, match="half of a surrogate pair, which is no char"):
        evalkit.score(lambda prediction, target: 1.0, **given)
    given = {"predictions": GOLD, "targets": ["a", "\U0001f600"]}
    assert evalkit.score("accuracy", **given)["accuracy"].value == 0.5


def test_answers_are_labels() -> None:
    check(labels=GOLD, targets=[["a"], None, 3])
    with pytest.raises(DataError, match=r"targets\[1\] is 'z', which is none of the l"):
        check(labels=GOLD, targets=["a", "z"])
    with pytest.raises(DataError, match=r"targets\[0\] holds 'z', which is none of th"):
        check(labels=GOLD, targets=[["a", "z"]])
