"""Says in a sentence what may be concluded from a difference."""

from __future__ import annotations

from typing import NamedTuple

from evalkit.differences import Difference
from evalkit.intervals import Interval


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


def conclude(
    names: Names,
    found: Difference,
    p_value: float | None,
    smallest: float | None,
    reading: Reading,
) -> str:
    """Say which of two models is better, or that it is open.

    Args:
        names: Of the models.
        found: The difference.
        p_value: What the sentence follows: adjusted where several are read together.
        smallest: The smallest difference that would be detected.
        reading: How numbers are read.

    Returns:
        One sentence without a full stop.
    """
    value = found.value
    if value is None:
        return f"not compared: {found.reason}"
    if p_value is None:
        shown = _size(abs(value), reading)
        return f"undecided: the difference of {shown} was not tested: {found.reason}"
    equivalent = is_equivalent(found, reading.margin)
    if p_value < 1 - reading.confidence:
        return _decided(names, found, value, p_value, reading) + (
            f"; it is within the margin of {_size(reading.margin or 0.0, reading)}"
            if equivalent
            else ""
        )
    if equivalent:
        level = f"{100 * (1 - 2 * (1 - reading.confidence)):g} % CI"
        bounds = _bounds(found.narrow, reading)
        return (
            f"equivalent within {_size(reading.margin or 0.0, reading)}: the "
            f"difference is {_signed(value, reading)} ({level} {bounds})"
        )
    return _undecided(found, value, p_value, smallest, reading)


def is_equivalent(found: Difference, margin: float | None) -> bool | None:
    """Tell whether a difference is smaller than a margin, by two one-sided tests.

    Args:
        found: The difference.
        margin: The margin, as stored.

    Returns:
        Whether the interval lies within it; None without margin or interval.
    """
    low, high = found.narrow.low, found.narrow.high
    if margin is None or low is None or high is None:
        return None
    return -margin < low and high < margin


def _decided(
    names: Names, found: Difference, value: float, p_value: float, reading: Reading
) -> str:
    first_is_more = value > 0
    if reading.higher_is_better is None:
        winner, loser = names if first_is_more else names[::-1]
        relation = "scores higher than"
    else:
        first_wins = first_is_more == reading.higher_is_better
        winner, loser = names if first_wins else names[::-1]
        relation = "is better than"
    evidence = [_p(p_value)]
    low, high = found.interval.low, found.interval.high
    if low is not None and high is not None:
        # of the winner's lead, whichever of the two it is
        ends = (low, high) if first_is_more else (-high, -low)
        text = " to ".join(_signed(end, reading) for end in ends)
        evidence.insert(0, f"{100 * reading.confidence:g} % CI {text}")
    by = _size(abs(value), reading)
    return f"{winner} {relation} {loser} by {by} ({', '.join(evidence)})"


def _undecided(
    found: Difference,
    value: float,
    p_value: float,
    smallest: float | None,
    reading: Reading,
) -> str:
    if value == 0:
        start = f"undecided: no difference was seen ({_p(p_value)})"
    else:
        start = (
            f"undecided: the difference of {_size(abs(value), reading)} could be "
            f"chance ({_p(p_value)})"
        )
    if smallest is None:
        return f"{start}; {found.interval.reason or 'its error is unknown'}"
    detected = _size(smallest, reading)
    return f"{start}; this comparison would detect {detected} or more (80 % power)"


def _bounds(interval: Interval, reading: Reading) -> str:
    low, high = interval.low, interval.high
    assert low is not None
    assert high is not None
    return f"{_signed(low, reading)} to {_signed(high, reading)}"


def _number(value: float, reading: Reading) -> str:
    digits = 1 if reading.unit == "%" else 2
    return f"{value * reading.scale:z.{digits}f}"


def _signed(value: float, reading: Reading) -> str:
    shown = _number(value, reading)
    return shown.replace("-", "−")


def _size(value: float, reading: Reading) -> str:
    number = _number(value, reading)
    if reading.unit == "%":
        return f"{number} points"
    return f"{number} {reading.unit}".rstrip()


def _p(p_value: float) -> str:
    return f"p {show_p(p_value, sign=True)}"


def show_p(p_value: float | None, *, sign: bool = False) -> str:
    """Give a p-value as a person reads it: `.42`, `.0032`, `1.2e-32`.

    Args:
        p_value: The p-value.
        sign: Whether to put `=` or `<` before it.

    Returns:
        Two digits that count; nothing for None.
    """
    if p_value is None:
        return ""
    if p_value < 1e-300:
        return "< 1e-300"
    equals = "= " if sign else ""
    if p_value < 0.0001:
        return f"{equals}{p_value:.1e}"
    if p_value >= 0.995:
        return f"{equals}1"
    digits = 2
    while round(p_value, digits) < 10.0 ** (1 - digits):
        digits += 1
    return f"{equals}{p_value:.{digits}f}".replace("0.", ".", 1)
