"""The section of the tags: a table of intervals that can be sorted and filtered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from evalkit_cli.commanding import NO_VALUE
from evalkit_commands_report.gathering import Gathered, Shown
from evalkit_commands_report.intervals import Axis, axis_line, interval_line, mark
from evalkit_commands_report.markup import Markup, element, fragment
from evalkit_commands_report.numbers import (
    axis_of,
    clipped,
    flags_of,
    held_metrics,
    interval_of,
    largest_n,
    least_n,
    n_of,
    ranked,
    tags_of,
    value_of,
)

if TYPE_CHECKING:
    from evalkit import Score

FIRST_ROWS = 25
"""Tags that the page shows without its script, and on a page of the table."""

Scores = Mapping[int, "Score | None"]
"""The score of each run, by the run's place."""


def tag_section(group: Gathered, name: str) -> Markup | None:
    """Return the section of the tags of one data set; None where there are no tags."""
    metrics = held_metrics(group)
    if not metrics:
        return None
    metric = metrics[0]
    tags = tags_of(group, metric)
    least = least_n(group)
    large = [tag for tag in tags if largest_n(group, metric, tag) >= least]
    first = group.scored[0] if group.scored else None
    shown = ranked(first, metric, large)[:FIRST_ROWS]
    return element(
        "section",
        element("h2", "By tag", id=f"{name}-tags"),
        _controls(group, metrics, name, least),
        element(
            "p",
            f"{metric}: {len(shown)} of {len(tags)} tags, worst first",
            class_="status",
            role="status",
            data_role="status",
        ),
        tag_table(group, metric, shown),
        flag_note(group, metrics, tags),
        _pager(name),
        _left_out(group, metrics),
        element("template", group_body(group, metric, axis_of(group, metric), "", {})),
        class_="tags",
        aria_labelledby=f"{name}-tags",
        data_tags=name,
    )


def flag_note(
    group: Gathered, metrics: Sequence[str], tags: Sequence[str]
) -> Markup | None:
    """Say what asterisks beside scores mean; None where there are none."""
    return flags_of(
        score
        for metric in metrics
        for run in group.scored
        for score in (
            run.whole.get(metric),
            *(run.tags.get(metric, {}).get(tag) for tag in tags),
        )
    )


def tag_table(
    group: Gathered, metric: str, tags: list[str], sortable: bool = True
) -> Markup:
    """Return the table of some tags, below the row of all examples."""
    sorter = _sorter if sortable else _plain
    axis = axis_of(group, metric)
    whole = {run.place: run.whole.get(metric) for run in group.scored}
    several = len(group.scored) > 1
    head = element(
        "tr",
        element("th", sorter("Tag", "tag"), scope="col", aria_sort="none"),
        element("th", "Model", scope="col") if several else None,
        element("th", sorter("n", "n"), scope="col", class_="n", aria_sort="none"),
        element("th", axis_line(axis), scope="col", class_="plot"),
        element(
            "th",
            sorter(metric, "value"),
            scope="col",
            class_="n",
            aria_sort="ascending",
        ),
        element("th", "Interval", scope="col", class_="ci"),
        role="row",
    )
    bodies = [
        group_body(
            group,
            metric,
            axis,
            tag,
            {run.place: run.tags.get(metric, {}).get(tag) for run in group.scored},
        )
        for tag in tags
    ]
    return element(
        "div",
        element(
            "table",
            element("thead", head, role="rowgroup"),
            group_body(group, metric, axis, "All examples", whole, "whole"),
            bodies,
            class_="intervals",
            role="table",
        ),
        class_="wide",
    )


def group_body(
    group: Gathered,
    metric: str,
    axis: Axis,
    name: str,
    scores: Scores,
    class_: str | None = None,
) -> Markup:
    """Return the rows of one tag: one for each run."""
    rows = []
    several = len(group.scored) > 1
    for number, run in enumerate(group.scored):
        score = scores.get(run.place)
        whole = run.whole.get(metric)
        tag = element(
            "th",
            name,
            scope="rowgroup" if several else "row",
            role="rowheader",
            rowspan=len(group.scored) if several else None,
            class_="tag",
        )
        model = element(
            "td", mark(run.place), " ", run.label, class_="model", role="cell"
        )
        rows.append(
            element(
                "tr",
                tag if number == 0 else None,
                model if several else None,
                _score_cells(run, score, axis, None if whole is None else whole.value),
                role="row",
            )
        )
    return element("tbody", rows, class_=class_, role="rowgroup")


def _score_cells(
    run: Shown, score: Score | None, axis: Axis, reference: float | None
) -> Markup:
    if score is None:
        line = interval_line(axis, run.place, None, None, reference)
        dashes = (("n", NO_VALUE), ("plot", line), ("n", NO_VALUE), ("ci", NO_VALUE))
        return fragment(
            [element("td", cell, class_=name, role="cell") for name, cell in dashes]
        )
    ends = clipped(score, run.bounds)
    line = interval_line(axis, run.place, score.value, ends, reference)
    cells = (
        ("n", n_of(run, score)),
        ("plot", line),
        ("n", value_of(run, score)),
        ("ci", interval_of(run, score)),
    )
    return fragment(
        [element("td", cell, class_=name, role="cell") for name, cell in cells]
    )


def _plain(text: str, _key: str) -> Markup:
    return fragment(text)


def _sorter(text: str, key: str) -> Markup:
    return element("button", text, type="button", data_sort=key)


def _controls(group: Gathered, metrics: list[str], name: str, least: int) -> Markup:
    runs = [(str(n), run.label) for n, run in enumerate(group.scored)]
    return element(
        "form",
        _choice("Metric", "metric", [(each, each) for each in metrics], name),
        _choice("Sort by the score of", "run", runs, name) if len(runs) > 1 else None,
        _choice("Facet", "facet", [("", "all")], name),
        _label(
            "Tags that contain",
            element("input", type="search", id=f"{name}-text", data_role="text"),
            f"{name}-text",
        ),
        _label(
            "Fewest examples",
            element(
                "input",
                type="number",
                min=0,
                value=least,
                id=f"{name}-least",
                data_role="least",
            ),
            f"{name}-least",
        ),
        class_="controls",
        hidden=True,
    )


def _choice(label: str, role: str, options: list[tuple[str, str]], name: str) -> Markup:
    choices = [element("option", text, value=value) for value, text in options]
    select = element("select", choices, id=f"{name}-{role}", data_role=role)
    return _label(label, select, f"{name}-{role}")


def _label(text: str, control: Markup, target: str) -> Markup:
    return element(
        "span", element("label", text, for_=target), control, class_="control"
    )


def _pager(name: str) -> Markup:
    return element(
        "nav",
        element("button", "Previous", type="button", data_role="previous"),
        element("span", data_role="page"),
        element("button", "Next", type="button", data_role="next"),
        class_="pager",
        aria_label="Pages of tags",
        hidden=True,
    )


def _left_out(group: Gathered, metrics: list[str]) -> Markup | None:
    others = [
        each
        for each in group.metrics
        if each not in metrics and any(run.tags.get(each) for run in group.scored)
    ]
    if not others:
        return None
    return element(
        "p",
        f"Too many tags for one page: the scores of tags of {', '.join(others)} are "
        "left out; --metric chooses what the page holds.",
        class_="note",
    )
