"""Tables of the scores of tags and crossings."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from evalkit.reporting import count_of
from evalkit_cli.printing.printed_results import PrintedResult
from evalkit_cli.printing.score_cells import (
    COVERAGE,
    show_coverage,
    show_interval,
    show_n,
    show_value,
)
from evalkit_cli.printing.tables import Rows, without_empty_columns

if TYPE_CHECKING:
    from evalkit import Score

MOST_TAGS = 5
"""Tags that a report on a screen shows: the worst."""

MOST_ROWS = 40
"""Groups that a report on a screen shows of those that the user asked for."""


class TagTable(NamedTuple):
    """A table of the scores of some groups."""

    by: str
    """`tag`, or the names that are crossed."""
    rows: Rows
    notes: list[str]
    """What is not shown."""
    order: str
    """By what its rows are sorted, beside the score of the first result; "" for
    nothing else."""


class Columns(NamedTuple):
    """What a table of tags shows."""

    results: Sequence[PrintedResult]
    headline: Score
    """Whose metric sorts the rows."""
    every_metric: bool
    with_unit: bool
    """Whether the table says metric and unit itself."""

    @property
    def scores(self) -> list[tuple[PrintedResult, str]]:
        """The result and metric of each column of scores."""
        return [
            (result, metric)
            for result in self.results
            for metric in (
                result.result.metrics if self.every_metric else [self.headline.metric]
            )
        ]

    @property
    def header(self) -> list[str]:
        """Its header."""
        several = len(self.results) > 1
        header = ["tag", "n"]
        for result, metric in self.scores:
            model = str(result.result.model)
            both = f"{model}: {metric}" if self.with_unit else model
            whose = f"{model}: " if several else ""
            coverage = [f"{whose}{name}" for name in COVERAGE]
            header += [both if several else metric, f"{result.confidence} CI"]
            header += coverage
        return header


def tag_tables(columns: Columns, *, cut: bool) -> list[TagTable]:
    """Make a table of the tags, and one of each crossing."""
    by_crossing: dict[str | None, list[str]] = {None: []}
    crossings = columns.results[0].crossings
    by_crossing |= {crossing: [] for crossing in crossings}
    for tag in _sorted_tags(columns):
        by_crossing[crossing_of(tag, crossings)].append(tag)
    return [
        _table(columns, crossing, tags, cut=cut)
        for crossing, tags in by_crossing.items()
        if tags
    ]


def _sorted_tags(columns: Columns) -> list[str]:
    """Return the tags, the worst score first, then those of later results only."""
    from evalkit.reporting import UNTAGGED

    metric = columns.headline.metric
    tags: list[str] = []
    for result in columns.results:
        tags += _worst_first(result, metric)
    return sorted(dict.fromkeys(tags), key=lambda tag: tag == UNTAGGED)


def _worst_first(result: PrintedResult, metric: str) -> list[str]:
    found = result.result.by_tag.filter(metric=metric)
    tags: list[str] = found["tag"].to_list()
    columns = ("higher_is_better", "value")
    keys = {}
    for tag, (direction, value) in zip(
        tags, found.select(columns).iter_rows(), strict=True
    ):
        sign = -1 if direction is False else 1
        keys[tag] = math.inf if value is None else sign * value
    return sorted(tags, key=keys.__getitem__)


def crossing_of(tag: str, crossings: Sequence[str]) -> str | None:
    """Tell which crossing a group belongs to.

    Args:
        tag: Name of the group.
        crossings: The crossings that there are.

    Returns:
        One of them; None for a tag.
    """
    for crossing in sorted(crossings, key=lambda text: -text.count(",")):
        parts = (f"{re.escape(name)}:.*" for name in crossing.split(","))
        if re.fullmatch(" & ".join(parts), tag, re.DOTALL):
            return crossing
    return None


def _table(
    columns: Columns, crossing: str | None, tags: list[str], *, cut: bool
) -> TagTable:
    least = columns.results[0].min_n
    large = [
        tag
        for tag in tags
        if least == 1
        or any(score and score.n >= least for score in _found(columns, tag))
    ]
    shown = large[: MOST_TAGS if crossing is None else MOST_ROWS] if cut else large
    rows = [columns.header, *(_row(columns, tag) for tag in shown)]
    what = "tag" if crossing is None else "group"
    hidden = []
    if len(shown) < len(large):
        hidden.append(f"{count_of(len(large) - len(shown), f'more {what}')} (-v)")
    if len(large) < len(tags):
        small = count_of(len(tags) - len(large), what)
        hidden.append(f"{small} with fewer than {least} examples (--min-n)")
    notes = []
    if hidden:
        notes.append(f"not shown: {', '.join(hidden)}; --format csv shows all")
    by = "tag" if crossing is None else crossing
    if crossing is not None:
        notes += _outside(columns, crossing, tags)
    drawn = without_empty_columns(rows) if shown else []
    return TagTable(by, drawn, notes, _order(shown))


def _order(tags: Sequence[str]) -> str:
    from evalkit.reporting import UNTAGGED

    return f"{UNTAGGED.strip('()')} last" if UNTAGGED in tags[1:] else ""


def _outside(columns: Columns, crossing: str, tags: Sequence[str]) -> list[str]:
    """Say how many examples are in no group of a crossing, of each result."""
    metric = columns.headline.metric
    said = {}
    for result in columns.results:
        whole = result.groups[metric, None].n
        outside = whole - (_inside(result, metric, crossing, tags) or whole)
        if outside:
            examples = count_of(whole, "example")
            said[str(result.result.model)] = (
                f"{outside} of {examples} in no group of {crossing}"
            )
    if len({*said.values()}) == 1 and len(said) == len(columns.results):
        return list(said.values())[:1]
    label = len(columns.results) > 1
    return [f"{model}: {text}" if label else text for model, text in said.items()]


def _inside(
    result: PrintedResult, metric: str, crossing: str, tags: Sequence[str]
) -> int | None:
    """Count the examples that are in some group; None where that is not known."""
    found = [result.groups.get((metric, tag)) for tag in tags]
    groups = [score for score in found if score is not None and score.n]
    if len(groups) == 1:
        return groups[0].n
    # groups may share examples, which the mean over those with a value counts once
    if any(score.value is None for score in groups):
        return None
    for score in result.result.scores:
        if score.metric == metric and score.aggregate == f"macro:{crossing}":
            return score.n
    return None


def _found(columns: Columns, tag: str) -> list[Score | None]:
    return [result.groups.get((metric, tag)) for result, metric in columns.scores]


def _row(columns: Columns, tag: str) -> list[str]:
    scores = _found(columns, tag)
    sizes = dict.fromkeys(show_n(score) for score in scores if score is not None)
    cells = [tag, " / ".join(sizes)]
    for score, (result, _) in zip(scores, columns.scores, strict=True):
        if score is None:
            cells += [""] * (2 + len(COVERAGE))
            continue
        value = show_value(score, with_unit=columns.with_unit)
        interval = show_interval(score, result.bounds)
        cells += [value, interval]
        cells += show_coverage(score)
    return cells
