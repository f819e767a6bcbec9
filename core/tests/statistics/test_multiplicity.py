from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalkit.statistics.facets import holm

shares = st.floats(0, 1, allow_nan=False)
families = st.lists(shares, min_size=1, max_size=7)


def by_closed_testing(p_values: list[float]) -> list[float]:
    """Reject a hypothesis if Bonferroni rejects every intersection it is part of."""
    indices = range(len(p_values))
    return [
        max(
            min(1.0, size * min(p_values[other] for other in subset))
            for size in range(1, len(p_values) + 1)
            for subset in combinations(indices, size)
            if index in subset
        )
        for index in indices
    ]


@given(families)
def test_holm_is_closed_testing_with_bonferroni(p_values: list[float]) -> None:
    assert holm(p_values) == pytest.approx(by_closed_testing(p_values), rel=1e-12)


@given(families)
def test_adjusted_values_keep_order_and_bounds(p_values: list[float]) -> None:
    adjusted = holm(p_values)
    for p_value, value in zip(p_values, adjusted, strict=True):
        assert p_value <= value <= min(1.0, len(p_values) * p_value) or value == max(
            adjusted[i] for i, p in enumerate(p_values) if p <= p_value
        )
    ranked = [value for _, value in sorted(zip(p_values, adjusted, strict=True))]
    assert ranked == sorted(ranked)


@given(families, st.randoms())
def test_order_of_the_family_does_not_matter(
    p_values: list[float], random: st.DataObject
) -> None:
    order = list(range(len(p_values)))
    random.shuffle(order)  # type: ignore[attr-defined]
    adjusted = holm(p_values)
    assert holm([p_values[i] for i in order]) == [adjusted[i] for i in order]


def test_worked_example() -> None:
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.2]) == [0.2]
    assert holm([]) == []
