"""Numbers of scores: shown as the terminal shows them, and whole beside that."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from evalkit_cli.commanding import (
    NO_VALUE,
    show_coverage,
    show_interval,
    show_n,
    show_value,
)
from evalkit_commands_report.axes import Axis, make_axis
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
