"""Says in a sentence what may be concluded from a difference."""

from __future__ import annotations

from typing import NamedTuple

from evalkit.reporting import count_of, show_p
from evalkit.scoring import Interval
from evalkit_analysis_compare.differences import EQUIVALENCE_LEVEL, Difference

_MOST_DIGITS = 6
"""Decimals beyond which a bound may be printed as zero."""


class Names(NamedTuple):
    """How a sentence names the two models."""

    first: str
    second: str


class Reading(NamedTuple):
    """How the numbers of a score are read."""

    unit: str
    scale: float
    higher_is_better: bool | None
    confidence: float
    margin: float | None = None
    """Differences up to this, as stored, are as good as none."""
    widest: float | None = None
    """The greatest difference that there can be, as stored; None for no bound."""

    def within(self, difference: float) -> float:
        """Return the possible difference that is nearest to one."""
        if self.widest is None:
            return difference
        return min(max(difference, -self.widest), self.widest)


class Judged(NamedTuple):
    """What may be said of a difference, as one of a family of comparisons."""

    p_value: float | None
    """Adjusted for the family."""
    at_most: bool
    """Whether the p-value may be smaller."""
    interval: Interval
    """Holds for all of the family at once."""
    narrow: Interval
    """The same for equivalence, with tails twice as wide."""
    different: bool
    equivalent: bool | None
    detectable: float | None
    """The smallest true difference that would be found with 80 % power."""
    reachable: bool
    """Whether the test can show a difference at all, with so few units that differ."""
    size: int
    """How many comparisons the family has."""


def conclude(names: Names, found: Difference, judged: Judged, reading: Reading) -> str:
    """Say which of two models is better, or that it is open."""
    if found.value is None:
        return f"not compared: {found.reason}"
    concluded = _concluded(names, found, found.value, judged, reading)
    return concluded + _condition(names, found)


def _concluded(
    names: Names, found: Difference, value: float, judged: Judged, reading: Reading
) -> str:
    margin = _size(reading.margin or 0.0, reading)
    if judged.different:
        within = f"; it is within the margin of {margin}" if judged.equivalent else ""
        return _decided(names, value, judged, reading) + within
    if judged.equivalent:
        interval = _interval(judged.narrow, reading, judged, equivalence=True)
        return (
            f"equivalent within {margin}: the difference is {_signed(value, reading)} "
            f"({interval})"
        )
    if judged.p_value is None:
        shown = _size(abs(value), reading)
        return f"undecided: the difference of {shown} was not tested: {found.reason}"
    return _undecided(found, value, judged, reading)


def _condition(names: Names, found: Difference) -> str:
    """Say of which examples a sentence is true where not all have a valid answer."""
    text = ""
    if any(found.lacking):
        who = [
            f"{name} has no score on {count} more"
            for name, count in zip(names, found.lacking, strict=True)
            if count
        ]
        examples = count_of(found.n, "example")
        text = f"; on the {examples} scored for both: {', '.join(who)}"
    counts = [
        f"{count} of {name}"
        for name, count in zip(names, found.as_wrong, strict=True)
        if count
    ]
    if counts:
        text += f"; missing or invalid predictions count as wrong: {', '.join(counts)}"
    return text


def _decided(names: Names, value: float, judged: Judged, reading: Reading) -> str:
    first_is_more = value > 0
    if reading.higher_is_better is None:
        winner, loser = names if first_is_more else names[::-1]
        relation = "scores higher than"
    else:
        first_wins = first_is_more == reading.higher_is_better
        winner, loser = names if first_wins else names[::-1]
        relation = "is better than"
    evidence = [_p(judged)]
    low, high = judged.interval.low, judged.interval.high
    if low is not None and high is not None:
        # of the winner's lead, whichever of the two it is
        lead = (low, high) if first_is_more else (-high, -low)
        interval = judged.interval._replace(low=lead[0], high=lead[1])
        evidence.insert(0, _interval(interval, reading, judged))
    by = _size(abs(value), reading)
    return f"{winner} {relation} {loser} by {by} ({', '.join(evidence)})"


