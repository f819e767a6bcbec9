from __future__ import annotations

import math
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import optimize

from evalkit.inference.roots import find_root

FUNCTIONS: dict[str, tuple[Callable[[float], float], float, float, float]] = {
    "cubic": (lambda x: x**3 - 2, 0.0, 2.0, 2 ** (1 / 3)),
    "falling": (lambda x: 5 - math.exp(x), -10.0, 10.0, math.log(5)),
    "step": (lambda x: math.copysign(1.0, x - 0.3), 0.0, 1.0, 0.3),
    "flat": (lambda x: (x - 0.75) ** 9, 0.0, 1.0, 0.75),
    "at the lower end": (lambda x: x - 2, 2.0, 3.0, 2.0),
    "at the upper end": (lambda x: x - 3, 2.0, 3.0, 3.0),
    "at zero": (lambda x: x, -1.0, 2.0, 0.0),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_roots_that_are_known(name: str) -> None:
    function, low, high, root = FUNCTIONS[name]
    assert find_root(function, low, high) == pytest.approx(root, rel=1e-15, abs=1e-15)
    assert find_root(function, high, low) == pytest.approx(root, rel=1e-15, abs=1e-15)


@given(st.floats(0.01, 100), st.floats(0.5, 5), st.floats(0.001, 0.99), st.booleans())
def test_roots_are_those_of_brent(
    scale: float, power: float, level: float, falls: bool
) -> None:
    sign = -1 if falls else 1

    def function(x: float) -> float:
        return float(sign * (1 - math.exp(-((x / scale) ** power)) - level))

    high = scale * 1000.0 ** (1 / power)
    expected = optimize.brentq(
        function, 0.0, high, xtol=1e-300, rtol=1e-15, maxiter=1000
    )
    assert find_root(function, 0.0, high) == pytest.approx(expected, rel=1e-10)


def test_a_smooth_function_is_called_a_few_times() -> None:
    calls = []

    def function(x: float) -> float:
        calls.append(x)
        return math.tanh(x) - 0.5

    find_root(function, 0.0, 4.0)
    assert len(calls) < 16
