"""The confidence interval of each score of each group, by the kind the metric declares.

Replicates of counts of label pairs of independent examples are drawn from a smoothed
multinomial; other sums are drawn by unit. In groups of more than `MOST_RESAMPLED` rows,
where drawing takes long and adds nothing, the delta method takes the place of
resampling; for label pairs only where no label is rare.

The draws of label pairs depend on the pairs alone: their seed is their content. So
metrics of label pairs draw once together, and each has the interval that it has alone.
"""

from __future__ import annotations

import math
from functools import cached_property

import numpy as np
import polars as pl

from evalkit.base.columns import all_named
from evalkit.scoring.evidence import Evidence
from evalkit.scoring.finalization import (
    MOST_ENTRIES,
    MOST_ROWS,
    FinalizedReplicates,
    Sums,
    finalize_replicates,
)
from evalkit.scoring.records import Advance, bootstrap_method
from evalkit.scoring.statistics_rows import (
    Draw,
    DrawnCounts,
    UnitDraws,
    replicate_cells,
    replicate_merged,
    replicate_sums,
)
from evalkit.statistics.intervals import (
    N_IS_1,
    ONE_CLUSTER,
    Interval,
    Scale,
    auroc_interval,
    clustered_mean_interval,
    clustered_share_interval,
    delta_interval,
    few_examples,
    few_of_class,
    mean_interval,
    share_interval,
    without_interval,
)
from evalkit.statistics.label_pairs import (
    Pair,
    PairCounts,
    absent_labels,
    count_pairs,
    draw_pairs,
    label_interval,
    smoothed_counts,
)
from evalkit.statistics.resampling import DRAWS_OF_SUMS, generator, percentile_interval

REPLICATES = DRAWS_OF_SUMS

MOST_RESAMPLED = 20_000
"""Rows of a group beyond which the delta method takes the place of resampling."""

MOST_KEPT = 10_000
"""Rows of a group beyond which values that are kept are not resampled."""

LEAST_OF_EACH = 100
"""Hits, misses and false alarms that each label of a large group must have."""

NO_INTERVAL = "the metric declares no interval"
NO_SUM = "the metric's statistics do not merge by sum or moments"
EXTREMES = (
    "the metric's statistics merge by min or max, of which resampled examples say "
    "nothing"
)
MANY_VALUES = (
    f"statistics that keep values are not resampled beyond {MOST_KEPT} examples"
)
NO_GRADIENT = "these sums are over 500, or give the score no gradient"

_SCALES: dict[str, Scale] = {
    "wilson": "plain",
    "t": "plain",
    "delta": "plain",
    "ratio": "log",
    "correlation": "fisher-z",
}
"""Scale of the delta method, by the kind of interval of metrics that it serves."""


