"""What per-example scores of originals and copies amount to, quantity by quantity."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np
import polars as pl

from evalkit.base.terms import IntervalKind, Weight
from evalkit.errors import MetricError
from evalkit.inference.intervals import Floats, without_interval
from evalkit.parallel.workers import Workers
from evalkit.plugins.bound import BoundMetric
from evalkit.robustness.effects import View
from evalkit.robustness.pairs import (
    Mask,
    PairGroups,
    Reduction,
    Rows,
    reduce_values,
    score_rows,
)
from evalkit.robustness.shares import is_share, score_share_drops
from evalkit.robustness.tested_drops import DropLevels, TestedDrops, mean_differences
from evalkit.robustness.units import PerturbedUnits, units_of
from evalkit.robustness.values import PerturbedTables
from evalkit.scoring.evidence import interval_kind
from evalkit.scoring.grouping import WHOLE, group_by_tag
from evalkit.scoring.records import GroupScore, ScoringSettings

NO_DIRECTION = "the metric does not say whether higher is better"


class Effects(NamedTuple):
    """What is asked about the copies."""

    tables: PerturbedTables
    views: Sequence[View]
    expected: Mapping[str, Floats]
    """What `expect` says of each pair, 1 or 0 (nan where it does not apply), by the
    perturbation that implements it."""
    weight: Weight
    settings: ScoringSettings
    split: str

    def levels(self, view: View, groups: PairGroups) -> DropLevels:
        """Give the levels that the tests of a perturbation or family must decide at.

        Args:
            view: The perturbation or family.
            groups: The groups of its pairs.
        """
        confidence, fewest = self.settings.confidence, self.settings.fewest
        alike = sum(each.is_family == view.is_family for each in self.views)
        sizes = np.bincount(groups.group, minlength=len(groups.tags))
        large = int((sizes[WHOLE + 1 :] >= fewest).sum())
        return DropLevels(confidence, alike, large, fewest)


class ExampleValues(NamedTuple):
    """The per-example scores of one metric."""

    original: Floats
    """By example; nan for none."""
    perturbed: Floats
    """By pair; nan for none."""


class Shown(NamedTuple):
    """How a score is read."""

    unit: str
    scale: float
    higher_is_better: bool | None


_SHARE = Shown("%", 100.0, True)


class Quantity(NamedTuple):
    """One quantity under one perturbation."""

    computed_on: str
    tags: Sequence[str | None]
    """The tag of each group by number."""
    scores: list[GroupScore]
    shown: Shown
    tested: TestedDrops = ()
    """Of drops: the test of each score; empty where there are none."""


def shown_as(metric: BoundMetric) -> Shown:
    """Say how the scores of a metric are read."""
    return Shown(metric.unit, metric.scale, metric.higher_is_better)


def as_drop(shown: Shown) -> Shown:
    """Say how a drop is read: more of it is worse where a higher score is better."""
    better = shown.higher_is_better
    return shown._replace(higher_is_better=None if better is None else not better)


def without_value(reason: str) -> list[GroupScore]:
    """Give the score of the whole set that has no value."""
    nothing = without_interval("there is no value")
    return [GroupScore("", WHOLE, None, 0, None, nothing, reason)]


class ExampleQuantities:
    """The quantities of one metric with per-example scores.

    Args:
        metric: The metric.
        values: Its scores.
        effects: The copies, and what is asked about them.
        agreement: The metric's score of each pair with the model's own prediction as
            target; or why there is none.
    """

    def __init__(
        self,
        metric: BoundMetric,
        values: ExampleValues,
        effects: Effects,
        agreement: Floats | str,
    ) -> None:
        self._metric = metric
        self._effects = effects
        self._agreement = agreement
        self._original, self._perturbed = values
        self._pairs = effects.tables.pairs
        self._before = self._original[self._pairs.originals]
        self._interval = interval_kind(metric)
        self._shown = shown_as(metric)

    def of(self, view: View, groups: PairGroups) -> Iterator[Quantity]:
        """Give the quantities that every metric has.

        Args:
            view: A perturbation or a family.
            groups: The groups of its pairs.

        Yields:
            One after the other.
        """
        plain = self._interval
        yield self._quantity(
            "original", groups, groups.rows_of_originals(self._original), plain
        )
        yield self._quantity("perturbed", groups, groups.rows(self._perturbed), plain)
        yield self._drop(view, groups)
        if view.invariant:
            yield self._agreement_of(view, groups)
        yield from self._worst(view, groups)

    def _quantity(
        self,
        computed_on: str,
        groups: PairGroups,
        rows: Rows,
        interval: IntervalKind,
        tags: Sequence[str | None] | None = None,
    ) -> Quantity:
        settings = self._effects.settings
        scores = score_rows(rows, groups, interval, settings, tags)
        return Quantity(computed_on, tags or groups.tags, scores, self._shown)

    def _drop(self, view: View, groups: PairGroups) -> Quantity:
        rows = groups.rows(self._before - self._perturbed)
        settings = self._effects.settings
        shown = as_drop(self._shown)
        if self._interval == "none":
            scores = score_rows(rows, groups, "none", settings)
            return Quantity("drop", groups.tags, scores, shown)
        shares = is_share(self._metric)
        if shares:
            scores = score_share_drops(rows, groups, settings)
        else:
            scores = score_rows(rows, groups, "t", settings)
        levels = self._effects.levels(view, groups)
        tested = mean_differences(
            scores,
            rows,
            self._units,
            levels,
            clustered=self._pairs.sample.clusters is not None,
            shares=shares,
        )
        return Quantity("drop", groups.tags, scores, shown, tested)

    @cached_property
    def _units(self) -> PerturbedUnits:
        return units_of(self._pairs.sample, self._effects.settings.seed)

    def _agreement_of(self, view: View, groups: PairGroups) -> Quantity:
        if isinstance(self._agreement, str):
            scores = without_value(self._agreement)
            return Quantity("agreement", groups.tags, scores, self._shown)
        chosen = self._pairs.made_by(view.invariant)
        rows = groups.rows(self._agreement, chosen)
        return self._quantity("agreement", groups, rows, self._interval)

    def _worst(self, view: View, groups: PairGroups) -> Iterator[Quantity]:
        better = self._shown.higher_is_better
        if better is None:
            scores = without_value(NO_DIRECTION)
            yield Quantity("worst", groups.tags, scores, self._shown)
            return
        choose = np.minimum if better else np.maximum
        worse: Floats = choose(self._before, self._perturbed)
        reduction: Reduction = "least" if better else "greatest"
        rows = groups.extremes(worse, reduction)
        yield self._quantity("worst", groups, rows, self._interval)
        if view.is_family:
            rows, tags = self._worst_of_all(groups, worse, reduction)
            yield self._quantity("worst-of-all", groups, rows, self._interval, tags)

    def _worst_of_all(
        self, groups: PairGroups, worse: Floats, reduction: Reduction
    ) -> tuple[Rows, Sequence[str | None]]:
        """Make rows of all examples; those without a copy have their own score."""
        sample = self._pairs.sample
        numbers = np.unique(groups.pair)
        # a pair that does not count must not be the worst, nor make its original alone
        last = np.inf if reduction == "least" else -np.inf
        of_pairs = np.where(np.isfinite(worse[numbers]), worse[numbers], last)
        is_alone = np.ones(len(sample.ids), dtype=bool)
        is_alone[self._pairs.originals[numbers]] = False
        alone = np.flatnonzero(is_alone)
        tags = [self._pairs.tags.gather(numbers), sample.tags.gather(alone)]
        everyone = group_by_tag(pl.concat([each.alias("tags") for each in tags]))
        originals = np.concatenate([self._pairs.originals[numbers], alone])
        values = np.concatenate([of_pairs, self._original[alone]])
        member = everyone.position.astype(np.int64)
        group, original, value = reduce_values(
            everyone.group.astype(np.int64),
            originals[member],
            values[member],
            len(sample.ids),
            reduction,
        )
        used = np.isfinite(value)
        count = len(everyone.tags)
        rows = Rows(
            group[used],
            original[used],
            value[used],
            np.bincount(group, minlength=count),
            np.bincount(group[used], minlength=count),
            True,
        )
        return rows, everyone.tags


class Judgements(ExampleQuantities):
    """The quantities of the metric that tells right from wrong, as 1 and 0."""

    def of_judge(self, view: View, groups: PairGroups) -> Iterator[Quantity]:
        """Give what only right and wrong answers have.

        Args:
            view: A perturbation or a family.
            groups: The groups of its pairs.

        Yields:
            Flips; of a perturbation expected changes and consistency, too.
        """
        if not view.is_family:
            yield from self._judged(view, groups)
        for name, is_flip, better in self._flips():
            found = self._quantity(name, groups, groups.rows(is_flip), "wilson")
            yield found._replace(shown=_SHARE._replace(higher_is_better=better))

    def _judged(self, view: View, groups: PairGroups) -> Iterator[Quantity]:
        rows = self._expected(view, groups)
        if rows is not None:
            found = self._quantity("expected", groups, rows, "wilson")
            yield found._replace(shown=_SHARE)
        if view.transforming:
            both = np.minimum(self._before, self._perturbed)
            rows = groups.extremes(both, "least")
            found = self._quantity("consistency", groups, rows, "wilson")
            yield found._replace(shown=_SHARE)

    def _expected(self, view: View, groups: PairGroups) -> Rows | None:
        told = self._effects.expected.get(view.name)
        if told is not None:
            return groups.rows(told, np.isfinite(told))
        if not view.transforming:
            return None
        was_right: Mask = self._before == 1
        return groups.rows(np.where(was_right, self._perturbed, np.nan), was_right)

    def _flips(self) -> Iterator[tuple[str, Floats, bool | None]]:
        before, after = self._before, self._perturbed
        known = np.isfinite(before) & np.isfinite(after)
        both_wrong = known & (before == 0) & (after == 0)
        other = self._effects.tables.differ(both_wrong)
        for name, is_flip, better in (
            ("right-to-wrong", (before == 1) & (after == 0), False),
            ("wrong-to-right", (before == 0) & (after == 1), True),
            ("wrong-to-other-wrong", other, None),
        ):
            yield name, np.where(known, is_flip.astype(np.float64), np.nan), better


def agreement_of(
    metric: BoundMetric, effects: Effects, workers: Workers
) -> Floats | str:
    """Score all copies of invariant perturbations against the model's own predictions.

    Args:
        metric: A metric with per-example scores.
        effects: The copies.
        workers: Processes that may share the work.

    Returns:
        The scores by pair; why there are none where the metric cannot give them.
    """
    invariant = {name for view in effects.views for name in view.invariant}
    chosen = effects.tables.pairs.made_by(sorted(invariant))
    try:
        return effects.tables.agreement(metric, chosen, workers)
    except MetricError as error:
        return str(error)
