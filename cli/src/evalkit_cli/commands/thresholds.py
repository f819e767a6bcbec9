"""Ends a command if scores are too low: `--fail-under`, `--fail-if-worse`."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, NamedTuple

import click

from evalkit_cli.printing.streams import echo

if TYPE_CHECKING:
    from evalkit import EvaluationOptions, Registry, Result, Score
    from evalkit.catalog import BoundMetric
    from evalkit_analysis_compare import ComparedScore, Comparison

NOT_MET = 3
"""Exit code where a threshold is not met."""

FORM = "[DATASET:]METRIC[@TAG]=VALUE[@BOUND]"
"""How a threshold is written."""

BOUNDS = {"lower": "ci_low", "upper": "ci_high"}
"""The bounds of an interval that a threshold may be about, by their names."""

_SHOWN = 10
"""Most names that a message lists."""


class Reading(NamedTuple):
    """What the left side of a threshold may be about."""

    dataset: str | None
    metric: str
    tag: str | None


class Threshold(NamedTuple):
    """The least that a score must be; the most, where lower is better."""

    target: str
    """What it is about, as it was given: a metric, with a data set or a tag or both."""
    value: float
    """In the unit that scores are stored in: proportions are 0 to 1."""
    is_percentage: bool
    """Whether it was given as `80%`, which only a proportion can be."""
    bound: str | None = None
    """`lower` or `upper` where not the score but this bound of its interval counts."""

    def readings(self, datasets: Sequence[str]) -> Iterator[Reading]:
        """Return what the target may mean, what counts most first.

        Names of metrics and tags may hold `:` and `@` themselves.
        """
        yield from _with_tags(None, self.target)
        for dataset in datasets:
            if self.target.startswith(f"{dataset}:"):
                yield from _with_tags(dataset, self.target[len(dataset) + 1 :])


def _with_tags(dataset: str | None, target: str) -> Iterator[Reading]:
    yield Reading(dataset, target, None)
    for place, letter in enumerate(target):
        if letter == "@" and place and target[place + 1 :]:
            yield Reading(dataset, target[:place], target[place + 1 :])


def read_thresholds(given: Sequence[str]) -> list[Threshold]:
    """Read `[DATASET:]METRIC[@TAG]=VALUE` options; `@lower` or `@upper` may follow."""
    return [_read(text) for text in given]


def _read(text: str) -> Threshold:
    target, equals, given = text.rpartition("=")
    number, at, bound = given.partition("@")
    is_percentage = number.endswith("%")
    try:
        value = float(number.removesuffix("%"))
    except ValueError:
        value = math.nan
    is_bound = bound in BOUNDS or not at
    if not equals or not target or not math.isfinite(value) or not is_bound:
        raise click.UsageError(
            f"--fail-under {text!r} is not of the form METRIC=VALUE, such as "
            "accuracy=0.8 or accuracy=80%, or accuracy=0.8@lower (or @upper) for a "
            "bound of its interval; METRIC@TAG is its score on a tag, and "
            "DATASET:METRIC that of one data set."
        )
    if is_percentage:
        # 57.1 / 100 is more than 0.571 in binary, which is no failure at a tie
        value = float(Decimal(number.removesuffix("%")) / 100)
    return Threshold(target, value, is_percentage, bound or None)


def refuse_nonsense(
    thresholds: Sequence[Threshold], expected: Sequence[ExpectedScores]
) -> None:
    """Refuse thresholds that no score could be compared with, before work begins."""
    datasets = [each.dataset for each in expected]
    for threshold in thresholds:
        found = False
        for reading in threshold.readings(datasets):
            for each in expected:
                metric = each.scores.get(reading.metric)
                if reading.dataset in (None, each.dataset) and metric is not None:
                    _refuse_impossible(threshold, metric)
                    found = True
            if found:
                break
        if not found and not any(_may_have(each, threshold) for each in expected):
            names = dict.fromkeys(name for each in expected for name in each.scores)
            raise click.UsageError(_no_score(threshold, names, datasets))


def _may_have(expected: ExpectedScores, threshold: Threshold) -> bool:
    """Tell whether a score of a name that nobody declared may turn up."""
    from evalkit.catalog import metric_of

    readings = threshold.readings([expected.dataset])
    return expected.is_open or any(
        metric_of(reading.metric, expected.scores) is not None for reading in readings
    )


def _refuse_impossible(threshold: Threshold, metric: BoundMetric | Score) -> None:
    """Refuse a threshold in another unit."""
    is_proportion = metric.unit == "%" and metric.scale == 100
    start = f"--fail-under {threshold.target}: "
    if threshold.is_percentage and not is_proportion:
        raise click.UsageError(
            f"{start}the score is no proportion; give the "
            f"threshold in its own unit{f' ({metric.unit})' if metric.unit else ''}, "
            "without %."
        )
    low, high = getattr(metric, "bounds", None) or (None, None)
    low = -math.inf if low is None else low
    high = math.inf if high is None else high
    if is_proportion:
        high = min(high, 1.0)
    if low <= threshold.value <= high:
        return
    raise click.UsageError(start + _beyond(threshold, low, high, is_proportion))


def _beyond(threshold: Threshold, low: float, high: float, is_proportion: bool) -> str:
    """Say that no score can be beyond a threshold, and which one may be meant."""
    value = threshold.value
    if is_proportion and threshold.is_percentage:
        side = f"above {100 * high:g}%" if value > high else f"below {100 * low:g}%"
        return f"no proportion is {side}."
    side = "above" if value > high else "below"
    if is_proportion and high < value <= 100 * high:
        return (
            f"proportions are stored as 0 to 1, and {value:g} is above; "
            f"give {value:g}% or {value / 100:g}."
        )
    return f"its values are {low:g} to {high:g}, and {value:g} is {side}."


def say_not_met(what: str) -> None:
    """Say on the standard error what is not met: a verdict, and no error."""
    echo(f"evalkit: not met: {what}", err=True)


def unmet(results: Sequence[Result], thresholds: Sequence[Threshold]) -> list[str]:
    """Say which thresholds are not met."""
    scored = [result for result in results if result.status != "refused"]
    lines = []
    for threshold in thresholds if scored else ():
        for result, score in _scores(scored, threshold):
            _refuse_impossible(threshold, score)
            why = _why_not_met(score, threshold)
            if why is not None:
                group = score.aggregate or score.tag
                name = score.metric if group is None else f"{score.metric} on {group}"
                lines.append(f"{_whose(result, results)}{name} {why}")
    return lines


def _scores(
    results: Sequence[Result], threshold: Threshold
) -> list[tuple[Result, Score]]:
    """Return the scores that a threshold is about, of the results that have it."""
    datasets = list(dict.fromkeys(str(result.dataset) for result in results))
    tagged: list[Reading] = []
    for reading in threshold.readings(datasets):
        asked = [
            result
            for result in results
            if reading.dataset in (None, result.dataset) and reading.metric in result
        ]
        if asked and reading.tag is not None:
            tagged.append(reading)
        found = [
            (result, score)
            for result in asked
            for score in [_score(result, reading)]
            if score is not None
        ]
        if found:
            return found
    if tagged:
        raise click.UsageError(_no_tag(threshold, tagged[0], results))
    names = dict.fromkeys(name for result in results for name in result.metrics)
    raise click.UsageError(_no_score(threshold, names, datasets))


def _score(result: Result, reading: Reading) -> Score | None:
    if reading.tag is None:
        return result[reading.metric]
    for score in result.scores:
        group = score.aggregate or score.tag
        if (score.metric, group) == (reading.metric, reading.tag):
            return score
    return None


def _no_score(
    threshold: Threshold, names: Mapping[str, object], datasets: Sequence[str]
) -> str:
    several = dict.fromkeys(datasets)
    of = f" on {', '.join(several)}" if len(several) > 1 else ""
    return (
        f"--fail-under names {threshold.target!r}, of which there is no score; "
        f"there are: {', '.join(names) or 'none'}{of}."
    )


def _no_tag(threshold: Threshold, reading: Reading, results: Sequence[Result]) -> str:
    tags = dict.fromkeys(
        score.tag
        for result in results
        for score in result.scores
        if score.tag is not None and score.aggregate is None
    )
    shown = [tag for tag in tags if tag is not None][:_SHOWN]
    more = f" and {len(tags) - _SHOWN} more" if len(tags) > _SHOWN else ""
    facet = str(reading.tag).removeprefix("macro:").partition(":")[0]
    is_facet = ":" in str(reading.tag) and not any(
        str(tag).startswith(f"{facet}:") for tag in tags
    )
    how = f" Group by a column with --by {facet} or --map facet:{facet}=COLUMN."
    return (
        f"--fail-under {threshold.target}: no example has the tag {reading.tag!r}; "
        f"there are: {', '.join(shown) or 'none'}{more}.{how * is_facet}"
    )


def _why_not_met(score: Score, threshold: Threshold) -> str | None:
    if score.value is None:
        return f"has no value: {score.reason or 'it is not defined'}"
    found, what = score.value, "is"
    if threshold.bound is not None:
        bound: float | None = getattr(score, BOUNDS[threshold.bound])
        if bound is None:
            return (
                f"has no {threshold.bound} bound: it has no interval: "
                f"{score.reason or score.ci_method}"
            )
        found, what = bound, f"has the {threshold.bound} bound"
    is_cost, least = score.higher_is_better is False, threshold.value
    side = "above" if is_cost else "under"
    if found <= least if is_cost else found >= least:
        return None
    shown, asked = f"{found:.6g}", f"{threshold.value!r}"
    if float(shown) == threshold.value:
        shown = f"{found!r}"
    return f"{what} {shown}, {side} {asked}"


def _whose(result: Result, results: Sequence[Result]) -> str:
    """Name the data set, too, as a log holds the lines of several commands."""
    several = len(results) > 1
    return f"{result.dataset}: {result.model}: " if several else f"{result.dataset}: "


class ExpectedScores(NamedTuple):
    """The scores of the whole set that an evaluation will have."""

    dataset: str
    """Name of the data set, as its runs record it."""
    scores: dict[str, BoundMetric]
    """The scores that are known beforehand, by name, with their units and bounds."""
    is_open: bool
    """Whether the data set scores itself, so that there may be scores of any name."""


def expect_scores(
    dataset: str, options: EvaluationOptions, task: str | None, registry: Registry
) -> ExpectedScores:
    """Say which scores an evaluation will have, without reading data."""
    from evalkit.catalog import Resolver, bind_dataset

    resolver = Resolver(registry)
    bound = bind_dataset(resolver, dataset, task)
    named = options.metrics
    stage = options.columns
    of_declared = [] if stage is None else stage.metrics(resolver)
    metrics = resolver.metrics(
        bound,
        resolver.task(bound),
        [named] if isinstance(named, str) else named,
        [*options.extra_metrics, *of_declared],
        options.perf_metric,
    )
    scores = {}
    for metric in metrics:
        scores[metric.name] = metric
        parts = [metric.score_of(part) for part in metric.scores if part]
        scores.update((part.name, part) for part in parts)
    return ExpectedScores(bound.component.name, scores, bound.has("evaluate"))


def exit_if_worse(comparison: Comparison) -> None:
    """Exit with 3 where the first run was shown to be worse than another."""
    from evalkit.errors import EvalkitError

    worse, unjudged = comparison.worse, comparison.unjudged
    for row in unjudged:
        echo(f"evalkit: warning: --fail-if-worse: {_why_not_judged(row)}", err=True)
    if not comparison.judged:
        raise EvalkitError(
            "--fail-if-worse: no score could be judged, so that it is not known "
            "whether the first run is worse"
        )
    by = (
        ""
        if comparison.margin is None
        else (f"; more than the margin of {comparison.margin:g}")
    )
    for row in worse:
        say_not_met(f"{row.metric}: {row.conclusion}{by}")
    if worse:
        raise click.exceptions.Exit(NOT_MET)


def _why_not_judged(row: ComparedScore) -> str:
    why = row.reason or "there is no test"
    if row.higher_is_better is None:
        why = "it is not known whether higher is better"
    return f"{row.metric} of {row.model_a} and {row.model_b} is not judged: {why}"
