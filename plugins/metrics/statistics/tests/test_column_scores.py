from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import evalkit
from evalkit.errors import MetricError, PluginContractError


def score(name: str, verdicts: list[Any]) -> evalkit.Score:
    nothing = [""] * len(verdicts)
    [found] = evalkit.score(name, nothing, nothing, fields={"v": verdicts}).scores
    return found


@given(verdicts=st.lists(st.sampled_from([1.0, 1.5, 2.0, 1.25]), min_size=1))
def test_a_rate_is_the_win_rate_of_preferences(verdicts: list[float]) -> None:
    found = score("column-rate:of=v,low=1,high=2", verdicts)
    assert found.value == pytest.approx(sum(verdicts) / len(verdicts) - 1)
    assert score("column-mean:of=v", verdicts).value == pytest.approx(found.value + 1)


@pytest.mark.parametrize(
    ("name", "verdicts", "expected", "n"),
    [
        ("column-rate:of=v", [True, False, None], 0.5, 2),
        ("column-rate:of=v,values=a/b", ["a", "b", "c", "", "A"], 0.5, 4),
        ("column-rate:of=v,values=true", [True, False], 0.5, 2),
        ("column-mean:of=v", [[1, None, 2], [None], [5]], 3.25, 2),
        ("column-mean:of=v", ["7", "[2, null, 4]"], 5.0, 2),
        ("column-mean:of=v", [None, None], None, 0),
    ],
)
def test_examples_without_a_verdict_are_not_scored(
    name: str, verdicts: list[Any], expected: float | None, n: int
) -> None:
    found = score(name, verdicts)
    assert (found.value, found.n) == (expected, n)


@pytest.mark.parametrize(
    ("name", "verdict", "message"),
    [
        ("column-rate:of=v", 2, "v: expected 0 to 1, got 2"),
        ("column-mean:of=v", "good", "v: expected a number, got 'good'"),
        ("column-mean:of=w", 1, "it needs the field 'w'"),
    ],
)
def test_other_values_fail_and_are_named(name: str, verdict: Any, message: str) -> None:
    with pytest.raises(MetricError, match=message):
        score(name, [verdict])


def test_equal_ends_are_refused() -> None:
    with pytest.raises(PluginContractError, match="low and high must differ"):
        score("column-rate:of=v,low=1", [1])
