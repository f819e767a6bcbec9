"""Scores of whole sets under perturbation: macro-F1 and other functions of sums.

With weights per original the statistics of a copy count 1/k, where k copies of its
original are in the group.
"""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np
import polars as pl

from evalkit.base.columns import all_named
from evalkit.comparing.differences import Difference
from evalkit.inference.intervals import Floats, Integers, without_interval
from evalkit.plugins.bound import BoundMetric
from evalkit.robustness.drops import Drawn, DropIntervals
from evalkit.robustness.pairs import Mask, PairGroups, clusters_of
from evalkit.robustness.quantities import without_value
from evalkit.robustness.tested_drops import DropLevels
from evalkit.robustness.values import PerturbedTables
from evalkit.scoring.calls import value_columns
from evalkit.scoring.evidence import interval_kind
from evalkit.scoring.group_intervals import NO_INTERVAL, NO_SUM
from evalkit.scoring.grouping import Groups
from evalkit.scoring.lists import score_lists
from evalkit.scoring.metric import score_statistics
from evalkit.scoring.records import GroupScore, ScoringSettings
from evalkit.scoring.table import ScoringTable

UNEQUAL = (
    "originals have different numbers of copies, and the metric's statistics cannot be "
    "weighted (--weight copy counts every copy once)"
)
"""Why there is no score with weights per original."""

_NO_LIST_INTERVAL = "functions of lists are not resampled under perturbation"


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
        """Give some of the entries."""
        return self._replace(
            base=self.base[kept],
            group=self.group[kept],
            original=self.original[kept],
            weight=self.weight[kept],
        )


class SetDrop(NamedTuple):
    """A drop of a set-level score."""

    score: GroupScore
    tested: Difference | None = None
    """None where it cannot be tested."""


class SetScores(NamedTuple):
    """The scores of one metric under one perturbation, by what they are computed on."""

    original: list[GroupScore]
    perturbed: list[GroupScore]
    drop: list[SetDrop]


class SetScorer:
    """Computes the scores of one metric.

    Args:
        metric: A metric with scores of whole sets.
        tables: What it scores.
        settings: How intervals are computed.
        statistics: Its statistics of the originals and of the copies; None for a
            function of lists.
    """

    def __init__(
        self,
        metric: BoundMetric,
        tables: PerturbedTables,
        settings: ScoringSettings,
        statistics: tuple[pl.DataFrame, pl.DataFrame] | None,
    ) -> None:
        self._metric = metric
        self._tables = tables
        self._settings = settings
        self._statistics = statistics

    def score(self, groups: PairGroups, levels: DropLevels) -> SetScores:
        """Score the originals, the copies, and their difference.

        Args:
            groups: The groups of the pairs of one perturbation or family.
            levels: Levels that the tests of drops must decide at.

        Returns:
            The scores of every group.

        Raises:
            MetricError: The metric failed.
        """
        originals, copies = self._members(groups)
        before = self._scores(originals, 0, groups)
        if groups.by_original:
            weighted = self._weighted(copies)
            if weighted is None:
                nothing = without_value(UNEQUAL)
                return SetScores(before, nothing, [*map(SetDrop, nothing)])
            copies = weighted
        after = self._scores(copies, 1, groups)
        matched = self._matched(originals, copies)
        if len(matched[0].base) + len(matched[1].base) == (
            len(originals.base) + len(copies.base)
        ):
            compared = before, after
        else:
            compared = (
                self._scores(matched[0], 0, groups),
                self._scores(matched[1], 1, groups),
            )
        intervals = self._drop_intervals(*matched)
        return SetScores(before, after, _drops(*compared, intervals, levels))

    def _members(self, groups: PairGroups) -> tuple[Members, Members]:
        count = len(groups.tags)
        has_original, has_copy = self._has_rows
        group, original = groups.group, groups.original
        if groups.by_original:
            code = np.unique(group * np.int64(len(has_original)) + original)
            group = code // len(has_original)
            original = code % len(has_original)
        originals = Members(
            original,
            group,
            original,
            np.ones(len(group)),
            groups.by_original,
            np.bincount(group, minlength=count),
        )
        copies = Members(
            groups.pair,
            groups.group,
            groups.original,
            np.ones(len(groups.pair)),
            groups.by_original,
            np.bincount(groups.group, minlength=count),
        )
        return (
            originals.only(has_original[originals.base]),
            copies.only(has_copy[copies.base]),
        )

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
        count = len(groups.tags)
        own = Groups(
            groups.tags,
            np.arange(len(members.base), dtype=np.uint32),
            members.group.astype(np.uint32),
            {},
        )
        table = self._table(members)
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
        per_original = groups.by_original
        n = _count(members, count, per_original)
        used = np.bincount(members.group, minlength=count)
        has_clusters = self._tables.pairs.sample.clusters is not None
        return [
            score._replace(
                n=int(n[score.group]),
                n_clusters=(
                    score.n_clusters if has_clusters or not per_original else None
                ),
                coverage=_share(used[score.group], members.offered[score.group]),
            )
            for score in found.scores
        ]

    def _table(self, members: Members) -> ScoringTable:
        pairs = self._tables.pairs
        return ScoringTable(
            pl.DataFrame(),
            pairs.sample.ids.gather(members.original).to_list(),
            clusters_of(pairs, members.original, members.are_originals),
            self._tables.originals.context,
        )

    def _expanded(self, members: Members, part: int) -> pl.DataFrame:
        """Give the statistics of each entry, at the entry's own position."""
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
        """Give the prediction and the target of each entry."""
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
            Drawn(
                self._expanded(members, part),
                members.group,
                members.original,
                members.weight,
            )
            for part, members in enumerate((originals, copies))
        )
        pairs = self._tables.pairs
        return DropIntervals(
            self._metric,
            (sides[0], sides[1]),
            pairs.sample,
            self._tables.originals.context,
            self._settings,
        )


def _drops(
    before: list[GroupScore],
    after: list[GroupScore],
    intervals: DropIntervals | str,
    levels: DropLevels,
) -> list[SetDrop]:
    others = {(score.group, score.score): score for score in after}
    found: dict[int, SetDrop] = {}
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
        if first.value is not None and second.value is not None:
            drop = drop._replace(value=first.value - second.value)
            found[place] = _with_interval(drop, intervals, levels)
        else:
            found[place] = SetDrop(drop)
    return [found[place] for place in sorted(found)]


def _with_interval(
    drop: GroupScore, intervals: DropIntervals | str, levels: DropLevels
) -> SetDrop:
    """Give a drop its interval and its test."""
    if isinstance(intervals, str):
        return SetDrop(drop._replace(interval=without_interval(intervals)))
    assert drop.value is not None
    interval = intervals.of(drop.group, drop.score, drop.value)
    found = drop._replace(interval=interval)
    level = levels.of(found)
    return SetDrop(found, None if level is None else intervals.test(found, level))


def _count(members: Members, groups: int, per_original: bool) -> Integers:
    """Count the originals, or the entries, of each group."""
    if not per_original:
        return np.bincount(members.group, minlength=groups)
    distinct = np.unique(np.stack([members.group, members.original]), axis=1)
    return np.bincount(distinct[0], minlength=groups)


def _share(used: int, offered: int) -> float | None:
    return int(used) / int(offered) if offered else None
