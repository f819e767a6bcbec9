"""Draws intervals: one line of SVG in a row of a table, on the axis of its column."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

from evalkit_commands_report.markup import Markup, element, fragment

_MOST_TICKS = 6
_STEPS = (1, 2, 2.5, 5, 10)
_SPARE = 0.04
"""Room at both ends, as a share of the axis, so that marks are not cut."""


class Axis(NamedTuple):
    """An axis in stored values; it is drawn in percent of a width."""

    low: float
    high: float
    ticks: tuple[tuple[float, str], ...]
    """Where each is, as stored, and what it says."""

    def place(self, value: float) -> float:
        """Return where a value is, in percent of the width."""
        return round(100 * (value - self.low) / (self.high - self.low), 3)


def make_axis(
    values: Iterable[float],
    scale: float = 1.0,
    include: Iterable[float] = (),
    limits: tuple[float, float] = (-math.inf, math.inf),
) -> Axis:
    """Make an axis that holds values."""
    shown = [scale * value for value in (*values, *include) if math.isfinite(value)]
    low, high = (min(shown), max(shown)) if shown else (0.0, scale)
    if high <= low:
        spare = abs(scale) / 100
        least, greatest = sorted(scale * limit for limit in limits)
        low = max(low - spare, min(low, least))
        high = min(high + spare, max(high, greatest))
    step = _step(high - low)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    places = max(0, -math.floor(math.log10(step) + 1e-9))
    places += (step * 10**places) % 1 > 1e-9
    ticks = tuple(
        (number * step / scale, f"{number * step:z.{places}f}")
        for number in range(first, last + 1)
    )
    spare = _SPARE * (last - first) * step
    return Axis((first * step - spare) / scale, (last * step + spare) / scale, ticks)


def _step(span: float) -> float:
    rough = span / _MOST_TICKS
    size = 10 ** math.floor(math.log10(rough))
    return float(
        next(step * size for step in _STEPS if step * size >= rough * (1 - 1e-9))
    )


HEIGHT = 22
_MIDDLE = HEIGHT // 2
_CAP = 4

MARKS = 5
COLOURS = 8
"""Colours and shapes that tell runs apart; both go round, so that 40 runs differ."""

_SHAPES = (
    element("circle", r=4.5),
    element("rect", x=-4, y=-4, width=8, height=8),
    element("path", d="M0-5.6 5.6 0 0 5.6-5.6 0Z"),
    element("path", d="M0-5.2 5 4.2-5 4.2Z"),
    element("path", d="M0 5.2 5-4.2-5-4.2Z"),
)


def mark_symbols() -> Markup:
    """Return the shapes of marks, which every plot of the page uses."""
    shapes = [
        element("g", shape, id=f"mark-{place}") for place, shape in enumerate(_SHAPES)
    ]
    return element(
        "svg",
        element("defs", shapes),
        class_="symbols",
        width=0,
        height=0,
        aria_hidden="true",
    )


def colour_class(place: int) -> str:
    """Return the class that gives a run its colour."""
    return f"run-{place % COLOURS}"


def mark(place: int) -> Markup:
    """Return the mark of a run, for a legend."""
    return element(
        "svg",
        element("use", href=f"#mark-{place % MARKS}", x=7, y=7),
        class_=f"key {colour_class(place)}",
        width=14,
        height=14,
        aria_hidden="true",
    )


def interval_line(
    axis: Axis,
    place: int,
    value: float | None,
    ends: tuple[float, float] | None,
    reference: float | None = None,
) -> Markup:
    """Draw a value and its interval."""
    low, high = (axis.place(end) for end in ends) if ends else (0.0, 0.0)
    return element(
        "svg",
        _grid(axis),
        None if reference is None else _vertical(axis.place(reference), "reference"),
        element(
            "g",
            _horizontal(low, high),
            _vertical(low, "cap", _CAP),
            _vertical(high, "cap", _CAP),
            class_="interval",
            display=None if ends else "none",
        ),
        element(
            "use",
            href=f"#mark-{place % MARKS}",
            x=f"{axis.place(value) if value is not None else 0}%",
            y=_MIDDLE,
            class_="mark",
            display=None if value is not None else "none",
        ),
        class_=f"line {colour_class(place)}",
        height=HEIGHT,
        width="100%",
        aria_hidden="true",
    )


def axis_line(axis: Axis) -> Markup:
    """Draw the ticks of an axis, for the head of a column, with a name to be read."""
    labels = [
        element("text", text, x=f"{axis.place(value)}%", y=12, text_anchor="middle")
        for value, text in axis.ticks
    ]
    return fragment(
        element("span", "Plot", class_="unseen"),
        element(
            "svg", labels, class_="axis", height=16, width="100%", aria_hidden="true"
        ),
    )


def _grid(axis: Axis) -> Markup:
    return fragment([_vertical(axis.place(value), "grid") for value, _ in axis.ticks])


def _vertical(place: float, class_: str, half: int = _MIDDLE) -> Markup:
    return element(
        "line",
        x1=f"{place}%",
        x2=f"{place}%",
        y1=_MIDDLE - half,
        y2=_MIDDLE + half,
        class_=class_,
    )


def _horizontal(low: float, high: float) -> Markup:
    return element(
        "line", x1=f"{low}%", x2=f"{high}%", y1=_MIDDLE, y2=_MIDDLE, class_="whisker"
    )
