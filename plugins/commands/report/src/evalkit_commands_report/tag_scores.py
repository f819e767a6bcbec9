"""The scores of tags as the page holds them: columns of numbers beside their texts."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from evalkit_cli.commanding import (
    NO_VALUE,
    crossing_of,
    for_terminal,
    show_interval,
    show_n,
    show_value,
)
from evalkit_commands_report.axes import Axis
from evalkit_commands_report.gathering import Gathered, Shown
from evalkit_commands_report.numbers import coverage_text, limits, score_axis

if TYPE_CHECKING:
    from evalkit import Score

MOST_SCORES = 200_000
"""Scores of tags that a page holds; of more it holds the first metrics alone."""


def tags_of(group: Gathered, metric: str) -> list[str]:
    """Return the tags of all runs, each once."""
    found = (tag for run in group.scored for tag in run.tags.get(metric, ()))
    return list(dict.fromkeys(found))


def held_metrics(group: Gathered) -> list[str]:
    """Return the metrics whose scores of tags the page holds, the first always."""
    held: list[str] = []
    total = 0
    for metric in group.metrics:
        size = sum(len(run.tags.get(metric, ())) for run in group.scored)
        total += size
        if size and (not held or total <= MOST_SCORES):
            held.append(metric)
    return held


def facet_name(tag: str, crossings: Sequence[str]) -> str:
    """Return the facet or the crossing that a tag belongs to; "" for none."""
    from evalkit.catalog import facet_of

    crossing = crossing_of(tag, crossings)
    if crossing is not None:
        return crossing
    faceted = facet_of(tag)
    return faceted[0] if faceted else ""


def axis_of(group: Gathered, metric: str) -> Axis:
    """Return the axis that holds all intervals of the tags and of the whole set."""
    scores: list[tuple[Shown, Score]] = []
    for run in group.scored:
        scores += [(run, score) for score in run.tags.get(metric, {}).values()]
        scores += [(run, run.whole[metric])] if metric in run.whole else []
    return score_axis(scores)


def ranked(run: Shown | None, metric: str, tags: Sequence[str]) -> list[str]:
    """Return tags, the worst of a run first, those without a value last."""
    scores = {} if run is None else run.tags.get(metric, {})

    def key(tag: str) -> tuple[bool, float, str]:
        score = scores.get(tag)
        if score is None or score.value is None:
            return True, 0.0, tag
        worse = -score.value if score.higher_is_better is False else score.value
        return False, worse, tag

    return sorted(tags, key=key)


def largest_n(group: Gathered, metric: str, tag: str) -> int:
    """Return the number of examples that a tag has in some run."""
    found = (run.tags.get(metric, {}).get(tag) for run in group.scored)
    return max((score.n for score in found if score is not None), default=0)


def tag_columns(group: Gathered) -> dict[str, Any]:
    """Return what the page's script needs of the tags, as JSON values."""
    held = held_metrics(group)
    return {
        "runs": [
            {"id": run.result.run_id, "label": for_terminal(run.label)}
            for run in group.scored
        ],
        "least": least_n(group),
        "metrics": {metric: _of_metric(group, metric) for metric in held},
    }


def least_n(group: Gathered) -> int:
    """Return the number of examples below which a tag is not shown at first."""
    return max((run.result.record.min_n for run in group.scored), default=1)


def _of_metric(group: Gathered, metric: str) -> dict[str, Any]:
    tags = tags_of(group, metric)
    crossings = [name for run in group.scored for name in run.result.record.by]
    facets = [facet_name(tag, crossings) for tag in tags]
    names = list(dict.fromkeys(facets))
    axis = axis_of(group, metric)
    return {
        "low": axis.low,
        "high": axis.high,
        "ticks": axis.ticks,
        "ascending": _is_higher_better(group, metric) is not False,
        "tags": tags,
        "shown_tags": [for_terminal(tag) for tag in tags],
        "facets": names,
        "facet_of": [names.index(name) for name in facets],
        "whole": [_columns(run, metric, run.whole, [metric]) for run in group.scored],
        "scores": [
            _columns(run, metric, run.tags.get(metric, {}), tags)
            for run in group.scored
        ],
    }


def _is_higher_better(group: Gathered, metric: str) -> bool | None:
    for run in group.scored:
        if metric in run.whole:
            return run.whole[metric].higher_is_better
    return None


def _finite(value: float | None) -> float | None:
    """Return a number as JSON may hold it; one without an end has its text alone."""
    return value if value is None or math.isfinite(value) else None


def _columns(
    run: Shown, metric: str, scores: Mapping[str, Score], keys: Sequence[str]
) -> dict[str, Any]:
    """Return the columns of one run: a place for each key, null where it has none.

    Sizes are there only where they say more than n.
    """
    found = [scores.get(key) for key in keys]
    some = next((each for each in found if each is not None), None)
    ends = (-math.inf, math.inf) if some is None else limits(some, run.bounds)
    sizes = {
        place: text
        for place, each in enumerate(found)
        if each is not None
        and (text := show_n(each) + coverage_text(each)) != str(each.n)
    }
    reasons = [
        for_terminal(each.reason) if each is not None and each.reason else None
        for each in found
    ]
    return {
        "value": [None if each is None else _finite(each.value) for each in found],
        "low": [None if each is None else _finite(each.ci_low) for each in found],
        "high": [None if each is None else _finite(each.ci_high) for each in found],
        "limits": [_finite(end) for end in ends],
        "n": [None if each is None else each.n for each in found],
        "text": [NO_VALUE if each is None else show_value(each) for each in found],
        "interval": [
            NO_VALUE if each is None else show_interval(each, run.bounds)
            for each in found
        ],
        "sizes": sizes,
        "reason": reasons if any(reasons) else [],
    }
