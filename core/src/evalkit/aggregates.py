"""What the scores of a facet's groups amount to: their mean, the worst, the gap.

The group that looks worst was picked for it, and so was the largest difference: with 12
equal groups of 40 a plain interval of the gap excludes 0 every time. So the worst group
has an interval at Šidák's level (1967), which holds for all groups at once, and the gap
one from the largest of all standardised differences (max-T, Westfall and Young 1993),
which may contain 0.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from evalkit.evidence import Evidence, example_column, interval_kind
from evalkit.group_intervals import GroupIntervals
from evalkit.intervals import (
    Floats,
    Interval,
    delta_interval,
    influence_interval,
    without_interval,
)
from evalkit.largest_differences import max_t_gap
from evalkit.scores import AggregateScore, GroupScore
from evalkit.seeds import generator
from evalkit.student_t import t_quantile
from evalkit.wording import count_of

MOST_GROUPS = 200
"""Groups of a facet beyond which no gap is computed."""

_MOST_ENTRIES = 50_000_000
"""Units times groups that are held at a time."""

_NO_GRADIENT = "the score is no smooth function of sums"
_ONE_EXAMPLE = "n of a group is 1"
_ONE_CLUSTER = "all examples of a group are in one cluster"


class _Facet(NamedTuple):
    name: str
    groups: tuple[int, ...]
    """Those that have a value and enough examples."""
    left_out: int
    """How many have not."""
    n: int
    """How many distinct examples they have."""
    n_clusters: int | None
    is_disjoint: bool
    """Whether each unit is one example, with one row, in one of the groups."""


def aggregate_scores(
    evidence: Evidence, intervals: GroupIntervals, scores: Sequence[GroupScore]
) -> list[AggregateScore]:
    """Aggregate the main score over the groups of every facet and crossing.

    Args:
        evidence: What the scores were computed from.
        intervals: Their intervals.
        scores: The scores of all groups.

    Returns:
        Mean, worst group and gap of every facet with two groups or more.
    """
    main = {found.group: found for found in scores if found.score == ""}
    found = []
    for name, numbers in evidence.groups.facets.items():
        usable = _usable(numbers, main, evidence.settings.fewest)
        if len(usable) < 2:
            continue
        facet = _facet(evidence, name, usable, len(numbers) - len(usable))
        found.append(_macro(evidence, facet, main))
        worst = _worst(evidence, intervals, facet, main)
        found += [worst] if worst else []
        found.append(_gap(evidence, facet, main))
    return found


def _usable(
    numbers: Sequence[int], main: Mapping[int, GroupScore], fewest: int
) -> tuple[int, ...]:
    return tuple(
        number
        for number in numbers
        if number in main
        and main[number].value is not None
        and main[number].n >= fewest
    )


def _facet(
    evidence: Evidence, name: str, usable: tuple[int, ...], left_out: int
) -> _Facet:
    is_inside = np.zeros(len(evidence.table.ids), dtype=bool)
    for group in usable:
        is_inside[evidence.groups.positions_of(group)] = True
    is_inside &= evidence.rows.has_rows
    positions = np.flatnonzero(is_inside)
    repeats = evidence.table.repeats
    n = int(np.count_nonzero(is_inside.reshape(-1, repeats).any(axis=1)))
    clusters = evidence.units.count_of(positions) if evidence.clustered else None
    memberships = int(evidence.n[list(usable)].sum())
    is_disjoint = evidence.is_simple and memberships == n
    return _Facet(name, usable, left_out, n, clusters, is_disjoint)


def _values(facet: _Facet, main: Mapping[int, GroupScore]) -> list[float]:
    return [float(main[group].value or 0.0) for group in facet.groups]


def _flag(facet: _Facet, text: str | None = None) -> str | None:
    groups = count_of(facet.left_out, "group")
    left_out = f"{groups} left out" if facet.left_out else None
    return "; ".join(filter(None, [text, left_out])) or None


def _macro(
    evidence: Evidence, facet: _Facet, main: Mapping[int, GroupScore]
) -> AggregateScore:
    value = math.fsum(_values(facet, main)) / len(facet.groups)
    interval = _macro_interval(evidence, facet, value)
    kind, flag = f"macro:{facet.name}", _flag(facet)
    return AggregateScore(
        kind, None, value, facet.n, facet.n_clusters, interval, flag=flag
    )


def _macro_interval(evidence: Evidence, facet: _Facet, value: float) -> Interval:
    if interval_kind(evidence.metric) == "none":
        return without_interval("the metric declares no interval")
    if facet.is_disjoint:
        return _disjoint_macro_interval(evidence, facet, value)
    totals = np.zeros(evidence.units.count)
    is_present = np.zeros(evidence.units.count, dtype=bool)
    for group in facet.groups:
        found = evidence.influences(group)
        if found is None:
            return without_interval(_NO_GRADIENT)
        if len(found.units) < 2:
            return without_interval(_too_few_units(evidence))
        totals[found.units] += found.totals / len(facet.groups)
        is_present[found.units] = True
    confidence = evidence.settings.confidence
    return influence_interval(value, totals[is_present], confidence, evidence.clustered)


def _too_few_units(evidence: Evidence) -> str:
    return _ONE_CLUSTER if evidence.clustered else _ONE_EXAMPLE


def _disjoint_macro_interval(
    evidence: Evidence, facet: _Facet, value: float
) -> Interval:
    """Add up the groups' variances, which is all there is where they share nothing."""
    squares = []
    for group in facet.groups:
        variance = evidence.variance(group)
        if variance is None:
            few = evidence.n[group] < 2
            return without_interval(_too_few_units(evidence) if few else _NO_GRADIENT)
        n = float(evidence.n[group])
        squares.append(variance * (n - 1) / n)
    total = facet.n / (facet.n - 1) * math.fsum(squares) / len(facet.groups) ** 2
    confidence = evidence.settings.confidence
    return delta_interval(value, math.sqrt(total), facet.n, confidence)


