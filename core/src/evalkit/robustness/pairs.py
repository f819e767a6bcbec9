"""Pairs of a copy and its original, in groups, and means over them.

A tag's group holds the copies that have the tag, and an original takes part in it
through these copies. With weights per original, the copies of an original that are in a
group become one value, so that an original with many copies counts no more than one
with a single copy, and the rows of a mean are originals. With weights per copy its rows
are pairs, and the originals are their clusters where some have several copies.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, cached_property
from typing import Literal, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from evalkit.base.terms import IntervalKind, MetricContext, Weight
from evalkit.inference.intervals import Floats, Integers
from evalkit.inference.resampling import unit_keys
from evalkit.plugins.bound import BoundMetric
from evalkit.plugins.classes import Metric
from evalkit.plugins.components import Component
from evalkit.plugins.registry import bind
from evalkit.robustness.copies import Copies
from evalkit.scoring.finalization import EXAMPLES
from evalkit.scoring.grouping import Groups, group_by_tag
from evalkit.scoring.metric import score_statistics
from evalkit.scoring.records import GroupScore, ScoringSettings
from evalkit.scoring.table import ScoringTable

Reduction = Literal["mean", "least", "greatest"]
"""What several copies of an original become."""

Mask = NDArray[np.bool_]


class Sample(NamedTuple):
    """The examples that originals are."""

    ids: pl.Series
    tags: pl.Series
    clusters: pl.Series | None
    """The data set's clusters; None where it has none."""
    counted: Mask
    """Whether an example's prediction counts."""


class Pairs:
    """The copies of all files, one after the other, with their originals.

    Args:
        copies: The files.
        counted: The statuses of copies that scores are about.
        sample: The examples that are evaluated.

    Attributes:
        sample: The same.
        originals: Position of the original of each pair.
        perturbations: What made the copy of each pair.
        tags: The tags of the copy of each pair.
        counted: Whether the prediction for the copy counts.
        starts: The number of the first pair of each file.
    """

    def __init__(
        self, copies: Sequence[Copies], counted: Sequence[str], sample: Sample
    ) -> None:
        self.sample = sample
        self.originals: Integers = np.concatenate([each.originals for each in copies])
        self.perturbations = pl.concat([each.perturbations for each in copies])
        self.tags = pl.concat([each.examples.frame["tags"] for each in copies])
        statuses = pl.concat([each.alignment.statuses for each in copies])
        self.counted: Mask = statuses.is_in(list(counted)).to_numpy()
        sizes = [len(each.originals) for each in copies]
        self.starts: list[int] = [0, *np.cumsum(sizes)[:-1].tolist()]

    @property
    def size(self) -> int:
        """How many pairs there are."""
        return len(self.originals)

    def made_by(self, perturbations: Sequence[str]) -> Mask:
        """Tell which copies some perturbations made."""
        made: Mask = self.perturbations.is_in(list(perturbations)).to_numpy()
        return made

    @cached_property
    def original_keys(self) -> NDArray[np.uint64]:
        """A number for each example that depends on its id alone."""
        return unit_keys(self.sample.ids, 0)


class Rows(NamedTuple):
    """What a mean is over: one row for each original, or pair, in each group."""

    group: Integers
    original: Integers
    value: Floats
    offered: Integers
    """How many pairs, or originals, each group has, by number; of which some may have
    no value."""
    used: Integers
    """How many of them took part."""
    are_originals: bool
    """Whether each original has one row in a group."""


class PairGroups:
    """The groups of some of the pairs.

    Args:
        pairs: All pairs.
        chosen: Which of them are in the groups.
        weight: What counts the same.

    Attributes:
        pairs: The same.
        tags: The tag of each group by number; None for all of the pairs.
        pair: The pair of each membership.
        group: The group of each membership.
        original: The original of each membership.
        by_original: Whether the rows of a mean are originals.
    """

    def __init__(self, pairs: Pairs, chosen: Mask, weight: Weight) -> None:
        self.pairs = pairs
        numbers = np.flatnonzero(chosen)
        groups = group_by_tag(pairs.tags.gather(numbers))
        self.tags = groups.tags
        self.pair: Integers = numbers[groups.position]
        self.group: Integers = groups.group.astype(np.int64)
        self.original: Integers = pairs.originals[self.pair]
        several = len(np.unique(pairs.originals[numbers])) < len(numbers)
        self.by_original = weight == "original" or not several

    def rows(self, values: Floats, chosen: Mask | None = None) -> Rows:
        """Make rows of the values of pairs; those of one original become their mean.

        Args:
            values: The value of each pair, of shape (pairs,); NaN for none.
            chosen: Which pairs could have a value, for the coverage; all by default.

        Returns:
            The rows.
        """
        found = values[self.pair]
        offered = np.ones(len(found), dtype=bool)
        if chosen is not None:
            offered = chosen[self.pair]
        used = np.isfinite(found) & offered
        counts = self._per_group(offered), self._per_group(used)
        group, original, value = self.group[used], self.original[used], found[used]
        if self.by_original:
            group, original, value = self._reduced(group, original, value, "mean")
        return Rows(group, original, value, *counts, self.by_original)

    def rows_of_originals(self, values: Floats) -> Rows:
        """Make rows of the values of the originals that have a pair.

        Args:
            values: The value of each original, of shape (examples,); NaN for none.

        Returns:
            The rows.
        """
        group, original = self.group, self.original
        if self.by_original:
            group, original, _ = self._reduced(
                group, original, np.zeros(len(group)), "mean"
            )
        value = values[original]
        used = np.isfinite(value)
        offered = np.bincount(group, minlength=len(self.tags))
        taken = np.bincount(group[used], minlength=len(self.tags))
        return Rows(
            group[used],
            original[used],
            value[used],
            offered,
            taken,
            self.by_original,
        )

    def extremes(self, values: Floats, reduction: Reduction) -> Rows:
        """Make a row of each original: the least or greatest value of its pairs.

        Args:
            values: The value of each pair, of shape (pairs,); NaN for none.
            reduction: Which of them.

        Returns:
            The rows, whatever the weight.
        """
        found = values[self.pair]
        used = np.isfinite(found)
        counts = self._per_group(np.ones(len(found), dtype=bool)), self._per_group(used)
        reduced = self._reduced(
            self.group[used], self.original[used], found[used], reduction
        )
        return Rows(*reduced, *counts, True)

    def _per_group(self, chosen: Mask) -> Integers:
        return np.bincount(self.group[chosen], minlength=len(self.tags))

    def _reduced(
        self, group: Integers, original: Integers, value: Floats, reduction: Reduction
    ) -> tuple[Integers, Integers, Floats]:
        return reduce_values(
            group, original, value, len(self.pairs.sample.ids), reduction
        )


