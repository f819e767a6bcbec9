"""What per-example scores of originals and copies amount to, quantity by quantity."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import polars as pl

from evalkit.catalog import BoundMetric
from evalkit.errors import MetricError
from evalkit.parallel import Workers
from evalkit.runs.scores import Shown, shown_as
from evalkit.scoring import GroupScore, ScoringSettings, group_by_tag
from evalkit.scoring.grouping import WHOLE
from evalkit.scoring.table import Units
from evalkit.statistics.clusters import Floats
from evalkit.statistics.intervals import without_interval
from evalkit_analysis_robustness.drops import TestedDrops, mean_drops
from evalkit_analysis_robustness.means import score_rows
from evalkit_analysis_robustness.pairs import (
    Mask,
    PairGroups,
    Reduction,
    Rows,
    reduce_values,
)
from evalkit_analysis_robustness.perturbations import View
from evalkit_analysis_robustness.values import PairedTables

NO_DIRECTION = "the metric does not say whether higher is better"


class Paired(NamedTuple):
    """The pairs, and how they are scored."""

    tables: PairedTables
    views: Sequence[View]
    expected: Mapping[str, Floats]
    """What `expect` says of each pair, 1 or 0 (nan where it does not apply), by the
    perturbation that implements it."""
    settings: ScoringSettings
    split: str
    units: Units
    """The unit of each original."""


class ExampleValues(NamedTuple):
    """The per-example scores of one metric."""

    original: Floats
    """By example; nan for none."""
    perturbed: Floats
    """By pair; nan for none."""


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


def as_drop(shown: Shown) -> Shown:
    """Say how a drop is read: more of it is worse where a higher score is better."""
    better = shown.higher_is_better
    return shown._replace(higher_is_better=None if better is None else not better)


def without_value(reason: str) -> list[GroupScore]:
    """Return the score of the whole set that has no value."""
    nothing = without_interval("there is no value")
    return [GroupScore("", WHOLE, None, 0, None, nothing, reason)]


class _Declared(NamedTuple):
    """A mean over pairs that is asked for."""

    computed_on: str
    values: Floats
    """The value of each pair; nan for none."""
    chosen: Mask | None = None
    """Which pairs could have a value; None for all."""
    reduction: Reduction = "mean"
    """What several copies of an original become."""
    shown: Shown = _SHARE


class ExampleQuantities:
    """The quantities of one metric with per-example scores.

    Args:
        metric: The metric.
        values: Its scores.
        paired: The pairs.
        agreement: The metric's score of each pair with the model's own prediction as
            target; or why there is none.
    """

    def __init__(
        self,
        metric: BoundMetric,
        values: ExampleValues,
        paired: Paired,
        agreement: Floats | str,
    ) -> None:
        self._metric = metric
        self._paired = paired
        self._agreement = agreement
        self._original, self._perturbed = values
        self._pairs = paired.tables.pairs
        self._before = self._original[self._pairs.originals]
        self._interval = metric.interval_kind
        self._shown = shown_as(metric)

    def of(self, view: View, groups: PairGroups) -> Iterator[Quantity]:
        """Return the quantities that every metric has."""
        rows = groups.rows_of_originals(self._original)
        yield self._scored("original", groups, rows)
        yield self._scored("perturbed", groups, groups.rows(self._perturbed))
        yield self._drop(groups)
        if view.invariant and isinstance(self._agreement, str):
            nothing = without_value(self._agreement)
            yield Quantity("agreement", groups.tags, nothing, self._shown)
        elif view.invariant:
            chosen = self._pairs.made_by(view.invariant)
            rows = groups.rows(np.asarray(self._agreement), chosen)
            yield self._scored("agreement", groups, rows)
        yield from self._worst(view, groups)

    def of_judge(self, view: View, groups: PairGroups) -> Iterator[Quantity]:
        """Return what only the metric has that tells right from wrong, as 1 and 0."""
        declared = [] if view.is_family else [*self._as_it_should_be(view)]
        for one in [*declared, *self._flips()]:
            rows = groups.rows(one.values, one.chosen, one.reduction)
            settings = self._paired.settings
            scores = score_rows(rows, groups, "wilson", settings)
            yield Quantity(one.computed_on, groups.tags, scores, one.shown)

    def _scored(
        self,
        computed_on: str,
        groups: PairGroups,
        rows: Rows,
        tags: Sequence[str | None] | None = None,
    ) -> Quantity:
        settings = self._paired.settings
        scores = score_rows(rows, groups, self._interval, settings, tags)
        return Quantity(computed_on, tags or groups.tags, scores, self._shown)

    def _drop(self, groups: PairGroups) -> Quantity:
        rows = groups.rows(self._before - self._perturbed)
        settings = self._paired.settings
        shown = as_drop(self._shown)
        if self._interval == "none":
            scores = score_rows(rows, groups, "none", settings)
            return Quantity("drop", groups.tags, scores, shown)
        scores, tested = mean_drops(
            score_rows(rows, groups, "none", settings),
            rows,
            self._paired.units,
            settings.fewest,
            settings.confidence,
            shares=tuple(self._metric.bounds or ()) == (0, 1),
        )
        return Quantity("drop", groups.tags, scores, shown, tested)

    def _worst(self, view: View, groups: PairGroups) -> Iterator[Quantity]:
        better = self._shown.higher_is_better
        if better is None:
            scores = without_value(NO_DIRECTION)
            yield Quantity("worst", groups.tags, scores, self._shown)
            return
        choose = np.minimum if better else np.maximum
        worse: Floats = choose(self._before, self._perturbed)
        reduction: Reduction = "least" if better else "greatest"
        rows = groups.rows(worse, reduction=reduction)
        yield self._scored("worst", groups, rows)
        if view.is_family:
            rows, tags = self._worst_of_all(groups, worse, reduction)
            yield self._scored("worst-of-all", groups, rows, tags)

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
        )
        return rows, everyone.tags

    def _as_it_should_be(self, view: View) -> Iterator[_Declared]:
        told = self._paired.expected.get(view.name)
        if told is not None:
            yield _Declared("expected", told, np.isfinite(told))
        elif view.transforming:
            was_right: Mask = self._before == 1
            after = np.where(was_right, self._perturbed, np.nan)
            yield _Declared("expected", after, was_right)
        if view.transforming:
            both = np.minimum(self._before, self._perturbed)
            yield _Declared("consistency", both, reduction="least")

    def _flips(self) -> Iterator[_Declared]:
        before, after = self._before, self._perturbed
        known = np.isfinite(before) & np.isfinite(after)
        other = self._paired.tables.differ(known & (before == 0) & (after == 0))
        for name, is_flip, better in (
            ("right-to-wrong", (before == 1) & (after == 0), False),
            ("wrong-to-right", (before == 0) & (after == 1), True),
            ("wrong-to-other-wrong", other, None),
        ):
            values = np.where(known, is_flip.astype(np.float64), np.nan)
            shown = _SHARE._replace(higher_is_better=better)
            yield _Declared(name, values, shown=shown)


def agreement_of(metric: BoundMetric, paired: Paired, workers: Workers) -> Floats | str:
    """Score all invariant perturbations against the model's own predictions."""
    invariant = {name for view in paired.views for name in view.invariant}
    chosen = paired.tables.pairs.made_by(sorted(invariant))
    try:
        return paired.tables.agreement(metric, chosen, workers)
    except MetricError as error:
        return str(error)
