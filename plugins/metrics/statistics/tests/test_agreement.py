"""Krippendorff's alpha and Fleiss' kappa, against definitions and two packages."""

from collections.abc import Sequence
from itertools import permutations
from typing import Any

import krippendorff
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from statsmodels.stats.inter_rater import aggregate_raters, fleiss_kappa

import evalkit
from evalkit.errors import MetricError

from .values_alone import values_by_tag

LEVELS = ("nominal", "ordinal", "interval", "ratio")
Ratings = Sequence[Sequence[Any]]


def alpha(level: str, ratings: Ratings) -> evalkit.Score:
    return score(f"krippendorff-alpha:level={level}", ratings)


def score(name: str, ratings: Ratings) -> evalkit.Score:
    first = [each[0] if each else 0.0 for each in ratings]
    fields = {"responses": [list(each) for each in ratings]}
    return values_by_tag(name, first, [1.0] * len(first), fields=fields)[None]


def disagreement(level: str, one: float, other: float, values: list[float]) -> float:
    """The squared difference functions of Krippendorff (2011), section D."""
    if level == "nominal":
        return float(one != other)
    if level == "interval":
        return (one - other) ** 2
    if level == "ratio":
        return ((one - other) / (one + other)) ** 2 if one + other else 0.0
    low, high = sorted((one, other))
    between = sum(low <= value <= high for value in values)
    ends = (values.count(one) + values.count(other)) / 2
    return float(between - ends) ** 2


def alpha_by_hand(level: str, ratings: Ratings) -> float:
    units = [list(unit) for unit in ratings if len(unit) > 1]
    values = [value for unit in units for value in unit]
    observed = sum(
        disagreement(level, *pair, values) / (len(unit) - 1)
        for unit in units
        for pair in permutations(unit, 2)
    ) / len(values)
    pairs = [
        disagreement(level, *pair, values) if pair[0] != pair[1] else 0.0
        for pair in permutations(values, 2)
    ]
    return 1 - observed / (sum(pairs) / len(pairs))


def _is_spread(ratings: Ratings) -> bool:
    return len({value for unit in ratings if len(unit) > 1 for value in unit}) > 1


numbers = st.sampled_from([0.0, 1.0, 2.0, 3.5, 10.0])
several = st.lists(st.lists(numbers, max_size=4), min_size=1, max_size=12).filter(
    _is_spread
)


@pytest.mark.parametrize("level", LEVELS)
@given(ratings=several)
@pytest.mark.slow
def test_alpha_is_what_its_definition_says(level: str, ratings: Ratings) -> None:
    found = alpha(level, ratings)
    assert found.value == pytest.approx(alpha_by_hand(level, ratings), abs=1e-9)
    assert found.n == sum(len(unit) > 1 for unit in ratings)


@pytest.mark.parametrize("level", LEVELS)
@given(ratings=several)
@pytest.mark.slow
def test_alpha_is_that_of_the_package(level: str, ratings: Ratings) -> None:
    table = np.full((4, len(ratings)), np.nan)
    for number, unit in enumerate(ratings):
        table[: len(unit), number] = unit
    wanted = krippendorff.alpha(table, level_of_measurement=level)
    assert alpha(level, ratings).value == pytest.approx(wanted, abs=1e-9)


# Krippendorff (2011), section C: 12 units, 4 observers, values that are missing
PUBLISHED = [
    *([1, 1, 1], [2, 2, 3, 2], [3, 3, 3, 3], [3, 3, 3, 3], [2, 2, 2, 2]),
    *([1, 2, 3, 4], [4, 4, 4, 4], [1, 1, 2, 1], [2, 2, 2, 2], [5, 5, 5], [1, 1], [3]),
]


@pytest.mark.parametrize(
    ("level", "value"),
    [("nominal", 0.743), ("ordinal", 0.815), ("interval", 0.849), ("ratio", 0.797)],
)
def test_alpha_is_what_krippendorff_published(level: str, value: float) -> None:
    ratings = [[float(rating) for rating in unit] for unit in PUBLISHED]
    assert alpha(level, ratings).value == pytest.approx(value, abs=5e-4)


@given(
    ratings=st.integers(2, 4).flatmap(
        lambda m: st.lists(
            st.lists(st.sampled_from("abc"), min_size=m, max_size=m),
            min_size=1,
            max_size=12,
        )
    )
)
@pytest.mark.slow
def test_kappa_is_that_of_statsmodels(ratings: Ratings) -> None:
    assume(_is_spread(ratings))
    wanted = fleiss_kappa(aggregate_raters(np.array(ratings))[0])
    assert score("fleiss-kappa", ratings).value == pytest.approx(wanted, abs=1e-9)