def reduce_values(
    group: Integers,
    original: Integers,
    value: Floats,
    examples: int,
    reduction: Reduction,
) -> tuple[Integers, Integers, Floats]:
    """Make one value of those of each original in each group.

    Args:
        group: The group of each value.
        original: The original of each value, below `examples`.
        value: The values.
        examples: How many originals there may be.
        reduction: What they become.

    Returns:
        Group, original and value, sorted by the first two.
    """
    code = group * np.int64(max(examples, 1)) + original
    # sorted by value, so that rounding does not depend on the order of copies
    order = np.lexsort((value, code))
    code, value = code[order], value[order]
    if not len(code):
        return group, original, value
    first = np.flatnonzero(np.concatenate([[True], code[1:] != code[:-1]]))
    if reduction == "least":
        value = value[first]
    elif reduction == "greatest":
        value = value[np.append(first[1:], len(value)) - 1]
    else:
        counts = np.diff(np.append(first, len(value)))
        value = np.add.reduceat(value, first) / counts
    chosen = order[first]
    return group[chosen], original[chosen], value


class Mean(Metric):
    """The mean of numbers, each of which stands in place of a prediction."""

    def score_example(self, prediction: float) -> float:
        """Give the number itself."""
        return prediction


class _Share(Mean):
    """The mean of numbers which is a share where they are zeros and ones."""

    interval = "wilson"


class _StudentMean(Mean):
    """A mean with Student's interval."""

    interval = "t"


class _BareMean(Mean):
    """A mean without interval."""

    interval = "none"


_MEANS: dict[IntervalKind, type[Mean]] = {
    "wilson": _Share,
    "t": _StudentMean,
    "none": _BareMean,
}


@cache
def _bound_mean(interval: IntervalKind) -> BoundMetric:
    kind = _MEANS.get(interval, _StudentMean)
    component = Component(
        "metrics", "mean", f"{__name__}:{kind.__name__}", "evalkit-core", "0"
    )
    return BoundMetric.of(bind(component, kind))


def score_rows(
    rows: Rows,
    groups: PairGroups,
    interval: IntervalKind,
    settings: ScoringSettings,
    tags: Sequence[str | None] | None = None,
) -> list[GroupScore]:
    """Compute the mean of each group, with the interval that fits.

    Args:
        rows: What the means are over.
        groups: The groups of pairs that they are of.
        interval: `wilson` where the values may be zeros and ones, `t`, or `none`.
        settings: Probability of the intervals.
        tags: The tags of the groups, where they are not those of the pairs.

    Returns:
        A score for each group, with its coverage.
    """
    count = len(rows.value)
    statistics = pl.DataFrame(
        {
            "position": np.arange(count, dtype=np.uint32),
            "score": rows.value,
            EXAMPLES: np.ones(count),
        }
    )
    names = groups.tags if tags is None else tuple(tags)
    members = Groups(
        names,
        np.arange(count, dtype=np.uint32),
        rows.group.astype(np.uint32),
        {},
    )
    table = ScoringTable(
        statistics.select("position"),
        [""] * count,
        clusters_of(groups.pairs, rows.original, rows.are_originals),
        MetricContext(None, "one"),
    )
    found = score_statistics(
        _bound_mean(interval), statistics, table, members, settings
    )
    return [
        score._replace(coverage=_coverage(rows, score.group)) for score in found.scores
    ]


def clusters_of(
    pairs: Pairs, originals: Integers, are_originals: bool
) -> pl.Series | None:
    """Give the cluster of each row of a mean; None for independent rows.

    Args:
        pairs: All pairs.
        originals: The original of each row.
        are_originals: Whether each original has one row.

    Returns:
        The data set's clusters; else the originals, where they have several rows each.
    """
    if pairs.sample.clusters is not None:
        return pairs.sample.clusters.gather(originals)
    if are_originals:
        return None
    return pl.Series("cluster", pairs.original_keys[originals])


def _coverage(rows: Rows, group: int) -> float | None:
    offered = int(rows.offered[group])
    return int(rows.used[group]) / offered if offered else None