def _undecided(
    found: Difference, value: float, judged: Judged, reading: Reading
) -> str:
    level, interval = 1 - reading.confidence, judged.interval
    if value == 0:
        start = f"undecided: no difference was seen ({_p(judged)})"
    elif not judged.reachable:
        units = "examples" if found.n_clusters is None else "clusters"
        start = (
            f"undecided: too few {units} differ for the test to show a difference "
            f"({_p(judged)})"
        )
    elif _is_found_without_interval(judged, level):
        start = (
            f"undecided: the test finds a difference of {_size(abs(value), reading)} "
            f"({_p(judged)}), but there is no interval"
        )
    elif judged.p_value is not None and judged.p_value < level:
        shown = _interval(interval, reading, judged)
        start = (
            f"undecided: the test finds a difference ({_p(judged)}), the interval does "
            f"not ({shown})"
        )
    elif judged.at_most:
        start = (
            "not resolved: no random draw gave a difference as great as "
            f"{_size(abs(value), reading)}, but with so many comparisons more draws "
            f"would be needed ({_p(judged)})"
        )
    else:
        start = (
            f"undecided: the difference of {_size(abs(value), reading)} could be "
            f"chance ({_p(judged)})"
        )
    return start + _detected(found, judged, reading)


def _detected(found: Difference, judged: Judged, reading: Reading) -> str:
    """Say which true difference would have been found."""
    if judged.detectable is None and judged.interval.reason:
        return f"; {judged.interval.reason}"
    if judged.detectable is None:
        if found.n_clusters is None or not judged.reachable or judged.p_value is None:
            return ""
        return (
            "; in clusters as few or as unequal as these no true difference is known "
            "that would be found with a probability of about 80 %"
        )
    if reading.within(judged.detectable) < judged.detectable:
        return (
            "; no possible difference would be found with a probability of about 80 %"
        )
    detected = _size(judged.detectable, reading)
    return (
        f"; a true difference of {detected} would be found with a probability of about "
        "80 %"
    )


def _is_found_without_interval(judged: Judged, level: float) -> bool:
    has_interval = judged.interval.low is not None
    return not has_interval and judged.p_value is not None and judged.p_value < level


def _interval(
    interval: Interval, reading: Reading, judged: Judged, *, equivalence: bool = False
) -> str:
    times = EQUIVALENCE_LEVEL if equivalence else 1
    level = f"{100 * (1 - times * (1 - reading.confidence)):g} % CI"
    simultaneous = "simultaneous " if judged.size > 1 else ""
    return f"{simultaneous}{level} {_bounds(interval, reading)}"


def _bounds(interval: Interval, reading: Reading) -> str:
    low, high = interval.low, interval.high
    assert low is not None
    assert high is not None
    low, high = reading.within(low), reading.within(high)
    # a bound that is not zero must not seem to be
    digits = max(_telling_digits(bound, reading) for bound in (low, high))
    return f"{_signed(low, reading, digits)} to {_signed(high, reading, digits)}"


def _telling_digits(bound: float, reading: Reading) -> int:
    """Return the decimals with which a bound shows that it is not zero."""
    digits = _digits(reading)
    while (
        digits < _MOST_DIGITS and bound and not float(_number(bound, reading, digits))
    ):
        digits += 1
    return digits


def _digits(reading: Reading) -> int:
    return 1 if reading.unit == "%" else 2


def _number(value: float, reading: Reading, digits: int | None = None) -> str:
    digits = _digits(reading) if digits is None else digits
    return f"{value * reading.scale:z.{digits}f}"


def _signed(value: float, reading: Reading, digits: int | None = None) -> str:
    shown = _number(value, reading, digits)
    return shown.replace("-", "−")


def _size(value: float, reading: Reading) -> str:
    number = _number(value, reading)
    if reading.unit == "%":
        return f"{number} points"
    return f"{number} {reading.unit}".rstrip()


def _p(judged: Judged) -> str:
    adjusted = "adjusted " if judged.size > 1 else ""
    shown = show_p(judged.p_value, sign=True, at_most=judged.at_most)
    return f"{adjusted}p {shown}"
