"""Compares the models of a leaderboard, and says which ranks they may have."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from evalkit_analysis_compare import ComparedScore
    from evalkit_commands_report.leaderboard_runs import Column


class Estimate(NamedTuple):
    """A number with its interval."""

    value: float
    low: float
    high: float


class Ranks(NamedTuple):
    """The best and the worst rank that a model may have."""

    best: int
    worst: int


def mean_of(parts: Sequence[Estimate]) -> Estimate:
    """Return the mean of independent estimates, with its interval.

    The distances from each value to its bounds add up like standard errors: the lower
    bound is `mean − √Σ(value − low)² / k`, the upper one likewise (the method of
    variance estimates recovery: Zou and Donner 2008, Statistics in Medicine 27,
    1693-1702). Where all intervals are `value ± z · SE`, it is `mean ± z · √ΣSE² / k`;
    where they are not, it keeps their skewness, and has a width even where a standard
    error is 0, as that of a share of 100 % is.
    """
    count = len(parts)
    mean = math.fsum(part.value for part in parts) / count
    below = math.hypot(*(max(0.0, part.value - part.low) for part in parts)) / count
    above = math.hypot(*(max(0.0, part.high - part.value) for part in parts)) / count
    return Estimate(mean, mean - below, mean + above)


def error_of_mean(errors: Sequence[float]) -> float:
    """Return the standard error of the mean of independent estimates: √ΣSE² / k."""
    return math.hypot(*errors) / len(errors)


def win_rates(scores: Mapping[str, float], higher_is_better: bool) -> dict[str, float]:
    """Return the share of the other models that each does better than.

    An equal score counts as half of a win.
    """
    if len(scores) < 2:
        return {}
    sign = 1 if higher_is_better else -1
    return {
        model: sum(
            0.5 if other == own else float(sign * own > sign * other)
            for name, other in scores.items()
            if name != model
        )
        / (len(scores) - 1)
        for model, own in scores.items()
    }


def rank_ranges(
    models: Collection[str], shown: Collection[tuple[str, str]]
) -> dict[str, Ranks]:
    """Return the ranks that each model may have."""
    pairs = set(shown)
    return {
        model: Ranks(
            1 + sum(loser == model for _, loser in pairs),
            len(models) - sum(winner == model for winner, _ in pairs),
        )
        for model in models
    }


Progress = Callable[[str, float], None]


class Ranked(NamedTuple):
    """The ranks on a data set, and the comparisons that they follow from."""

    ranks: dict[str, Ranks]
    """By model; empty where there are none."""
    rows: list[ComparedScore]
    reason: str | None = None
    """Why there are no ranks."""


def rank_column(
    column: Column, tag: str | None, confidence: float, progress: Progress
) -> Ranked:
    """Say which ranks models may have on a data set.

    All pairs are compared on the same examples, adjusted for their number.
    """
    from evalkit.errors import EvalkitError
    from evalkit_analysis_compare import compare

    if len(column.entries) < 2:
        return Ranked({}, [], "only one model has a score")
    if column.aggregate is not None:
        return Ranked({}, [], "means over the tags of a facet are not compared")
    # sorted, so that a pair has the same first model on every data set
    runs = [column.entries[model].run for model in sorted(column.entries)]
    try:
        comparison = compare(
            *runs,
            metrics=[column.metric],
            confidence=confidence,
            tags=False if tag is None else [tag],
            all_pairs=True,
            progress=progress,
        )
    except EvalkitError as error:
        return Ranked({}, [], str(error))
    rows = [
        row for row in comparison.rows if (row.metric, row.tag) == (column.metric, tag)
    ]
    pairs = len(runs) * (len(runs) - 1) // 2
    if len(rows) < pairs:
        fewest = comparison.to_dict()["min_n"]
        if any(entry.score.n < fewest for entry in column.entries.values()):
            return Ranked({}, [], f"fewer than {fewest} examples with the tag {tag}")
        said = "; ".join(comparison.notices) or "not all pairs could be compared"
        return Ranked({}, [], said)
    if not any(row.is_judged for row in rows):
        why = rows[0].reason
        if rows[0].higher_is_better is None:
            why = "it is not known whether higher is better"
        return Ranked({}, [], f"no two models could be tested: {why}")
    shown = [pair for row in rows for pair in _shown(row)]
    return Ranked(rank_ranges(list(column.entries), shown), rows)


def _shown(row: ComparedScore) -> list[tuple[str, str]]:
    """Return winner and loser of a comparison, where one was shown."""
    if not row.different or row.difference is None or row.higher_is_better is None:
        return []
    if (row.difference > 0) == row.higher_is_better:
        return [(row.model_a, row.model_b)]
    return [(row.model_b, row.model_a)]


def rank_means(
    models: Sequence[str], ranked: Sequence[Ranked], higher_is_better: bool
) -> Ranked:
    """Say which ranks models may have by their means over data sets.

    The difference of two means is the mean of the differences on each data set, whose
    adjusted intervals are put together as those of scores are.
    """
    without = [each.reason for each in ranked if each.reason is not None]
    if without:
        return Ranked({}, [], "a data set has no ranks")
    sizes = {row.family_size for each in ranked for row in each.rows}
    by_pair = [
        {(row.model_a, row.model_b): row for row in each.rows} for each in ranked
    ]
    if len({frozenset(rows) for rows in map(dict.keys, by_pair)}) > 1 or len(sizes) > 1:
        return Ranked({}, [], "not every model has a score on every data set")
    shown = []
    for first, second in by_pair[0]:
        parts = _differences([rows[first, second] for rows in by_pair])
        if parts is None:
            continue
        found = mean_of(parts)
        if found.low <= 0 <= found.high:
            continue
        is_first = (found.value > 0) == higher_is_better
        shown.append((first, second) if is_first else (second, first))
    return Ranked(rank_ranges(models, shown), [])


def _differences(rows: Sequence[ComparedScore]) -> list[Estimate] | None:
    """Return the differences of two models; None where one has no interval."""
    parts = []
    for row in rows:
        low, high = row.tested_interval
        if row.difference is None or low is None or high is None:
            return None
        parts.append(Estimate(row.difference, low, high))
    return parts


def mean_win_rates(
    rates: Sequence[Mapping[str, float]], models: Sequence[str]
) -> dict[str, tuple[float, int]]:
    """Return the mean win rate of each model, and over how many data sets it is."""
    found = {}
    for model in models:
        own = [rate[model] for rate in rates if model in rate]
        if own:
            found[model] = (sum(own) / len(own), len(own))
    return found
