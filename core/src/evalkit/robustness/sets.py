"""Scores of whole sets under perturbation: macro-F1 and other functions of sums.

With weights per original the statistics of a copy count 1/k, where k copies of its
original are in the group.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from functools import cached_property
from typing import NamedTuple

import numpy as np
import polars as pl

from evalkit.base.columns import all_named
from evalkit.errors import MetricError
from evalkit.inference.intervals import Floats, Integers, without_interval
from evalkit.plugins.bound import BoundMetric
from evalkit.robustness.drops import DropIntervals
from evalkit.robustness.effects import View
from evalkit.robustness.means import clusters_of, numbered_groups, share_of
from evalkit.robustness.pairs import Mask, PairGroups
from evalkit.robustness.quantities import Effects, Quantity, as_drop, without_value
from evalkit.robustness.tested_drops import DropLevels, GroupedStatistics
from evalkit.runs.scores import shown_as
from evalkit.scoring.calls import value_columns
from evalkit.scoring.evidence import interval_kind
from evalkit.scoring.group_intervals import NO_INTERVAL, NO_SUM
from evalkit.scoring.lists import score_lists
from evalkit.scoring.metric import score_statistics
from evalkit.scoring.records import GroupScore
from evalkit.scoring.table import ScoringTable
from evalkit_analysis_compare.differences import Difference

UNEQUAL = (
    "originals have different numbers of copies, and the metric's statistics cannot be "
    "weighted (--weight copy counts every copy once)"
)
"""Why there is no score with weights per original."""

NO_WORST = "only whole sets have this score, not single examples"

_NO_LIST_INTERVAL = "functions of lists are not resampled under perturbation"

_Drop = tuple[GroupScore, Difference | None]
"""A drop of a set-level score and its test; None where it cannot be tested."""


class Members(NamedTuple):
    """What a set-level score is computed from: entries of groups."""

    base: Integers
    """Position of the statistics of each entry."""
    group: Integers
    original: Integers
    weight: Floats
    are_originals: bool
    """Whether each original has one entry in a group."""
    offered: Integers
    """How many entries each group could have, by number."""

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
        effects: The copies, and what is asked about them.
        statistics: Its statistics of the originals and of the copies; None for a
            function of lists.
        parts: Names of these scores within the metric.
    """

    def __init__(
        self,
        metric: BoundMetric,
        effects: Effects,
        statistics: tuple[pl.DataFrame, pl.DataFrame] | None,
        parts: Collection[str],
    ) -> None:
        self._metric = metric
        self._effects = effects
        self._tables = effects.tables
        self._settings = effects.settings
        self._statistics = statistics
        self._parts = parts

    def of(self, view: View, groups: PairGroups) -> Iterator[Quantity]:
        """Score the originals, the copies, and their difference.

        Args:
            view: A perturbation or a family.
            groups: The groups of its pairs.

        Yields:
            One quantity after the other; without values where the metric failed.
        """
        shown = shown_as(self._metric)
        try:
            before, after, drops = self._scored(
                groups, self._effects.levels(view, groups)
            )
        except MetricError as error:
            for name in ("original", "perturbed", "drop"):
                nothing = without_value(str(error))
                yield Quantity(name, groups.tags, nothing, shown)
        else:
            for name, scores in (("original", before), ("perturbed", after)):
                kept = [score for score in scores if score.score in self._parts]
                yield Quantity(name, groups.tags, kept, shown)
            found = [drop for drop in drops if drop[0].score in self._parts]
            kept = [score for score, _ in found]
            tested = [test for _, test in found]
            yield Quantity("drop", groups.tags, kept, as_drop(shown), tested)
        if "" in self._parts:
            yield Quantity("worst", groups.tags, without_value(NO_WORST), shown)

    def _scored(
        self, groups: PairGroups, levels: DropLevels
    ) -> tuple[list[GroupScore], list[GroupScore], list[_Drop]]:
        """Score the originals, the copies, and the drops."""
        originals, copies = self._members(groups)
        before = self._scores(originals, 0, groups)
        if groups.by_original:
            weighted = self._weighted(copies)
            if weighted is None:
                nothing = without_value(UNEQUAL)
                return before, nothing, [(score, None) for score in nothing]
            copies = weighted
        after = self._scores(copies, 1, groups)
        matched = self._matched(originals, copies)
        compared = before, after
        if len(matched[0].base) + len(matched[1].base) != (
            len(originals.base) + len(copies.base)
        ):
            compared = (
                self._scores(matched[0], 0, groups),
                self._scores(matched[1], 1, groups),
            )
        intervals = self._drop_intervals(*matched)
        return before, after, _drops(*compared, intervals, levels)

    def _members(self, groups: PairGroups) -> tuple[Members, Members]:
        everyone, once = np.arange(len(groups.group)), groups.once
        sides = []
        for base, places, has_rows in zip(
            (groups.original[once], groups.pair),
            (once, everyone),
            self._has_rows,
            strict=True,
        ):
            group, original = groups.group[places], groups.original[places]
            offered = np.bincount(group, minlength=len(groups.tags))
            weight = np.ones(len(base))
            members = Members(
                base, group, original, weight, groups.by_original, offered
            )
            sides.append(members.only(has_rows[base]))
        return sides[0], sides[1]

    def _weighted(self, copies: Members) -> Members | None:
        """Let copies count 1/k where their numbers differ; None if they cannot."""
        code = copies.group * np.int64(len(self._has_rows[0])) + copies.original
        _, place, counts = np.unique(code, return_inverse=True, return_counts=True)
        are_originals = not len(counts) or int(counts.max()) == 1
        copies = copies._replace(are_originals=are_originals)
        if not len(counts) or counts.min() == counts.max():
            return copies
        if not self._adds_up:
            return None
        return copies._replace(weight=1.0 / counts[place])

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

    def _matched(self, originals: Members, copies: Members) -> tuple[Members, Members]:
        """Leave out originals without a copy that counts, and the other way round."""
        size = np.int64(len(self._has_rows[0]))
        codes = [side.group * size + side.original for side in (originals, copies)]
        return (
            originals.only(np.isin(codes[0], codes[1])),
            copies.only(np.isin(codes[1], codes[0])),
        )

    def _scores(
        self, members: Members, part: int, groups: PairGroups
    ) -> list[GroupScore]:
        pairs, per_original = self._tables.pairs, groups.by_original
        own = numbered_groups(groups.tags, members.group)
        table = ScoringTable(
            pl.DataFrame(),
            pairs.sample.ids.gather(members.original).to_list(),
            clusters_of(pairs, members.original, members.are_originals),
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
            found = score_statistics(
                self._metric, self._expanded(members, part), table, own, self._settings
            )
        count = len(groups.tags)
        n = _count(members, count, per_original)
        used = np.bincount(members.group, minlength=count)
        has_clusters = pairs.sample.clusters is not None
        return [
            score._replace(
                n=int(n[score.group]),
                n_clusters=(
                    score.n_clusters if has_clusters or not per_original else None
                ),
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
        frame = tables.originals.frame if part == 0 else tables.all_copies
        columns = frame.select("prediction", "target")[members.base]
        return columns.with_columns(position=pl.int_range(pl.len(), dtype=pl.UInt32))

    def _drop_intervals(
        self, originals: Members, copies: Members
    ) -> DropIntervals | str:
        """Prepare the intervals and tests of drops; or say why there are none."""
        if self._statistics is None:
            return _NO_LIST_INTERVAL
        if interval_kind(self._metric) == "none":
            return NO_INTERVAL
        if not self._adds_up:
            return NO_SUM
        sides = tuple(
            GroupedStatistics(
                self._expanded(members, part),
                members.group,
                members.original,
                members.weight,
            )
            for part, members in enumerate((originals, copies))
        )
        return DropIntervals(
            self._metric,
            (sides[0], sides[1]),
            self._effects.units,
            self._tables.originals.context,
            self._settings,
        )


def _drops(
    before: list[GroupScore],
    after: list[GroupScore],
    intervals: DropIntervals | str,
    levels: DropLevels,
) -> list[_Drop]:
    others = {(score.group, score.score): score for score in after}
    found: dict[int, _Drop] = {}
    # group by group, as what was drawn of the last one is kept
    for place, first in sorted(enumerate(before), key=lambda each: each[1].group):
        second = others.get((first.group, first.score))
        if second is None:
            continue
        drop = second._replace(
            value=None,
            interval=without_interval("there is no value"),
            reason=first.reason or second.reason,
            flag=None,
            spread=None,
        )
        if first.value is None or second.value is None:
            found[place] = drop, None
            continue
        drop = drop._replace(value=first.value - second.value)
        found[place] = _with_interval(drop, intervals, levels)
    return [found[place] for place in sorted(found)]


def _with_interval(
    drop: GroupScore, intervals: DropIntervals | str, levels: DropLevels
) -> _Drop:
    """Return a drop its interval and its test."""
    if isinstance(intervals, str):
        return drop._replace(interval=without_interval(intervals)), None
    assert drop.value is not None
    interval = intervals.of(drop.group, drop.score, drop.value)
    drop = drop._replace(interval=interval)
    level = levels.of(drop)
    return drop, None if level is None else intervals.test(drop, level)


def _count(members: Members, groups: int, per_original: bool) -> Integers:
    """Count the originals, or the entries, of each group."""
    if not per_original:
        return np.bincount(members.group, minlength=groups)
    distinct = np.unique(np.stack([members.group, members.original]), axis=1)
    return np.bincount(distinct[0], minlength=groups)
