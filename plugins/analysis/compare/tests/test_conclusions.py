from evalkit.base.wording import show_p
from evalkit.statistics.intervals import Interval
from evalkit_analysis_compare.conclusions import Names, Reading, conclude
from evalkit_analysis_compare.differences import Difference
from evalkit_analysis_compare.judging import judge
from evalkit_analysis_compare.paired_tests import Significance


def test_a_sign_is_put_before_a_p_value_in_a_sentence() -> None:
    assert show_p(0.42, sign=True) == "= .42"
    assert show_p(0.0, sign=True) == "< 1e-300"


def difference(value: float, interval: Interval, tested: Significance) -> Difference:
    """Make a difference with the same interval at every level."""
    return Difference(
        *(0.5 + value, 0.5, 100, 0, None, 0.016),
        intervals=lambda _confidence: interval,
        detects=lambda level: 0.045 if level > 0.01 else 0.06,
        tested=tested,
    )


def concluded(
    found: Difference,
    size: int = 1,
    margin: float | None = None,
    widest: float | None = None,
) -> str:
    reading = Reading("%", 100.0, True, 0.95, margin, widest)
    judged = judge(found, size, 0.95, margin)
    return conclude(Names("a", "b"), found, judged, reading)


def test_a_bound_above_zero_is_not_shown_as_zero() -> None:
    """It said "is better (95 % CI 0.0 to 7.5, p = .039)"."""
    found = difference(0.034, Interval(0.0004, 0.075, 0.02), Significance(0.039, "x"))
    assert concluded(found) == (
        "a is better than b by 3.4 points (95 % CI 0.04 to 7.50, p = .039)"
    )


def test_nothing_is_said_of_impossible_differences() -> None:
    wide = Interval(0.2, 1.4, 0.3, "delta")
    found = difference(0.8, wide, Significance(0.01, "swaps"))
    assert "(95 % CI 20.0 to 140.0, p = .010)" in concluded(found)
    assert "(95 % CI 20.0 to 100.0, p = .010)" in concluded(found, widest=1.0)
    around = Interval(-1.4, 0.6, 0.3, "delta")
    found = difference(-0.4, around, Significance(0.4, "swaps"))
    found = found._replace(detects=lambda _level: 1.1)
    assert concluded(found, widest=1.0).endswith(
        "; no possible difference would be found with a probability of about 80 %"
    )
    assert "a true difference of 110.0 points would be found" in concluded(found)


def test_a_difference_needs_both_test_and_interval() -> None:
    above = Interval(0.002, 0.06, 0.016, "paired-multinomial")
    shown = difference(0.03, above, Significance(0.04, "swaps"))
    assert concluded(shown) == (
        "a is better than b by 3.0 points (95 % CI 0.2 to 6.0, p = .040)"
    )
    below = Interval(-0.06, -0.002, 0.016, "paired-multinomial")
    turned = difference(-0.03, below, Significance(0.04, "swaps"))
    assert concluded(turned) == (
        "b is better than a by 3.0 points (95 % CI 0.2 to 6.0, p = .040)"
    )
    around = Interval(-0.002, 0.06, 0.016, "paired-multinomial")
    assert concluded(difference(0.03, around, Significance(0.04, "swaps"))) == (
        "undecided: the test finds a difference (p = .040), the interval does not (95 "
        "% CI −0.2 to 6.0); a true difference of 4.5 points would be found with a "
        "probability of about 80 %"
    )


def test_an_interval_says_no_more_than_the_test() -> None:
    above = Interval(0.002, 0.06, 0.016, "tango")
    judged = judge(difference(0.03, above, Significance(0.06, "swaps")), 1, 0.95, None)
    assert (judged.interval.low, judged.different) == (0.0, False)
    below = Interval(-0.06, -0.01, 0.016, "tango")
    judged = judge(difference(-0.03, below, Significance(0.02, "swaps")), 3, 0.95, None)
    assert (judged.interval.high, judged.different) == (0.0, False)
    # without a test nothing is known that would widen it
    untested = difference(0.03, above, Significance(1, ""))._replace(tested=None)
    assert judge(untested, 1, 0.95, None).interval == above


def test_what_no_test_could_show_is_not_called_chance() -> None:
    above = Interval(0.01, 0.06, 0.016, "tango")
    few = difference(0.03, above, Significance(0.0625, "mcnemar-exact", least=0.0625))
    assert concluded(few).startswith(
        "undecided: too few examples differ for the test to show a difference (p = "
        ".062)"
    )
    floor = difference(0.03, above, Significance(1e-5, "swaps", True))
    assert concluded(floor, 50_000).startswith(
        "not resolved: no random draw gave a difference as great as 3.0 points, but "
        "with so many comparisons more draws would be needed (adjusted p ≤ .50)"
    )


def test_equivalence_of_several_is_simultaneous() -> None:
    near = Interval(-0.004, 0.006, 0.002, "tango")
    found = difference(0.001, near, Significance(0.7, "mcnemar-exact"))
    assert concluded(found, 4, 0.01) == (
        "equivalent within 1.0 points: the difference is 0.1 (simultaneous 90 % CI "
        "−0.4 to 0.6)"
    )
    assert judge(found, 4, 0.95, 0.005).equivalent is False
    assert judge(found, 1, 0.4, 0.01).equivalent is None
