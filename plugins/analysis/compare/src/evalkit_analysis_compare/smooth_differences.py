"""Differences of ratios, other smooth functions of sums, and AUROC, by formulas.

Ratios of sums are compared on the log scale, and other smooth functions as they are, by
the delta method (CR2 and Satterthwaite in clusters). Areas under the ROC curve of two
classes are compared as DeLong, DeLong and Clarke-Pearson (1988) do.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import polars as pl

from evalkit.catalog import BoundMetric
from evalkit.scoring import Interval
from evalkit.scoring.measurement import evidence_of
from evalkit.statistics.clusters import Floats, Integers, degrees_of_freedom
from evalkit.statistics.intervals import FEW_POSITIVES, delta_interval
from evalkit.statistics.student_t import normal_quantile
from evalkit_analysis_compare.paired_tests import Significance, compare_by_t
from evalkit_analysis_compare.tables import PairedTables, Side


class SmoothDifference(NamedTuple):
    """The interval and the test of a difference."""

    intervals: Callable[[float], Interval]
    error: float | None
    degrees: float
    tested: Significance | str


class PairedInfluences:
    """What each example adds to the error of two models' scores.

    Args:
        metric: A metric whose scores are smooth functions of sums.
        statistics: Its statistics of both models.
        tables: What it scores; each example has one answer.
    """

    def __init__(
        self,
        metric: BoundMetric,
        statistics: tuple[pl.DataFrame, pl.DataFrame],
        tables: PairedTables,
    ) -> None:
        self._tables = tables
        self._is_ratio = metric.interval_kind == "ratio"
        self._sides = [
            _Side(metric, part, side, tables.examples)
            for part, side in zip(statistics, tables.sides, strict=True)
        ]

    def difference(
        self, score: str, group: int, values: tuple[float, float]
    ) -> SmoothDifference | None:
        """Compare one score on one group; None where it has no gradient."""
        pair = self._tables.pair
        one, other = (side.influences(score, group, pair.n) for side in self._sides)
        if one is None or other is None or (self._is_ratio and min(values) <= 0):
            return None
        if self._is_ratio:
            one, other = one / values[0], other / values[1]
        examples = self._tables.examples[group]
        influences, sizes = (one - other)[examples], np.ones(len(examples))
        if pair.clusters is not None:
            _, place = np.unique(pair.clusters[examples], return_inverse=True)
            influences = np.bincount(place, influences).astype(np.float64)
            sizes = np.bincount(place).astype(np.float64)
        return _compare(
            values,
            influences,
            sizes,
            is_ratio=self._is_ratio,
            clustered=pair.clusters is not None,
        )


def _compare(
    values: tuple[float, float],
    influences: Floats,
    sizes: Floats,
    *,
    is_ratio: bool,
    clustered: bool,
) -> SmoothDifference:
    value = values[0] - values[1]
    if is_ratio:
        value = math.log(values[0] / values[1])
    middle = math.sqrt(values[0] * values[1]) if is_ratio else 1.0

    def interval(confidence: float) -> Interval:
        found = delta_interval(
            value, influences, sizes, confidence, clustered=clustered
        )
        if found.low is None or found.high is None or not is_ratio:
            return found
        # the difference with this log ratio and the same geometric mean
        low, high = (2 * middle * math.sinh(end / 2) for end in (found.low, found.high))
        error = middle * (found.standard_error or 0.0)
        method = found.method.replace("delta", "delta-log")
        return found._replace(low=low, high=high, standard_error=error, method=method)

    found = delta_interval(value, influences, sizes, 0.95, clustered=clustered)
    count = len(influences)
    degrees = degrees_of_freedom(sizes) if clustered and count > 1 else count - 1.0
    if found.standard_error is None:
        return SmoothDifference(interval, None, 1.0, str(found.reason))
    shown = interval(0.95)
    tested = compare_by_t(value, found.standard_error, degrees, shown.method)
    return SmoothDifference(interval, shown.standard_error, degrees, tested)


class _Side:
    """The influences of one model's examples."""

    def __init__(
        self,
        metric: BoundMetric,
        statistics: pl.DataFrame,
        side: Side,
        examples: list[Integers],
    ) -> None:
        # each answer a cluster of its own: units are numbered in the order of positions
        numbers = np.arange(len(side.table.ids), dtype=np.uint64)
        table = side.table._replace(clusters=pl.Series(numbers), replications=())
        example_of = np.full(len(numbers), -1, dtype=np.int64)
        example_of[side.rows["position"]] = side.rows["example"]
        self._example_of = example_of[np.unique(statistics["position"])]
        statistics = statistics.drop("example", "replication")
        self._evidence = evidence_of(metric, statistics, table, side.groups(examples))

    def influences(self, score: str, group: int, count: int) -> Floats | None:
        """Return the influence of each example on a score of a group."""
        if not self._evidence.has_gradients:
            return None
        found = self._evidence.influences(group, score)
        if found is None:
            return None
        influences = np.zeros(count)
        np.add.at(influences, self._example_of[found.units], found.totals)
        return influences


