"""Draws intervals: one line of SVG in a row of a table, on the axis of its column."""

from __future__ import annotations

from evalkit_commands_report.axes import Axis
from evalkit_commands_report.markup import Markup, element, fragment

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
    """Draw the ticks of an axis, for the head of a column."""
    labels = [
        element("text", text, x=f"{axis.place(value)}%", y=12, text_anchor="middle")
        for value, text in axis.ticks
    ]
    return element(
        "svg", labels, class_="axis", height=16, width="100%", aria_hidden="true"
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
