"""Scores of whole sets under perturbation: macro-F1 and other functions of sums.

If k perturbed examples of an original are in a group, the statistics of each count 1/k.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from functools import cached_property
from itertools import groupby
from typing import NamedTuple

import numpy as np
import polars as pl

from evalkit.base.columns import all_named
from evalkit.catalog import BoundMetric
from evalkit.errors import MetricError
from evalkit.runs.scores import shown_as
from evalkit.scoring import GroupScore, Outcomes, ScoringTable, score_statistics
from evalkit.scoring.group_intervals import NO_INTERVAL, NO_SUM
from evalkit.scoring.lists import score_lists
from evalkit.scoring.passes import value_columns
from evalkit.scoring.records import no_outcomes
from evalkit.statistics.clusters import Floats, Integers
from evalkit.statistics.intervals import without_interval
from evalkit.statistics.resampling import unit_keys
from evalkit_analysis_robustness.drops import SetDrops, TestedDrops
from evalkit_analysis_robustness.means import clusters_of, numbered_groups, share_of
from evalkit_analysis_robustness.pairs import Mask, PairGroups
from evalkit_analysis_robustness.perturbations import View
from evalkit_analysis_robustness.quantities import (
    Paired,
    Quantity,
    as_drop,
    without_value,
)

UNEQUAL = (
    "originals have different numbers of copies, and the metric's statistics cannot be "
    "weighted"
)
"""Why there is no score if originals have different numbers of perturbed examples."""

NO_WORST = "only whole sets have this score, not single examples"

_NO_LIST_INTERVAL = "functions of lists are not resampled under perturbation"


class Members(NamedTuple):
    """What a set-level score is computed from: entries of groups."""

    base: Integers
    """Position of the statistics of each entry."""
    group: Integers
    original: Integers
    weight: Floats
    offered: Integers
    """How many entries each group could have, by number."""

    @property
    def are_several(self) -> bool:
        """Whether an original has several entries in a group."""
        both = np.stack([self.group, self.original])
        return bool(np.unique(both, axis=1).shape[1] < len(self.group))

    def only(self, kept: Mask) -> Members:
        """Return some of the entries."""
        return self._replace(
            base=self.base[kept],
            group=self.group[kept],
            original=self.original[kept],
            weight=self.weight[kept],
        )


class SetQuantities:
    """The quantities of the scores of one metric that are of whole sets.

    Args:
        metric: A metric with scores of whole sets.
        paired: The pairs.
        statistics: Its statistics of the originals and of the perturbed examples; None
            for a function of lists.
        parts: Names of these scores within the metric.
    """

    def __init__(
        self,
        metric: BoundMetric,
        paired: Paired,
        statistics: tuple[pl.DataFrame, pl.DataFrame] | None,
        parts: Collection[str],
    ) -> None:
        self._metric = metric
        self._paired = paired
        self._tables = paired.tables
        self._settings = paired.settings
        self._statistics = statistics
        self._parts = parts

    def of(self, view: View, groups: PairGroups) -> Iterator[Quantity]:
        """Score the originals, the perturbed examples, and their difference."""
        shown = shown_as(self._metric)
        try:
            before, after, drops, tested = self._scored(groups)
        except MetricError as error:
            for name in ("original", "perturbed", "drop"):
                nothing = without_value(str(error))
                yield Quantity(name, groups.tags, nothing, shown)
        else:
            yield Quantity("original", groups.tags, self._chosen(before), shown)
            yield Quantity("perturbed", groups.tags, self._chosen(after), shown)
            yield Quantity("drop", groups.tags, drops, as_drop(shown), tested)
        if "" in self._parts:
            yield Quantity("worst", groups.tags, without_value(NO_WORST), shown)

    def _chosen(self, scores: list[GroupScore]) -> list[GroupScore]:
        return [score for score in scores if score.score in self._parts]

    def _scored(
        self, groups: PairGroups
    ) -> tuple[list[GroupScore], list[GroupScore], list[GroupScore], TestedDrops]:
        """Score the originals, the perturbed examples, and the drops."""
        originals, perturbed = self._members(groups)
        before = self._scores(originals, 0, groups)
        weighted = self._weighted(perturbed)
        if weighted is None:
            nothing = without_value(UNEQUAL)
            return before, nothing, nothing, [None]
        after = self._scores(weighted, 1, groups)
        matched = self._matched(originals, weighted)
        compared = before, after
        if len(matched[0].base) + len(matched[1].base) != (
            len(originals.base) + len(weighted.base)
        ):
            compared = (
                self._scores(matched[0], 0, groups),
                self._scores(matched[1], 1, groups),
            )
        drops = self._chosen(_drops(*compared))
        return before, after, *self._tested(drops, matched)

    def _members(self, groups: PairGroups) -> tuple[Members, Members]:
        once, everyone = groups.once, np.arange(len(groups.group))
        sides = []
        for base, places, has_rows in zip(
            (groups.original[once], groups.pair),
            (once, everyone),
            self._has_rows,
            strict=True,
        ):
            group, original = groups.group[places], groups.original[places]
            offered = np.bincount(group, minlength=len(groups.tags))
            members = Members(base, group, original, np.ones(len(base)), offered)
            sides.append(members.only(has_rows[base]))
        return sides[0], sides[1]

    def _weighted(self, perturbed: Members) -> Members | None:
        """Let entries count 1/k if their numbers differ; None if they cannot."""
        code = perturbed.group * np.int64(len(self._has_rows[0])) + perturbed.original
        _, place, counts = np.unique(code, return_inverse=True, return_counts=True)
        if not len(counts) or counts.min() == counts.max():
            return perturbed
        return perturbed._replace(weight=1.0 / counts[place]) if self._adds_up else None

    @cached_property
    def _adds_up(self) -> bool:
        if self._statistics is None:
            return False
        merges = self._metric.merges
        columns = value_columns(self._metric, self._statistics[1])
        return all(merges.get(name, "sum") == "sum" for name in columns)

    @cached_property
    def _has_rows(self) -> tuple[Mask, Mask]:
        pairs = self._tables.pairs
        if self._statistics is None:
            return pairs.sample.counted, pairs.counted
        masks = []
        sizes = (len(pairs.sample.ids), pairs.size)
        for statistics, size in zip(self._statistics, sizes, strict=True):
            mask = np.zeros(size, dtype=bool)
            mask[statistics["position"].to_numpy()] = True
            masks.append(mask)
        return masks[0], masks[1]

    def _matched(self, before: Members, after: Members) -> tuple[Members, Members]:
        """Leave out originals without a scored perturbed example, and vice versa."""
        size = np.int64(len(self._has_rows[0]))
        codes = [side.group * size + side.original for side in (before, after)]
        return (
            before.only(np.isin(codes[0], codes[1])),
            after.only(np.isin(codes[1], codes[0])),
        )

    def _scores(
        self, members: Members, part: int, groups: PairGroups
    ) -> list[GroupScore]:
        pairs = self._tables.pairs
        own = numbered_groups(groups.tags, members.group)
        clusters = clusters_of(pairs, members.original)
        if clusters is None and members.are_several:
            keys = unit_keys(pairs.sample.ids, 0)[members.original]
            clusters = pl.Series("cluster", keys)
        table = ScoringTable(
            pl.DataFrame({"position": np.arange(len(members.base), dtype=np.uint32)}),
            pairs.sample.ids.gather(members.original).to_list(),
            clusters,
            self._tables.originals.context,
        )
        if self._statistics is None:
            found = score_lists(
                self._metric,
                table._replace(frame=self._lists(members, part)),
                own,
                self._settings,
                lambda _: None,
            )
        else:
            outcomes = Outcomes(self._expanded(members, part), no_outcomes())
            found = score_statistics(self._metric, outcomes, table, own, self._settings)
        count = len(groups.tags)
        used = np.bincount(members.group, minlength=count)
        distinct = np.unique(np.stack([members.group, members.original]), axis=1)
        n = np.bincount(distinct[0], minlength=count)
        is_clustered = pairs.sample.clusters is not None
        return [
            score._replace(
                n=int(n[score.group]),
                n_clusters=score.n_clusters if is_clustered else None,
                coverage=share_of(used[score.group], members.offered[score.group]),
            )
            for score in found.scores
        ]

    def _expanded(self, members: Members, part: int) -> pl.DataFrame:
        """Return the statistics of each entry, at the entry's own position."""
        assert self._statistics is not None
        statistics = self._statistics[part].rename({"position": "__base"})
        entries = pl.DataFrame(
            {
                "__base": members.base.astype(np.int64),
                "position": np.arange(len(members.base), dtype=np.uint32),
                "__weight": members.weight,
            }
        )
        found = entries.join(
            statistics.with_columns(pl.col("__base").cast(pl.Int64)),
            on="__base",
            maintain_order="left_right",
        )
        if (members.weight != 1).any():
            columns = value_columns(self._metric, self._statistics[part])
            found = found.with_columns(
                all_named(columns).as_expr() * pl.col("__weight")
            )
        return found.drop("__base", "__weight")

    def _lists(self, members: Members, part: int) -> pl.DataFrame:
        """Return the prediction and the target of each entry."""
        tables = self._tables
        frame = tables.originals.frame if part == 0 else tables.all_perturbed
        columns = frame.select("prediction", "target")[members.base]
        return columns.with_columns(position=pl.int_range(pl.len(), dtype=pl.UInt32))

    def _tested(
        self,
        drops: list[GroupScore],
        matched: tuple[Members, Members],
    ) -> tuple[list[GroupScore], TestedDrops]:
        """Add intervals to drops, and test them."""
        reason = None
        if self._statistics is None:
            reason = _NO_LIST_INTERVAL
        elif self._metric.interval_kind == "none":
            reason = NO_INTERVAL
        elif not self._adds_up:
            reason = NO_SUM
        if reason is not None:
            nothing = without_interval(reason)
            found = [
                drop if drop.value is None else drop._replace(interval=nothing)
                for drop in drops
            ]
            return found, [None] * len(drops)
        sides = [
            self._summed(members, part)
            for part, members in enumerate(_of_equal_weight(*matched))
        ]
        context = self._tables.originals.context
        computed = SetDrops(
            self._metric,
            (sides[0], sides[1]),
            self._paired.units,
            context,
            self._settings.confidence,
        )
        done: dict[tuple[int, str], tuple[GroupScore, TestedDrops]] = {}
        valued = sorted(
            (drop for drop in drops if drop.value is not None),
            key=lambda drop: drop.group,
        )
        for _, several in groupby(valued, key=lambda drop: drop.group):
            for drop, tested in computed.of_group([*several], self._settings.fewest):
                done[drop.group, drop.score] = drop, [tested]
        pairs = [done.get((drop.group, drop.score), (drop, [None])) for drop in drops]
        return [drop for drop, _ in pairs], [tested[0] for _, tested in pairs]

    def _summed(self, members: Members, part: int) -> pl.DataFrame:
        """Return the statistics of each entry with its group and its original."""
        statistics = self._expanded(members, part)
        position = statistics["position"].to_numpy()
        return statistics.drop("position").with_columns(
            group=pl.Series(members.group[position]),
            example=pl.Series(members.original[position]),
            replication=pl.lit(0, dtype=pl.Int64),
        )


def _of_equal_weight(before: Members, after: Members) -> tuple[Members, Members]:
    """Let the perturbed examples of an original count together as much as it does."""
    size = np.int64(max(1, int(before.original.max(initial=0)) + 1))
    code = after.group * size + after.original
    _, place, counts = np.unique(code, return_inverse=True, return_counts=True)
    weight = 1.0 / counts[place] if len(counts) else after.weight
    return before, after._replace(weight=weight)


def _drops(before: list[GroupScore], after: list[GroupScore]) -> list[GroupScore]:
    others = {(score.group, score.score): score for score in after}
    found = []
    for first in before:
        second = others.get((first.group, first.score))
        if second is None:
            continue
        value = None
        if first.value is not None and second.value is not None:
            value = first.value - second.value
        found.append(
            second._replace(
                value=value,
                interval=without_interval("there is no value"),
                reason=None if value is not None else first.reason or second.reason,
                flag=None,
                spread=None,
            )
        )
    return found