def delong(
    positives: tuple[Floats, Floats], negatives: tuple[Floats, Floats]
) -> SmoothDifference | str:
    """Compare two areas under the ROC curve of the same examples."""
    if min(len(positives[0]), len(negatives[0])) < 2:
        return "a class has fewer than two examples"
    above, below = zip(*map(_placements, positives, negatives), strict=True)
    one, other = above[0] - above[1], below[0] - below[1]
    value = float(one.mean())
    variance = one.var(ddof=1) / len(one) + other.var(ddof=1) / len(other)
    error = math.sqrt(float(variance))
    if not error:
        return "no example is ranked in another place"

    flags: tuple[str, ...] = ()
    if min(len(one), len(other)) < FEW_POSITIVES:
        flags = (f"fewer than {FEW_POSITIVES} examples of a class",)

    def interval(confidence: float) -> Interval:
        half = normal_quantile(confidence) * error
        return Interval(value - half, value + half, error, "delong", flags=flags)

    p_value = math.erfc(abs(value) / error / math.sqrt(2))
    return SmoothDifference(interval, error, math.inf, Significance(p_value, "delong"))


def _placements(positives: Floats, negatives: Floats) -> tuple[Floats, Floats]:
    """Return the share of the other class that each example is ranked rightly to."""
    return _share_below(positives, negatives), 1 - _share_below(negatives, positives)


def _share_below(values: Floats, others: Floats) -> Floats:
    ordered = np.sort(others)
    left = np.searchsorted(ordered, values, side="left")
    right = np.searchsorted(ordered, values, side="right")
    found: Floats = (left + right) / (2 * len(others))
    return found


def two_classes(
    metric: BoundMetric, statistics: tuple[pl.DataFrame, pl.DataFrame]
) -> tuple[str, str] | None:
    """Name the columns of class and score of an AUROC of two classes, or None."""
    if metric.interval_kind != "auroc":
        return None
    part = statistics[0]
    flags = [key for key in metric.keys if part.schema[key] == pl.Boolean]
    scores = [key for key in metric.keys if part.schema[key].is_float()]
    single = all(each["example"].n_unique() == each.height for each in statistics)
    if len(flags) != 1 or len(scores) != 1 or not single:
        return None
    return flags[0], scores[0]


def compare_rankings(
    statistics: tuple[pl.DataFrame, pl.DataFrame], names: tuple[str, str]
) -> SmoothDifference | str:
    """Compare the AUROC of the examples of one group."""
    flag, score = names
    sides = [part.sort("example") for part in statistics]
    is_positive = sides[0][flag].to_numpy()
    if not np.array_equal(is_positive, sides[1][flag].to_numpy()):
        return "the runs do not rank the same examples"
    first, second = (part[score].to_numpy() for part in sides)
    return delong(
        (first[is_positive], second[is_positive]),
        (first[~is_positive], second[~is_positive]),
    )
