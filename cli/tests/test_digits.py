"""Printed digits follow the width of the interval."""

from typing import Any

import numpy as np
import pytest

from evalkit import Score
from evalkit.reporting import DRAWS_BY_METHOD
from evalkit_analysis_compare import ComparedScore
from evalkit_cli.printing.comparison_report import show_compared_interval
from evalkit_cli.printing.digits import bound_decimals, decimals, show_bounds
from evalkit_cli.printing.score_cells import show_interval, show_value


def score(
    value: float | None, low: float | None, high: float | None, **fields: object
) -> Score:
    given = dict.fromkeys(Score._fields[:24])
    known = {
        "metric": "m",
        "split": "test",
        "computed_on": "all",
        "ci_method": "wilson",
        "n": 135,
        "unit": "%",
        "scale": 100.0,
    }
    ends = {"value": value, "ci_low": low, "ci_high": high}
    return Score(**given | known | ends | fields)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("n", "low", "high", "value", "shown"),
    [
        (135, 0.5762, 0.7344, 0.6593, ("65.9 %", "[57.6, 73.4]")),
        (20, 0.43, 0.87, 0.6593, ("66 %", "[43, 87]")),
        (13_500, 0.6512, 0.6672, 0.6593, ("65.93 %", "[65.12, 66.72]")),
        (10, 0.7225, 1.0, 1.0, ("100 %", "[72, 100]")),
        (1, None, None, 1.0, ("100 %", "–")),
        (135, None, None, 0.6593, ("65.9 %", "–")),
        (40_000, None, None, 0.6593, ("65.93 %", "–")),
        (0, None, None, None, ("–", "–")),
    ],
)
def test_a_score_has_the_digits_of_its_interval(
    n: int,
    low: float | None,
    high: float | None,
    value: float | None,
    shown: tuple[str, str],
) -> None:
    found = score(value, low, high, n=n)
    assert (show_value(found), show_interval(found)) == shown


@pytest.mark.parametrize(
    ("method", "draws"),
    [
        ("bootstrap", DRAWS_BY_METHOD["bootstrap"]),
        ("bootstrap-clustered", DRAWS_BY_METHOD["bootstrap"]),
        ("paired-bootstrap", DRAWS_BY_METHOD["bootstrap"]),
        ("multinomial", DRAWS_BY_METHOD["multinomial"]),
        ("paired-multinomial", DRAWS_BY_METHOD["multinomial"]),
    ],
)
def test_bounds_that_are_drawn_have_no_digit_that_the_seed_decides(
    method: str, draws: int
) -> None:
    found = score(0.6593, 0.5746, 0.7419, ci_method=method)
    assert (show_value(found), show_interval(found)) == ("65.9 %", "[57, 74]")
    assert show_interval(found._replace(ci_method="delta")) == "[57.5, 74.2]"
    rng = np.random.default_rng(5)
    for half in HALVES:
        replicates = rng.normal(0, half / 1.96, (400, draws))
        moves = float(np.std(np.quantile(replicates, 0.025, axis=1)))
        assert_last_digit(half, method, moves)


HALVES = (0.5, 1.3, 2.2, 2.4, 7.9, 22.0)


def assert_last_digit(half: float, method: str, moves: float) -> None:
    last = 10.0 ** -bound_decimals(half, 100.0, method)
    # whole numbers are always printed
    assert last == 1.0 or last >= 0.9 * moves
    # and not more is hidden than need be
    usual = 10.0 ** -decimals(half, 100.0)
    assert last in (1.0, usual) or last / 10 < 1.1 * moves


def test_a_score_never_seems_to_lie_outside_its_interval() -> None:
    near = score(0.6564, 0.6556, 0.75, ci_method="bootstrap")
    assert (show_value(near), show_interval(near)) == ("65.6 %", "[65.6, 75.0]")
    assert show_bounds(65.56, 75.0, 65.6, 0) == "[65.6, 75.0]"
    assert show_bounds(-4.0, 4.0, 0.0, 0, "+") == "[-4, +4]"
    assert show_bounds(0.0, 7.1, 3.4, 0, "+") == "[0, +7]"
    # a value that does lie outside is no reason for digits
    assert show_bounds(1.0, 2.0, 3.0, 0) == "[1, 2]"


def test_a_bound_of_a_comparison_that_is_not_zero_is_not_shown_as_zero() -> None:
    fixed: dict[str, Any] = dict.fromkeys(ComparedScore._fields)
    fixed |= {"scale": 100.0, "n": 300, "difference": 0.034, "ci_method": "tango"}
    row = ComparedScore(**{**fixed, "ci_low": 0.004, "ci_high": 0.5})
    assert show_compared_interval(row) == "[+0.4, +50.0]"
    row = ComparedScore(**{**fixed, "ci_low": 0.0, "ci_high": 0.5})
    assert show_compared_interval(row) == "[0, +50]"