class GroupIntervals:
    """Computes the intervals of one metric."""

    def __init__(
        self, evidence: Evidence, advance: Advance, shared: SharedPairs
    ) -> None:
        self._evidence = evidence
        self._shared = shared
        self._advance = advance
        self._kind = evidence.metric.interval_kind
        self._column = evidence.metric.example_column
        self._drawn: dict[int, FinalizedReplicates] = {}

    def of(self, group: int, score: str, value: float, confidence: float) -> Interval:
        """Compute the interval of a score; without one it says why."""
        if self._kind == "none":
            return without_interval(NO_INTERVAL)
        if self._evidence.n[group] < 2:
            return without_interval(N_IS_1)
        if score == "" and self.is_mean(group, value):
            return self._of_mean(group, confidence)
        if self._kind in _SCALES and self._evidence.has_gradients:
            return self._by_influence(group, score, value, confidence)
        if self._kind == "auroc" and self._evidence.is_simple:
            classes = self._class_sizes(group)
            if classes is not None:
                return auroc_interval(value, *classes, confidence)
        return self._resampled(group, score, value, confidence)

    def is_mean(self, group: int, value: float) -> bool:
        """Tell whether a main score is the mean of per-example scores."""
        if self._column is None or self._kind not in ("wilson", "t"):
            return False
        mean = self._evidence.mean_of(group, self._column)
        return math.isclose(value, mean, rel_tol=1e-9, abs_tol=1e-12)

    def _of_mean(self, group: int, confidence: float) -> Interval:
        evidence, column = self._evidence, str(self._column)
        values, counts = evidence.values_of(group, column)
        is_share = self._kind == "wilson" and bool(np.isin(values, (0.0, 1.0)).all())
        if evidence.clustered:
            _, totals, sizes = evidence.unit_sums(
                group, evidence.rows.distinct[column].to_numpy()
            )
            of_clusters = (
                clustered_share_interval if is_share else clustered_mean_interval
            )
            return of_clusters(totals, sizes, confidence)
        if is_share:
            ones, n = float((values * counts).sum()), int(counts.sum())
            return share_interval(ones, n, confidence)
        return mean_interval(values, counts, confidence)

    def _by_influence(
        self, group: int, score: str, value: float, confidence: float
    ) -> Interval:
        found = self._evidence.distinct_influences(group, score)
        if found is None:
            return without_interval(NO_GRADIENT)
        influences, sizes, times = found
        is_share = self._kind == "wilson" and self._column is None
        return delta_interval(
            value,
            influences,
            sizes,
            confidence,
            clustered=self._evidence.clustered,
            scale="share" if is_share else _SCALES.get(self._kind, "plain"),
            times=times,
        )

    def _class_sizes(self, group: int) -> tuple[int, int] | None:
        """Count both classes that are ranked; None for several classes."""
        rows = self._evidence.rows
        flags = [key for key in rows.keys if rows.distinct[key].dtype == pl.Boolean]
        if len(flags) != 1:
            return None
        codes, counts = self._evidence.cells_of(group)
        is_positive = rows.distinct[flags[0]].to_numpy()[codes]
        return int(counts[is_positive].sum()), int(counts[~is_positive].sum())

    def _resampled(
        self, group: int, score: str, value: float, confidence: float
    ) -> Interval:
        evidence = self._evidence
        if evidence.merges_by_extremes:
            return without_interval(EXTREMES)
        if evidence.clustered and (evidence.n_clusters(group) or 0) < 2:
            return without_interval(ONE_CLUSTER)
        if not self._is_drawn(group):
            if not evidence.has_gradients:
                return without_interval(MANY_VALUES)
            return self._by_influence(group, score, value, confidence)
        drawn = self._replicates(group)
        if drawn.reason:
            return without_interval(drawn.reason)
        values = drawn.values_of(score)
        if self._draws_pairs(group):
            # a metric of chosen labels says itself what they lack
            chosen = "labels" in evidence.metric.changed_parameters
            absent = () if chosen else absent_labels(self._pairs.of(group))
            return label_interval(
                values[:-1], float(values[-1]), value, confidence, absent
            )
        method = bootstrap_method(evidence.clustered)
        interval = percentile_interval(values, confidence, method)
        few = few_examples(evidence.n_clusters(group) or int(evidence.n[group]))
        classes = self._class_sizes(group) if evidence.is_simple else None
        flags = (*few, *(few_of_class(*classes) if classes else ()))
        return interval if interval.low is None else interval._replace(flags=flags)

    def _is_drawn(self, group: int) -> bool:
        """Whether replicates are drawn of a group; large ones have none."""
        evidence = self._evidence
        rows = int(evidence.cells_of(group)[1].sum())
        if not evidence.merges_by_sum:
            return rows <= MOST_KEPT
        if rows <= MOST_RESAMPLED:
            return True
        if not self._draws_pairs(group):
            return False
        pairs = self._pairs.of(group)
        return len(pairs.counts) > MOST_ENTRIES or pairs.rarest < LEAST_OF_EACH

    def _draws_pairs(self, group: int) -> bool:
        """Whether replicates are counts of label pairs, each example being a unit."""
        pairs = self._pairs
        return self._are_pairs and pairs.are_alone and pairs.are_few(group)

    @cached_property
    def _pairs(self) -> LabelPairs:
        return self._shared.pairs_of(self._evidence)

    @cached_property
    def _are_pairs(self) -> bool:
        """Whether each answer to an example counts as one pair of labels."""
        rows = self._evidence.rows
        names = self._evidence.metric.keys
        return (
            self._kind == "multinomial"
            and rows.is_single
            and len(names) == 2
            and all(rows.distinct[key].dtype == pl.String for key in names)
            and len(rows.columns) == 1
            and bool((rows.distinct[rows.columns[0]] == 1).all())
        )

    def _replicates(self, group: int) -> FinalizedReplicates:
        """Return a group's replicates; of label pairs the last is their centre."""
        evidence = self._evidence
        if group not in self._drawn:
            tag = evidence.tags[group] or "all"
            self._advance(f"{evidence.metric.name}: {tag}")
            if self._draws_pairs(group):
                self._drawn |= self._finalize_pairs(group)
            else:
                sums = draw_units(evidence, group)
                drawn = finalize_replicates(evidence.finalizer, REPLICATES, sums)
                self._drawn[group] = drawn
        return self._drawn[group]

    def _finalize_pairs(self, group: int) -> dict[int, FinalizedReplicates]:
        """Finalize a group together with others of equal cells, as many as fit.

        Calls of `finalize_counts` take most of the time of small groups.
        """
        finalizer, count = self._evidence.finalizer, REPLICATES + 1
        part = self._pairs.drawn(group)
        parts = {group: part}
        if finalizer.takes_counts:
            others = [g for g in self._equal_cells[group] if g not in self._drawn]
            for other in others[: MOST_ROWS // part.counts.size]:
                parts[other] = self._pairs.drawn(other)
        counts = np.concatenate([part.counts for part in parts.values()])
        together = part._replace(counts=counts)
        found = finalize_replicates(finalizer, len(counts), together)
        if found.reason:  # one group that fails does not touch the others
            return {group: finalize_replicates(finalizer, count, part)}
        return {
            each: FinalizedReplicates(
                {
                    score: values[place * count : (place + 1) * count]
                    for score, values in found.values.items()
                },
                count,
            )
            for place, each in enumerate(parts)
        }

    @cached_property
    def _equal_cells(self) -> dict[int, list[int]]:
        """The groups with the same cells of label pairs as each group."""
        by_cells: dict[tuple[Pair, ...], list[int]] = {}
        for group, n in enumerate(self._evidence.n.tolist()):
            if n > 1 and self._draws_pairs(group) and self._is_drawn(group):
                cells = tuple(smoothed_counts(self._pairs.of(group)))
                by_cells.setdefault(cells, []).append(group)
        return {group: groups for groups in by_cells.values() for group in groups}


def draw_units(evidence: Evidence, group: int, draw: Draw | None = None) -> Sums:
    """Draw replicates of the sums of a group that do not merge by min or max."""
    rows, members = evidence.rows, evidence.members_of(group)
    units = evidence.units.codes[members.position]
    draws = UnitDraws(rows, members, units, draw or evidence.draw, REPLICATES)
    if not evidence.merges_by_sum:
        return replicate_merged(draws, evidence.metric.merges)
    is_count = evidence.finalizer.takes_counts and len(rows.columns) == 1
    return replicate_cells(draws) if is_count and rows.keys else replicate_sums(draws)


MOST_PAIRS = 20_000
"""Pairs of labels up to which counts are drawn from a multinomial."""

MOST_COUNTS = 4_000_000
"""Counts of replicates that are kept for further metrics; more are drawn again."""


class LabelPairs:
    """Counts the label pairs of each group, and draws replicates of them."""

    def __init__(self, counted: Evidence) -> None:
        self._counted = counted
        self._pairs_of: dict[int, PairCounts] = {}
        self._few_pairs: dict[int, bool] = {}
        self._drawn: dict[int, DrawnCounts] = {}
        self._kept = 0

    @cached_property
    def are_alone(self) -> bool:
        """Whether each unit is one example that has one pair of labels."""
        return not self._counted.clustered and self._counted.repeats == 1

    def of(self, group: int) -> PairCounts:
        """Count the pairs of labels of a group."""
        if group not in self._pairs_of:
            codes, counts = self._counted.cells_of(group)
            # where there are very many pairs, equal rows of statistics are not one
            counted = zip(
                (self._pairs[code] for code in codes.tolist()),
                counts.astype(float).tolist(),
                strict=True,
            )
            declared = self._counted.context.labels or ()
            self._pairs_of[group] = count_pairs(counted, declared)
        return self._pairs_of[group]

    @cached_property
    def _pairs(self) -> list[Pair]:
        """Gold and predicted label of every distinct row."""
        rows = self._counted.rows
        return rows.distinct.select(all_named(rows.keys[:2])).rows()

    def are_few(self, group: int) -> bool:
        """Tell whether a group has so few pairs of labels that it can be smoothed."""
        if group not in self._few_pairs:  # asked for each score
            self._few_pairs[group] = self._are_few(group)
        return self._few_pairs[group]

    def _are_few(self, group: int) -> bool:
        rows, (codes, _) = self._counted.rows, self._counted.cells_of(group)
        if len(codes) > MOST_PAIRS:  # free texts, which take long as tuples
            different = rows.distinct[codes].select(all_named(rows.keys[:2])).n_unique()
            if different > MOST_PAIRS:
                return False
        pairs = self.of(group)
        return len(pairs.golds) * len(pairs.labels) <= MOST_PAIRS

    def drawn(self, group: int) -> DrawnCounts:
        """Draw replicates of smoothed counts of a group with few pairs.

        The last row are the counts that they were drawn from.
        """
        if group in self._drawn:
            return self._drawn[group]
        rows, pairs = self._counted.rows, self.of(group)
        smoothed = smoothed_counts(pairs)
        # by content, so that a tag draws what a file of its examples alone draws
        content = repr([(*pair, times) for pair, times in pairs.counts.items()])
        random = generator(self._counted.settings.seed, "label pairs", content)
        counts = draw_pairs(smoothed, REPLICATES, random)
        schema = dict.fromkeys(rows.keys, pl.String)
        drawn = DrawnCounts(
            pl.DataFrame(list(smoothed), schema, orient="row"),
            rows.columns[0],
            np.vstack([counts, [*smoothed.values()]]),
        )
        if self._kept + drawn.counts.size <= MOST_COUNTS:
            self._kept += drawn.counts.size
            self._drawn[group] = drawn
        return drawn


class SharedPairs:
    """Keeps the label pairs that were counted and drawn last."""

    def __init__(self) -> None:
        self._kept: list[tuple[Evidence, LabelPairs]] = []

    def pairs_of(self, counts: Evidence) -> LabelPairs:
        """Return the label pairs of a tally, those of an equal one where it is kept."""
        for known, pairs in self._kept:
            if known.is_same(counts):
                return pairs
        pairs = LabelPairs(counts)
        self._kept = [*self._kept[-1:], (counts, pairs)]
        return pairs