def _worst(
    evidence: Evidence,
    intervals: GroupIntervals,
    facet: _Facet,
    main: Mapping[int, GroupScore],
) -> AggregateScore | None:
    direction = evidence.metric.attributes["higher_is_better"]
    if direction is None:
        return None
    sign = 1.0 if direction else -1.0
    tags = evidence.groups.tags
    worst = min(
        (main[group] for group in facet.groups),
        key=lambda found: (sign * float(found.value or 0.0), str(tags[found.group])),
    )
    level = evidence.settings.confidence ** (1 / len(facet.groups))
    interval = _simultaneous(intervals, worst, level)
    return AggregateScore(
        f"worst:{facet.name}",
        tags[worst.group],
        worst.value,
        worst.n,
        worst.n_clusters,
        interval,
        flag=_flag(facet),
    )


def _simultaneous(
    intervals: GroupIntervals, worst: GroupScore, level: float
) -> Interval:
    """Widen a group's interval to a level that holds for all groups at once."""
    error, method = worst.interval.standard_error, worst.interval.method
    if error is None or worst.value is None:
        return worst.interval
    if method.startswith(("bootstrap", "multinomial")):
        # the tails of 1 000 replicates are too thin for so high a level
        units = worst.n_clusters or worst.n
        half = t_quantile(level, units - 1) * error
        low, high = worst.value - half, worst.value + half
        own = worst.interval
        return Interval(
            min(low, low if own.low is None else own.low),
            max(high, high if own.high is None else own.high),
            error,
            "sidak",
        )
    if method.startswith("wilson"):
        widened = intervals.of_mean(worst.group, level, exact=True)
    else:
        widened = intervals.of(worst.group, "", worst.value, level)
    return widened._replace(method="sidak") if widened.low is not None else widened


