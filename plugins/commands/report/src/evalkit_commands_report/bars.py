"""Bars of the tags for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from evalkit_cli.commanding import for_terminal, show_interval, show_n, show_value
from evalkit_commands_report.gathering import Gathered, Shown
from evalkit_commands_report.intervals import Axis
from evalkit_commands_report.numbers import (
    axis_of,
    clipped,
    flag_text,
    held_metrics,
    largest_n,
    least_n,
    ranked,
    tags_of,
)

if TYPE_CHECKING:
    from evalkit import Score

_NARROWEST, _WIDEST = 16, 48
_LONGEST_NAME = 32
_WHOLE = "all examples"


def bar_lines(groups: Sequence[Gathered], width: int) -> Iterator[str]:
    """Draw the scores of tags as intervals made of characters."""
    for group in groups:
        for run in group.runs:
            yield from _run_lines(group, run, width)


def _run_lines(group: Gathered, run: Shown, width: int) -> Iterator[str]:
    if run.result.status == "refused":
        yield f"{group.dataset}, {run.label}: refused, so there are no scores"
        yield ""
        return
    metric = next(iter(held_metrics(group) or group.metrics), "")
    if metric not in run.whole:
        yield f"{group.dataset}, {run.label}: has no score {metric}".rstrip()
        yield ""
        return
    scores = run.tags.get(metric, {})
    least = least_n(group)
    tags = tags_of(group, metric)
    large = [tag for tag in tags if largest_n(group, metric, tag) >= least]
    rows = [(_WHOLE, run.whole[metric])]
    rows += [(tag, scores[tag]) for tag in ranked(run, metric, large) if tag in scores]
    yield f"{group.dataset}, {run.label}: {metric}, worst tags first"
    yield from _drawn(run, rows, axis_of(group, metric), width)
    if flags := flag_text(score for _, score in rows):
        yield for_terminal(flags)
    if len(large) < len(tags):
        yield f"tags of fewer than {least} examples not shown: {len(tags) - len(large)}"
    yield ""


def _drawn(
    run: Shown, rows: Sequence[tuple[str, Score]], axis: Axis, width: int
) -> Iterator[str]:
    texts = [
        (
            _shortened(for_terminal(name)),
            show_value(score),
            show_interval(score, run.bounds),
            show_n(score),
        )
        for name, score in rows
    ]
    sizes = [max(len(text[column]) for text in texts) for column in range(4)]
    room = width - sum(sizes) - 8 - len("n = ")
    length = min(max(room, _NARROWEST), _WIDEST)
    for (name, value, interval, n), (_, score) in zip(texts, rows, strict=True):
        bar = _bar(score, clipped(score, run.bounds), axis, length)
        yield (
            f"{name:<{sizes[0]}}  {bar}  {value:>{sizes[1]}}  "
            f"{interval:>{sizes[2]}}  n = {n}"
        )


def _shortened(name: str) -> str:
    return name if len(name) <= _LONGEST_NAME else f"{name[: _LONGEST_NAME - 1]}…"


def _bar(
    score: Score, ends: tuple[float, float] | None, axis: Axis, length: int
) -> str:
    """Draw an interval of dashes, and the value as a dot."""
    cells = [" "] * length

    def cell(value: float) -> int:
        return min(length - 1, max(0, round(axis.place(value) / 100 * (length - 1))))

    if ends is not None:
        first, last = map(cell, ends)
        cells[first : last + 1] = ["─"] * (last + 1 - first)
        cells[first], cells[last] = "├", "┤"
    if score.value is not None:
        cells[cell(score.value)] = "●"
    return "".join(cells)
