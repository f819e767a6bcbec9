from __future__ import annotations

import pytest

from evalkit.conclusions import Names, Reading, conclude, show_p
from evalkit.differences import Difference
from evalkit.intervals import Interval


@pytest.mark.parametrize(
    ("p_value", "shown"),
    [
        (None, ""),
        (1.0, "1"),
        (0.995, "1"),
        (0.42, ".42"),
        (0.104, ".10"),
        (0.0496, ".050"),
        (0.0031507, ".0032"),
        (0.001, ".0010"),
        (0.00094, ".00094"),
        (0.000123, ".00012"),
        (1.24e-32, "1.2e-32"),
        (0.0, "< 1e-300"),
    ],
)
def test_p_values_have_two_digits(p_value: float | None, shown: str) -> None:
    assert show_p(p_value) == shown


def test_a_sign_is_put_before_a_p_value_in_a_sentence() -> None:
    assert show_p(0.42, sign=True) == "= .42"
    assert show_p(0.0, sign=True) == "< 1e-300"


def test_a_test_and_an_interval_may_disagree() -> None:
    interval = Interval(-0.002, 0.06, 0.016, "paired-multinomial")
    found = Difference(0.53, 0.50, 100, 0, None, interval, interval)
    reading = Reading("%", 100.0, True, 0.95)
    text = conclude(Names("a", "b"), found, 0.04, 0.045, reading)
    assert text == "a is better than b by 3.0 points (95 % CI −0.2 to 6.0, p = .040)"
    turned = Interval(-0.06, 0.002, 0.016, "paired-multinomial")
    found = found._replace(value_a=0.50, value_b=0.53, interval=turned)
    text = conclude(Names("a", "b"), found, 0.04, 0.045, reading)
    assert text == "b is better than a by 3.0 points (95 % CI −0.2 to 6.0, p = .040)"
