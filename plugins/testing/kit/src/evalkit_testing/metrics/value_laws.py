"""Laws of what a value is, which raise `LawBroken` where they do not hold."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import polars as pl
import polars.selectors as cs

from evalkit import NotScored
from evalkit.catalog import BoundMetric
from evalkit.scoring import (
    RESPONSES_KEY,
    GroupScore,
    finalize_counts,
    merge_statistics,
    metric_outcomes,
    metric_statistics,
)
from evalkit_testing.laws import LawBroken
from evalkit_testing.metrics.subjects import Part, Row, Subject
from evalkit_testing.metrics.trials import (
    VALUE_TOLERANCE,
    Trial,
    is_close,
    name_part,
    positions_of,
)

_MARKS = ("Zq7xKv2", "\u0436\u8a9e\u306c\u0449")
"""Texts that no reason has by chance: one of ASCII, and one without."""


def check_values(trial: Trial) -> None:
    """Values are finite or null, and within the bounds."""
    subject = trial.subject
    if not trial.is_scorable:
        return
    # what is outside of the bounds is told here, not by the engine
    metric = subject.bind(bounds=None)
    if subject.adds_up:
        statistics = metric_statistics(metric, trial.table)
        sums = merge_statistics(metric, statistics, trial.table, trial.groups)
        values = subject.finalize(metric, sums, trial.groups)
    else:
        values = _values_of_lists(metric, trial)
        nothing = (NotScored, type(None))
        given = [each for each in values.values() if not isinstance(each, nothing)]
        subject.values_seen += len(given)
    for part, value in values.items():
        _check_value(subject, part, value)


def _values_of_lists(metric: BoundMetric, trial: Trial) -> Mapping[Part, Any]:
    values = {}
    for number, tag in enumerate(trial.groups.tags):
        members = pl.col("position").is_in(positions_of(trial, number))
        part = trial.table.frame.filter(members)
        lists = {f"{name}s": part[name].to_list() for name in ("prediction", "target")}
        fields = {name: part[name].to_list() for name in metric.columns}
        context = trial.table.context
        values[tag, ""] = metric.call(
            "compute", **lists, fields=fields, context=context
        )
    return values


def _check_value(subject: Subject, part: Part, value: Any) -> None:
    if value is None or isinstance(value, NotScored):
        return
    where = f"the value of {name_part(part)}"
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError) as error:
        raise LawBroken(f"{where} is no number: {value!r}") from error
    if not math.isfinite(number):
        raise LawBroken(
            f"{where} is {number}; give None, or null with a reason, where it is "
            "undefined"
        )
    own = subject.attributes["scores"].get(part[1], {})
    low, high = own.get("bounds", subject.attributes["bounds"]) or (None, None)
    if (low is not None and number < low - VALUE_TOLERANCE) or (
        high is not None and number > high + VALUE_TOLERANCE
    ):
        raise LawBroken(f"{where} is {number}, outside of the bounds {low} to {high}")


def check_counts(trial: Trial) -> None:
    """An array of counts gives the values that `finalize` gives of the same sums."""
    if not trial.adds_up:
        return
    metric, values = trial.subject.bind(), trial.values
    if not metric.finalizes_counts or trial.sums.is_empty():
        return
    keys = list(metric.keys)
    columns = [name for name in trial.sums.columns if name not in ("group", *keys)]
    if len(columns) != 1:  # then it is not called
        return
    cells = trial.sums.select(cs.by_name(*keys)).unique().sort(cs.by_name(*keys))
    groups = trial.sums["group"].unique().sort().to_list()
    counts = np.zeros((len(groups), len(cells)))
    place = {cell: number for number, cell in enumerate(cells.rows())}
    for group, *cell, count in trial.sums.select(
        cs.by_name("group", *keys, *columns)
    ).rows():
        counts[groups.index(group), place[tuple(cell)]] = count
    found = finalize_counts(metric, counts, cells, trial.subject.context)
    tags = trial.groups.tags
    by_hook = {
        (tags[group], score): float(value)
        for score, array in found.items()
        for group, value in zip(groups, array, strict=True)
        if math.isfinite(value)
    }
    by_finalize = {
        part: float(value)
        for part, value in values.items()
        if value is not None and math.isfinite(value)
    }
    for part in {**by_hook, **by_finalize}:
        one, other = by_hook.get(part), by_finalize.get(part)
        if not is_close(one, other):
            raise LawBroken(
                f"the value of {name_part(part)} is {one} by finalize_counts, and "
                f"{other} by finalize"
            )


def check_perfect(trial: Trial) -> None:
    """Predictions that all equal the answers score best."""
    best = _best_value(trial.subject)
    is_choice = trial.subject.context.answer_kind == "any-of"
    rows = tuple(_perfect_rows(trial.rows, is_choice))
    if not rows or trial.reads_more:
        return
    if best is None:
        _check_not_worse(trial, rows)
        return
    metric = trial.subject.bind(interval="none")
    scores = trial.subject.score_rows(metric, rows).scores
    has_main = any(score == "" for _, score in scores)
    for part, found in scores.items():
        if part[1] and has_main:
            continue
        if found.value is not None and not is_close(found.value, best):
            raise LawBroken(
                f"the value of {name_part(part)} is {found.value}, not {best}, where "
                "every prediction is the answer, or the first of the acceptable ones"
            )


def _check_not_worse(trial: Trial, rows: tuple[Row, ...]) -> None:
    """Compare with what was predicted, where only what is worst has a bound."""
    subject = trial.subject
    direction = subject.attributes["higher_is_better"]
    bounds = subject.attributes["bounds"] or (None, None)
    if direction is None or bounds == (None, None) or len(rows) < len(trial.rows):
        return
    part = (None, "")
    perfect = subject.score_rows(subject.bind(interval="none"), rows).scores.get(part)
    given = trial.scored.scores.get(part)
    if perfect is None or given is None:
        return
    one, other = perfect.value, given.value
    if one is None or other is None or perfect.n != given.n or is_close(one, other):
        return
    if (one < other) is bool(direction):
        raise LawBroken(
            f"the value of {name_part(part)} is {one} where every prediction is the "
            f"answer, and {other} as it is, which `higher_is_better` calls better"
        )


def _best_value(subject: Subject) -> float | None:
    direction = subject.attributes["higher_is_better"]
    low, high = subject.attributes["bounds"] or (None, None)
    best: float | None = high if direction else low
    return None if direction is None else best


def _perfect_rows(rows: tuple[Row, ...], is_choice: bool) -> Iterator[Row]:
    for row in rows:
        if not is_choice or not isinstance(row.target, list | tuple):
            yield row._replace(prediction=row.target)
        elif row.target:
            yield row._replace(prediction=row.target[0])


def check_nan(trial: Trial) -> None:
    """A prediction that is NaN is not taken for a number, such as 0."""
    numbers = [row.target for row in trial.rows]
    plain = [each for each in numbers if type(each) in (int, float)]
    if trial.scored.failed or 0 in plain or trial.reads_more:
        return
    if len(plain) < max(2, len(numbers)):
        return
    if trial.subject.attributes["accepts_no_prediction"]:  # it may take it for none
        return
    other = 2 * max(map(abs, plain)) + 1
    metric = trial.subject.bind(interval="none")
    nan, zero, far = (
        _with_first(trial, metric, given) for given in (math.nan, 0.0, float(other))
    )
    if nan is None or zero is None or far is None or nan.value is None:
        return
    is_zero = nan.n == zero.n and is_close(nan.value, zero.value)
    # what is wrong either way, as by exact match, is no sign
    if is_zero and not is_close(zero.value, far.value):
        raise LawBroken(
            f"the value of the whole set is {nan.value} where the first prediction is "
            "NaN, as if that was 0: return evalkit.NotScored, or no row"
        )


def _with_first(
    trial: Trial, metric: BoundMetric, prediction: float
) -> GroupScore | None:
    rows = [row._replace(tags=()) for row in trial.rows]
    predictions = [row.prediction for row in rows]
    if any(type(each) not in (int, float) for each in predictions):
        return None
    rows = [
        row._replace(prediction=float(each), target=float(row.target))
        for row, each in zip(rows, predictions, strict=True)
    ]
    rows[0] = rows[0]._replace(prediction=prediction)
    return trial.subject.score_rows(metric, rows).scores.get((None, ""))


def check_reasons(trial: Trial) -> None:
    """Why an example has no score, or a group no value, quotes neither text."""
    subject = trial.subject
    is_choice = subject.context.answer_kind == "any-of"
    texts = (str, *((list, tuple) if is_choice else ()))
    if trial.scored.failed or subject.context.labels or trial.reads_more:
        return
    if not all(isinstance(row.target, texts) for row in trial.rows):
        return
    rows = [
        row._replace(
            prediction=_MARKS[number % 2],
            target=[_MARKS[1]] if is_choice else _MARKS[1],
            tags=(),
        )
        for number, row in enumerate(trial.rows[:2])
    ]
    metric = subject.bind(interval="none")
    scored = subject.score_rows(metric, rows).scores
    # the score of a class is called by it, wherever it is shown
    reasons = [(one.reason or "").replace(key[1], "") for key, one in scored.items()]
    if subject.adds_up:
        found = metric_outcomes(subject.bind(), subject.table(rows)).unscored
        reasons += [each or "" for each in found["reason"]]
    for reason in reasons:
        if any(mark in reason for mark in _MARKS):
            raise LawBroken(
                f"the reason {reason!r} quotes the data: --no-examples keeps it"
            )


def check_nothing(trial: Trial) -> None:
    """A group of which nothing was scored has no value, but a reason, and n = 0."""
    for kept in ([], [n for n, part in enumerate(trial.sample.parts) if part]):
        is_kept = pl.col("position").is_in(kept)
        part = trial.table._replace(frame=trial.table.frame.filter(is_kept))
        metric = trial.subject.bind(interval="none")
        found = trial.subject.score(metric, part, trial.groups)
        filled = set(trial.groups.members.filter(is_kept)["group"])
        for key, one in found.scores.items():
            if one.group in filled:
                continue
            where = f"{name_part(key)}, of which nothing was scored,"
            if one.value is not None or one.n:
                raise LawBroken(f"{where} has the value {one.value}, and n = {one.n}")
            if not one.reason:
                raise LawBroken(f"{where} has no value, and no reason why")


def check_single(trial: Trial) -> None:
    """One example has a value or a reason, and no interval, but a reason for that."""
    scored = trial.subject.score_rows(trial.subject.bind(), trial.rows[:1])
    for part, one in scored.scores.items():
        if one.value is None and not one.reason:
            raise LawBroken(f"{name_part(part)} has no value, and no reason why")
        low, high = one.interval.low, one.interval.high
        if low is not None or high is not None:
            raise LawBroken(
                f"{name_part(part)} has one example and the interval {low} to {high}"
            )


def check_width(trial: Trial) -> None:
    """An interval is finite and wider than zero, or null with the reason."""
    for part, one in trial.with_intervals.scores.items():
        low, high = one.interval.low, one.interval.high
        if low is None or high is None:
            if not one.interval.reason:
                raise LawBroken(f"{name_part(part)} has no interval and no reason why")
        elif not (math.isfinite(low) and math.isfinite(high) and low < high):
            raise LawBroken(f"{name_part(part)} has the interval {low} to {high}")


def check_missing(trial: Trial) -> None:
    """An example without a prediction counts as worst, or no score has a value."""
    silent = [number for number, flag in enumerate(trial.sample.silent) if flag]
    if not silent:
        return
    rows = list(trial.rows)
    for number in silent:
        # without a response there are no alternatives either
        fields = {k: v for k, v in rows[number].fields.items() if k != RESPONSES_KEY}
        rows[number] = rows[number]._replace(prediction=None, fields=fields)
    metric = trial.subject.bind(interval="none")
    muted = trial.subject.score_rows(metric, rows)
    where = f"where the predictions of the examples {silent} are missing"
    for part, one in muted.scores.items():
        if one.value is None:
            if not one.reason:
                raise LawBroken(f"{name_part(part)} has no value and no reason {where}")
            continue
        before = trial.scored.scores.get(part)
        if before is not None and one.n < before.n:
            raise LawBroken(
                f"n of {name_part(part)} is {before.n}, and {one.n} {where}: they are "
                "left out, instead of counted as worst"
            )
    if muted.per_example is not None:
        given = trial.scored.per_example or {}
        for number in set(silent) & muted.per_example.keys():
            _check_worst(trial.subject, number, muted.per_example[number], given)


def _check_worst(
    subject: Subject, number: int, score: float, given: Mapping[int, float]
) -> None:
    where = f"the example {number} scores {score} without a prediction"
    worst = subject.attributes["worst_value"]
    if worst is not None and not is_close(score, worst):
        raise LawBroken(f"{where}, but the worst value declared is {worst}")
    sign = {True: 1, False: -1, None: 0}[subject.attributes["higher_is_better"]]
    for other, its_score in given.items():
        if sign * its_score < sign * score - VALUE_TOLERANCE:
            raise LawBroken(
                f"{where}, better than the example {other} with one, which scores "
                f"{its_score}"
            )
