"""The section of comparisons: each pair's differences, and what may be concluded."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from evalkit_cli.commanding import NO_VALUE, show_compared, show_compared_interval
from evalkit_commands_report.gathering import (
    MOST_COMPARED_TAGS,
    Gathered,
    comparable_tags,
)
from evalkit_commands_report.intervals import Axis, axis_line, interval_line, make_axis
from evalkit_commands_report.markup import Child, Markup, element, fragment
from evalkit_commands_report.numbers import exact

if TYPE_CHECKING:
    from evalkit_analysis_compare import ComparedScore, Comparison

Widest = Mapping[str, float]
"""The greatest difference that there can be, by metric, as stored."""

MOST_TAGS = 20
"""Tags of a pair that are shown: the worst for the first beside the other."""

MOST_SAID = 5
"""Sentences on tags of a pair that stand open; further ones are folded."""

MOST_FOLDED = 200
"""Sentences on tags of a pair that are folded; `evalkit compare` has all."""


def comparison_section(group: Gathered, name: str) -> Markup | None:
    """Return the comparison of the runs; None where there is nothing to compare."""
    if group.comparison is None and not group.not_compared:
        return None
    heading = element("h2", "Comparison", id=f"{name}-comparison")
    if group.comparison is None:
        why = element("p", f"Not compared: {group.not_compared}.", class_="warning")
        return element("section", heading, why, aria_labelledby=f"{name}-comparison")
    return element(
        "section",
        heading,
        comparison_body(group.comparison),
        _uncompared_tags(group, group.comparison),
        aria_labelledby=f"{name}-comparison",
    )


def _uncompared_tags(group: Gathered, comparison: Comparison) -> Markup | None:
    """Say that there are too many tags to compare them unasked."""
    count = comparable_tags(run.result for run in group.scored)
    if count <= MOST_COMPARED_TAGS or any(
        row.tag is not None for row in comparison.rows
    ):
        return None
    words = (
        f"The runs are not compared on their {count} tags, which may take minutes: "
        "`evalkit report --compare` does."
    )
    return element("p", words, class_="note")


def comparison_body(comparison: Comparison) -> Markup:
    """Return the tables and conclusions of all pairs, then notices."""
    pairs: dict[tuple[str, str], list[ComparedScore]] = {}
    for row in comparison.rows:
        pairs.setdefault((row.model_a, row.model_b), []).append(row)
    best = [
        element(
            "p",
            f"{metric}: not distinguishable from the best, by all pairs: "
            f"{', '.join(names)}",
        )
        for metric, names in comparison.best.items()
    ]
    notices = [element("li", notice) for notice in comparison.notices]
    return fragment(
        [_pair(rows, comparison) for rows in pairs.values()],
        best,
        element("ul", notices, class_="notices") if notices else None,
    )


def _pair(rows: Sequence[ComparedScore], comparison: Comparison) -> Markup:
    whole = [row for row in rows if row.tag is None]
    metric = rows[0].metric
    tags = [row for row in rows if row.tag is not None and row.metric == metric]
    conclusions = [
        element("li", element("strong", row.metric), f": {row.conclusion}")
        for row in whole
    ]
    return element(
        "div",
        element("h3", f"{rows[0].model_a} against {rows[0].model_b}"),
        element("ul", conclusions, class_="conclusions"),
        _differences(whole, comparison, "Metric"),
        _by_tag(tags, comparison) if tags else None,
        class_="pair",
    )


def _by_tag(tags: Sequence[ComparedScore], comparison: Comparison) -> Markup:
    """Return what was shown on tags, and those where the first does worst."""
    from evalkit.reporting import count_of

    shown = [row for row in tags if row.different]
    size = tags[0].family_size or len(tags)
    level = f"{1 - comparison.confidence:.10g}"
    comparisons = count_of(size, "comparison")
    none = (
        f"On no tag was a difference of {tags[0].metric} shown at {level}, adjusted "
        f"for {comparisons}."
    )
    few = tags[:MOST_TAGS]
    title = f"{tags[0].metric} by tag ({len(few)} of {len(tags)} tags"
    title += f", worst for {tags[0].model_a} first)"
    return fragment(
        _sentences(shown) if shown else element("p", none, class_="note"),
        element(
            "details", element("summary", title), _differences(few, comparison, "Tag")
        ),
    )


def _sentences(shown: Sequence[ComparedScore]) -> Markup:
    """Return what was shown on tags, after the first few folded."""
    from evalkit.reporting import count_of

    words = [
        element("li", element("bdi", row.tag), f": {row.conclusion}") for row in shown
    ]
    first, folded = words[:MOST_SAID], words[MOST_SAID:]
    title = f"{count_of(len(folded), 'further tag')} with a difference"
    if len(folded) > MOST_FOLDED:
        title += f", of which {MOST_FOLDED} are here; `evalkit compare` has all"
    return fragment(
        element("ul", first, class_="conclusions"),
        element(
            "details",
            element("summary", title),
            element("ul", folded[:MOST_FOLDED], class_="conclusions"),
        )
        if folded
        else None,
    )


def _differences(
    rows: Sequence[ComparedScore], comparison: Comparison, first: str
) -> Markup:
    widest = comparison.widest
    axes = {unit: _axis(rows, unit, widest) for unit in {row.unit for row in rows}}
    one = next(iter(axes.values())) if len(axes) == 1 else None
    adjusted = any(row.p_adjusted is not None for row in rows)
    interval = f"{100 * comparison.confidence:g} % interval"
    interval = f"adjusted {interval}" if adjusted else interval
    names = (rows[0].model_a, rows[0].model_b)
    head = element(
        "tr",
        element("th", first, scope="col"),
        element("th", "n", scope="col", class_="n"),
        [element("th", name, scope="col", class_="n value") for name in names],
        element("th", axis_line(one) if one else None, scope="col", class_="plot"),
        element("th", "Difference", scope="col", class_="n"),
        element("th", interval, scope="col", class_="ci"),
        element("th", "adjusted p" if adjusted else "p", scope="col", class_="n p"),
        role="row",
    )
    body = [_row(row, axes[row.unit], first == "Tag", widest) for row in rows]
    return element(
        "div",
        element(
            "table",
            element("thead", head, role="rowgroup"),
            element("tbody", body, role="rowgroup"),
            class_="intervals differences",
            role="table",
        ),
        class_="wide",
    )


def _axis(rows: Sequence[ComparedScore], unit: str, widest: Widest) -> Axis:
    of_unit = [row for row in rows if row.unit == unit]
    values = [row.difference for row in of_unit if row.difference is not None]
    values += [end for row in of_unit for end in shown_ends(row, widest) or ()]
    return make_axis(values, of_unit[0].scale, include=(0.0,))


def _row(row: ComparedScore, axis: Axis, of_tag: bool, widest: Widest) -> Markup:
    from evalkit.reporting import show_p

    ends = shown_ends(row, widest)
    is_adjusted = row.p_adjusted is not None
    p_value = row.p_adjusted if is_adjusted else row.p_value
    shown_p = show_p(p_value, at_most=bool(row.p_at_most))
    p_field = "p_adjusted" if is_adjusted else "p_value"
    cells: list[tuple[str, Child]] = [
        ("n", _number(row, "n", str(row.n))),
        ("n value", _number(row, "value_a", show_compared(row.value_a, row))),
        ("n value", _number(row, "value_b", show_compared(row.value_b, row))),
        ("plot", interval_line(axis, 0, row.difference, ends, 0.0)),
        ("n", _number(row, "difference", show_compared(row.difference, row, "+"))),
        ("ci", _interval(row, widest)),
        ("n p", _number(row, p_field, shown_p) if p_value is not None else NO_VALUE),
    ]
    return element(
        "tr",
        element(
            "th",
            row.tag if of_tag else row.metric,
            scope="row",
            role="rowheader",
            class_="tag",
        ),
        [element("td", cell, class_=name, role="cell") for name, cell in cells],
        class_="different" if row.different else None,
        role="row",
    )


def _interval(row: ComparedScore, widest: Widest) -> Child:
    shown = show_compared_interval(row, widest.get(row.metric))
    if not shown.startswith("["):
        return fragment(shown, element("small", row.reason) if row.reason else None)
    low, high = shown.strip("[]").split(", ")
    fields = ("ci_low", "ci_high")
    if row.p_adjusted is not None:
        fields = ("ci_low_adjusted", "ci_high_adjusted")
    return fragment(
        "[", _number(row, fields[0], low), ", ", _number(row, fields[1], high), "]"
    )


def _number(row: ComparedScore, field: str, shown: str) -> Markup:
    return exact(
        shown,
        getattr(row, field),
        data_first=row.model_a,
        data_second=row.model_b,
        data_metric=row.metric,
        data_tag=row.tag,
        data_field=field,
    )


def shown_ends(row: ComparedScore, widest: Widest) -> tuple[float, float] | None:
    """Return the interval beside a p-value, cut where no difference can be."""
    low, high = row.tested_interval
    if low is None or high is None:
        return None
    most = widest.get(row.metric, math.inf)
    return max(low, -most), min(high, most)