# Fleiss (1971): 30 patients, 6 psychiatrists each, of five diagnoses
FLEISS = (
    "444444 222555 233335 444444 222444 114444 333344 114445 114444 555555 "
    "144444 142222 333333 144333 225555 344333 445552 344111 255555 "
    "251222 444444 422222 255555 112444 144444 222233 442222 255555 112222 133333"
)


def test_kappa_of_a_table_by_hand() -> None:
    ratings = [list(unit) for unit in FLEISS.split()]
    counts = np.array([[unit.count(c) for c in "12345"] for unit in ratings])
    agreed = ((counts**2).sum(axis=1) - 6) / 30
    chance = ((counts.sum(axis=0) / counts.sum()) ** 2).sum()
    wanted = (agreed.mean() - chance) / (1 - chance)
    assert score("fleiss-kappa", ratings).value == pytest.approx(wanted)


def test_numbers_of_ratings_that_differ_have_no_kappa() -> None:
    found = score("fleiss-kappa", [["a", "b"], ["a", "b", "b"]])
    assert found.value is None
    assert found.reason == (
        "examples have different numbers of ratings, from 2 to 3; "
        "krippendorff-alpha takes them"
    )
    tagged = score("fleiss-kappa", [["a", "b"], ["a", "b", "b"]])
    assert tagged.value is None


@pytest.mark.parametrize("name", ["fleiss-kappa", "krippendorff-alpha"])
def test_equal_ratings_are_nothing_by_nothing(name: str) -> None:
    found = score(name, [["a", "a"], ["a", "a"]])
    assert (found.value, found.reason) == (None, "all ratings are equal")


@pytest.mark.parametrize("name", ["fleiss-kappa", "krippendorff-alpha"])
def test_an_example_with_one_rating_is_left_out_and_counted(name: str) -> None:
    fields = {"responses": [["a", "b"], ["a", "a"], ["b"], ["b", None]]}
    found = evalkit.score(name, list("aabb"), list("aabb"), fields=fields)
    assert found[name].n == 2
    assert found[name].value == score(name, [["a", "b"], ["a", "a"]]).value
    assert any("no row for 2 of 4 examples" in notice for notice in found.notices)


@pytest.mark.parametrize("name", ["fleiss-kappa", "krippendorff-alpha"])
def test_single_answers_are_no_ratings(name: str) -> None:
    with pytest.raises(MetricError, match="each example has one rating"):
        evalkit.score(name, ["a", "b"], ["a", "a"])


@pytest.mark.parametrize("level", ["ordinal", "interval", "ratio"])
def test_levels_of_numbers_refuse_texts(level: str) -> None:
    with pytest.raises(MetricError, match="ratings must be numbers"):
        alpha(level, [["a", "b"]])
    assert alpha(level, [["1", "2"], ["1", "1"]]).value == (
        alpha(level, [[1, 2], [1, 1]]).value
    )


def test_negative_numbers_have_no_ratios() -> None:
    with pytest.raises(MetricError, match="at least 0"):
        alpha("ratio", [[-1.0, 2.0], [1.0, 2.0]])


def test_the_answers_of_replications_are_ratings() -> None:
    ratings = [["negative", "neutral", "neutral"], ["positive"] * 3, ["neutral"] * 3]
    rows = [
        {"id": str(n), "_replication_": r, "label": label}
        for n, unit in enumerate(ratings)
        for r, label in enumerate(unit)
    ]
    data = [
        {
            "uid": str(n),
            "statement": "Good.",
            "label": "neutral",
            "tags": ["t"] * (n > 0),
        }
        for n in range(3)
    ]
    metrics = ["krippendorff-alpha", "fleiss-kappa", "accuracy"]
    found = evalkit.evaluate(
        data=data, predictions=rows, task="sentiment", metrics=metrics
    )
    for name in metrics[:2]:
        assert found[name].value == pytest.approx(score(name, ratings).value)
        assert (found[name].n, found[name].coverage) == (3, 1.0)
        tagged = next(s for s in found.scores if (s.metric, s.tag) == (name, "t"))
        assert tagged.value == pytest.approx(score(name, ratings[1:]).value)
    some = [row for row in rows if row["id"] != "2" or row["_replication_"] != 1]
    missing = evalkit.evaluate(
        data=data,
        predictions=some,
        task="sentiment",
        metrics=metrics,
        on_missing="skip",
    )
    fewer = [*ratings[:2], ["neutral"] * 2]
    assert missing["krippendorff-alpha"].value == pytest.approx(
        score("krippendorff-alpha", fewer).value
    )
    counted = evalkit.evaluate(
        data=data,
        predictions=some,
        task="sentiment",
        metrics=metrics,
        on_missing="wrong",
    )
    assert counted["krippendorff-alpha"].value is None
    assert "without a prediction" in str(counted["krippendorff-alpha"].reason)