def _gap(
    evidence: Evidence, facet: _Facet, main: Mapping[int, GroupScore]
) -> AggregateScore:
    values = _values(facet, main)
    value = max(values) - min(values)
    tags = evidence.groups.tags
    high = tags[facet.groups[int(np.argmax(values))]]
    low = tags[facet.groups[int(np.argmin(values))]]
    flag = _flag(facet, f"from {low} to {high}" if value else "all groups are equal")
    interval, p_value = _gap_interval(evidence, facet, values)
    return AggregateScore(
        f"gap:{facet.name}",
        None,
        value,
        facet.n,
        facet.n_clusters,
        interval,
        flag=flag,
        p_value=p_value,
    )


def _gap_interval(
    evidence: Evidence, facet: _Facet, values: list[float]
) -> tuple[Interval, float | None]:
    if interval_kind(evidence.metric) == "none":
        return without_interval("the metric declares no interval"), None
    if len(facet.groups) > MOST_GROUPS:
        reason = f"a gap of more than {MOST_GROUPS} groups has no interval"
        return without_interval(reason), None
    if int(evidence.n[list(facet.groups)].min()) < 2:
        return without_interval(_ONE_EXAMPLE), None
    estimates = _smoothed(evidence, facet, values)
    if isinstance(estimates, str):
        return without_interval(estimates), None
    centres, covariance = estimates
    seed = generator(evidence.settings.seed, evidence.metric.name, "gap", facet.name)
    return max_t_gap(
        centres,
        covariance,
        max(values) - min(values),
        evidence.settings.confidence,
        _least_units(evidence, facet),
        seed,
    )


def _least_units(evidence: Evidence, facet: _Facet) -> int:
    if evidence.clustered:
        return min(evidence.n_clusters(group) or 0 for group in facet.groups)
    return int(evidence.n[list(facet.groups)].min())


def _smoothed(
    evidence: Evidence, facet: _Facet, values: list[float]
) -> tuple[Floats, Floats] | str:
    """Give the groups' scores and covariance, or why there are none.

    Shares of independent examples get one right and one wrong example more, as in the
    interval of a difference by Agresti and Caffo (2000), because a group without any
    error has no spread to see.
    """
    shares = _shares(evidence, facet)
    if shares is not None and facet.is_disjoint:
        ones, n = shares
        share = (ones + 1) / (n + 2)
        return share, np.diag(share * (1 - share) / (n + 2))
    if facet.is_disjoint:
        variances = [evidence.variance(group) for group in facet.groups]
        known = [variance for variance in variances if variance is not None]
        if len(known) < len(variances):
            return _NO_GRADIENT
        covariance = np.diag(known)
    else:
        found = _covariance(evidence, facet)
        if isinstance(found, str):
            return found
        covariance = found
    if (np.diag(covariance) <= 1e-30).any():
        return "all scores of a group are equal"
    return np.array(values), covariance


def _shares(evidence: Evidence, facet: _Facet) -> tuple[Floats, Floats] | None:
    column = example_column(evidence.metric)
    if column is None or interval_kind(evidence.metric) != "wilson":
        return None
    ones, n = [], []
    for group in facet.groups:
        values, counts = evidence.values_of(group, column)
        if not np.isin(values, (0.0, 1.0)).all():
            return None
        ones.append(float((values * counts).sum()))
        n.append(float(counts.sum()))
    return np.array(ones), np.array(n)


def _covariance(evidence: Evidence, facet: _Facet) -> Floats | str:
    """Give the covariance of groups that share units."""
    count = len(facet.groups)
    if evidence.units.count * count > _MOST_ENTRIES:
        return "the facet is too large for the interval of a gap"
    influences = np.zeros((evidence.units.count, count))
    scales = []
    for place, group in enumerate(facet.groups):
        found = evidence.influences(group)
        if found is None:
            return _NO_GRADIENT
        if len(found.units) < 2:
            return _too_few_units(evidence)
        influences[found.units, place] = found.totals
        scales.append(math.sqrt(len(found.units) / (len(found.units) - 1)))
    product: Floats = influences.T @ influences
    return product * np.outer(scales, scales)
