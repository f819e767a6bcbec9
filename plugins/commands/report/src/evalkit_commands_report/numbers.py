"""Numbers of scores: shown as the terminal shows them, and whole beside that."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from evalkit_cli.commanding import (
    NO_VALUE,
    crossing_of,
    for_terminal,
    show_coverage,
    show_interval,
    show_n,
    show_value,
)
from evalkit_commands_report.gathering import Gathered, Shown
from evalkit_commands_report.intervals import Axis, make_axis
from evalkit_commands_report.markup import Markup, element, fragment

if TYPE_CHECKING:
    from evalkit import Score
    from evalkit_commands_report.gathering import Shown


_MOST_FLAGS = 5


def exact(shown: str, value: float | None, **slots: Any) -> Markup:
    """Return a number as it is read, with all of its digits as its `value`."""
    whole = "" if value is None else repr(value)
    return element("data", shown, value=whole, **slots)


def score_number(run: Shown, score: Score, field: str, shown: str) -> Markup:
    """Return a number of a score, with what names it in the run."""
    return exact(
        shown,
        getattr(score, field),
        data_run=run.result.run_id,
        data_metric=score.metric,
        data_tag=score.tag,
        data_aggregate=score.aggregate,
        data_perturbation=score.perturbation,
        data_on=score.computed_on,
        data_field=field,
    )


def value_of(run: Shown, score: Score) -> Markup:
    """Return the value of a score with its unit."""
    return score_number(run, score, "value", show_value(score))


def interval_of(run: Shown, score: Score) -> Markup:
    """Return the interval of a score; why there is none where there is none."""
    shown = show_interval(score, run.bounds)
    if not shown.startswith("["):
        why = element("small", score.reason) if score.reason else None
        return fragment(shown, why)
    low, high = shown.strip("[]").split(", ")
    return fragment(
        "[",
        score_number(run, score, "ci_low", low),
        ", ",
        score_number(run, score, "ci_high", high),
        "]",
    )


def n_of(run: Shown, score: Score) -> Markup:
    """Return the number of examples, and which share of them was scored."""
    return fragment(
        score_number(run, score, "n", show_n(score)), element_of_coverage(score)
    )


def element_of_coverage(score: Score) -> Markup | None:
    """Return the share that was scored; None where it is all."""
    share = coverage_text(score)
    return element("small", share) if share else None


def coverage_text(score: Score) -> str:
    """Return which share of the examples was scored; "" for all of them."""
    share, between = show_coverage(score)
    if not share:
        return ""
    if between in ("", NO_VALUE):
        return f" ({share} scored)"
    return f" ({share} scored; the rest {range_words(score)}: {between})"


def range_words(score: Score) -> str:
    """Name the ends of the range that the examples left out allow.

    A score that is no mean over examples, such as macro-F1, may fall further by a wrong
    answer than by none.
    """
    least = "without a prediction" if score.mean is None else "wrong"
    return f"{least} to right"


def flag_text(scores: Iterable[Score | None]) -> str:
    """Say what the asterisk beside a value means; "" where there is none."""
    flags = sorted(
        {
            score.flag
            for score in scores
            if score is not None and score.flag and score.value is not None
        }
    )
    more = len(flags) - _MOST_FLAGS
    rest = f"; and {more} more" if more > 0 else ""
    return f"* {'; '.join(flags[:_MOST_FLAGS])}{rest}" if flags else ""


def flags_of(scores: Iterable[Score | None]) -> Markup | None:
    """Return what the asterisk beside values means; None where none has one."""
    text = flag_text(scores)
    return element("p", text, class_="note") if text else None


def clipped(score: Score, bounds: Mapping[str, Any]) -> tuple[float, float] | None:
    """Return the interval, cut where no value of the metric can be."""
    if score.ci is None:
        return None
    low, high = score.ci
    least, greatest = limits(score, bounds)
    return max(low, least), min(high, greatest)


def limits(score: Score, bounds: Mapping[str, Any]) -> tuple[float, float]:
    """Return the least and the greatest value that a score can have."""
    from evalkit.catalog import metric_of

    name = metric_of(score.metric, bounds)
    least, greatest = bounds[name] if name is not None else (None, None)
    low = -math.inf if least is None else least
    high = math.inf if greatest is None else greatest
    if score.computed_on != "drop":
        return low, high
    return low - high, high - low


def score_axis(scores: Iterable[tuple[Shown, Score]]) -> Axis:
    """Return the axis that holds the values and intervals of scores of one metric."""
    values: list[float] = []
    scale, ends = 1.0, (-math.inf, math.inf)
    for run, score in scores:
        scale, ends = score.scale, limits(score, run.bounds)
        values += [] if score.value is None else [score.value]
        values += clipped(score, run.bounds) or ()
    return make_axis(values, scale, limits=ends)


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
