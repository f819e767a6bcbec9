"""The section of perturbations: how far the main score falls under each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from evalkit_cli.commanding import NO_VALUE, adjusted_drop, show_interval
from evalkit_commands_report.gathering import Gathered, Shown
from evalkit_commands_report.intervals import (
    Axis,
    axis_line,
    interval_line,
    make_axis,
    mark,
)
from evalkit_commands_report.markup import Child, Markup, element, fragment
from evalkit_commands_report.numbers import clipped, n_of, score_number, value_of

if TYPE_CHECKING:
    from evalkit import Score

Views = Mapping[str, "Score"]
"""The scores of one perturbation, by what they are computed on."""

_COLUMNS = (
    ("original", "Original"),
    ("perturbed", "Perturbed"),
    ("agreement", "Agreement"),
    ("worst", "Worst"),
)


def perturbation_section(group: Gathered, name: str) -> Markup | None:
    """Return the effects of perturbations on each run; None where there are none."""
    tables = [found for run in group.scored if (found := _of_run(run, group))]
    if not tables:
        return None
    return element(
        "section",
        element("h2", "Perturbations", id=f"{name}-perturbations"),
        element(
            "p",
            "A drop is the score on the originals less that on their copies, with the "
            "interval and the p-value that hold for all at once where they are "
            "adjusted. Effects by tag are in the run.",
            class_="note",
        ),
        tables,
        aria_labelledby=f"{name}-perturbations",
    )


def effects_of(run: Shown, metric: str) -> dict[str, dict[str, Score]]:
    """Return the effects on a metric, by perturbation and view."""
    found: dict[str, dict[str, Score]] = {}
    for score in run.effects.scores:
        if score.metric == metric and score.tag is None and score.perturbation:
            found.setdefault(score.perturbation, {})[score.computed_on] = score

    def key(name: str) -> tuple[bool, bool, float, str]:
        drop = found[name].get("drop")
        is_family = name.startswith("family:")
        if drop is None or drop.value is None:
            return is_family, True, 0.0, name
        # a positive drop is good where lower scores are better
        worse = drop.value if drop.higher_is_better else -drop.value
        return is_family, False, worse, name

    return {name: found[name] for name in sorted(found, key=key)}


def drop_axis(drops: Mapping[str, Views], run: Shown) -> Axis:
    """Return the axis that holds all drops."""
    values: list[float] = []
    scale = 1.0
    for views in drops.values():
        if "drop" in views:
            drop = tested(views["drop"])
            scale = drop.scale
            values += [] if drop.value is None else [drop.value]
            values += clipped(drop, run.bounds) or ()
    return make_axis(values, scale, include=(0.0,))


def tested(drop: Score) -> Score:
    """Return a drop with the interval that belongs to its test."""
    return adjusted_drop(drop) if drop.family_size else drop


def _of_run(run: Shown, group: Gathered) -> Markup | None:
    """Return the effects on the first metric, then, folded, on the others."""
    found = {metric: effects_of(run, metric) for metric in group.metrics}
    tables = [
        element(
            "details" if number else "div",
            element("summary", metric) if number else None,
            effect_table(run, effects),
        )
        for number, (metric, effects) in enumerate(
            each for each in found.items() if each[1]
        )
    ]
    if not tables:
        return None
    first = next(metric for metric, effects in found.items() if effects)
    title = element("h3", mark(run.place), " ", f"{run.label}: {first}")
    return element("div", title, tables, class_="effect")


def uncertain_of(run: Shown) -> set[str]:
    """Return the perturbations after which answers may not hold."""
    return {
        each.name
        for each in run.effects.perturbations
        if each.label_effect == "uncertain"
    }


def effect_table(run: Shown, effects: Mapping[str, Views]) -> Markup:
    """Return the table of the effects on one metric of a run."""
    columns = [
        (view, word)
        for view, word in _COLUMNS
        if any(_has_value(views.get(view)) for views in effects.values())
    ]
    axis = drop_axis(effects, run)
    uncertain = uncertain_of(run)
    head = element(
        "tr",
        element("th", "Perturbation", scope="col"),
        element("th", "n", scope="col", class_="n"),
        [element("th", word, scope="col", class_="n value") for _, word in columns],
        element("th", axis_line(axis), scope="col", class_="plot"),
        element("th", "Drop", scope="col", class_="n"),
        element("th", "Interval", scope="col", class_="ci"),
        element("th", "p", scope="col", class_="n p"),
        role="row",
    )
    rows = [
        _row(run, name, views, axis, name in uncertain, [view for view, _ in columns])
        for name, views in effects.items()
    ]
    return fragment(
        element(
            "div",
            element(
                "table",
                element("thead", head, role="rowgroup"),
                element("tbody", rows, role="rowgroup"),
                class_="intervals effects",
                role="table",
            ),
            class_="wide",
        ),
        _without_value(effects),
    )


def _has_value(score: Score | None) -> bool:
    return score is not None and score.value is not None


def _without_value(effects: Mapping[str, Views]) -> Markup | None:
    """Say why a view has no column: no perturbation has a value of it."""
    lines = []
    for view, word in _COLUMNS:
        found = [views[view] for views in effects.values() if view in views]
        if found and not any(map(_has_value, found)):
            reasons = dict.fromkeys(score.reason or "no value" for score in found)
            lines.append(f"{word}: {'; '.join(reasons)}.")
    return element("p", " ".join(lines), class_="note") if lines else None


def _row(
    run: Shown,
    name: str,
    views: Views,
    axis: Axis,
    is_uncertain: bool,
    columns: Sequence[str],
) -> Markup:
    drop = views.get("drop")
    shown = tested(drop) if drop is not None else None
    main = drop or next(iter(views.values()))
    line = None
    if shown is not None:
        ends = clipped(shown, run.bounds)
        line = interval_line(axis, run.place, shown.value, ends, 0.0)
    cells: list[tuple[str, Child]] = [("n", [n_of(run, main), _other_sizes(views)])]
    for view in columns:
        found = views.get(view)
        cells.append(("n value", NO_VALUE if found is None else value_of(run, found)))
    cells += [
        ("plot", line),
        ("n", NO_VALUE if drop is None else value_of(run, drop)),
        ("ci", NO_VALUE if drop is None else _interval(run, drop)),
        ("n p", NO_VALUE if drop is None else _p_value(run, drop)),
    ]
    note = element("small", " (uncertain: the answer may not hold)")
    return element(
        "tr",
        element(
            "th",
            name,
            note if is_uncertain else None,
            scope="row",
            role="rowheader",
            class_="tag",
        ),
        [element("td", cell, class_=kind, role="cell") for kind, cell in cells],
        class_="different" if drop is not None and drop.different else None,
        role="row",
    )


def _other_sizes(views: Views) -> Markup | None:
    """Say of how many originals scores are that are not of those of the drop.

    A drop is over the originals that count together with their copies.
    """
    size = views["drop"].n if "drop" in views else None
    others = [
        f"{view}: {views[view].n}"
        for view in ("original", "perturbed")
        if view in views and size is not None and views[view].n != size
    ]
    return element("small", f" ({', '.join(others)})") if others else None


def _interval(run: Shown, drop: Score) -> Child:
    shown = show_interval(tested(drop), run.bounds)
    if not shown.startswith("["):
        return fragment(shown, element("small", drop.reason) if drop.reason else None)
    low, high = shown.strip("[]").split(", ")
    fields = ("ci_low", "ci_high")
    if drop.family_size:
        fields = ("ci_low_adjusted", "ci_high_adjusted")
    return fragment(
        "[",
        score_number(run, drop, fields[0], low),
        ", ",
        score_number(run, drop, fields[1], high),
        "]",
    )


def _p_value(run: Shown, drop: Score) -> Child:
    from evalkit.reporting import show_p

    if drop.p_adjusted is None:
        return NO_VALUE
    shown = show_p(drop.p_adjusted, at_most=bool(drop.p_at_most))
    return score_number(run, drop, "p_adjusted", shown)
