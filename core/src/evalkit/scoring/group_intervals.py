"""The confidence interval of each score of each group, by the kind the metric declares.

In groups of more than `MOST_RESAMPLED` rows, where drawing takes long and adds nothing,
the delta method takes the place of resampling; for label pairs only where no label is
rare.
"""

from __future__ import annotations

import math

import numpy as np
import polars as pl

from evalkit.scoring.evidence import Evidence
from evalkit.scoring.group_replicates import MOST_KEPT, GroupReplicates
from evalkit.scoring.records import Advance, bootstrap_method
from evalkit.statistics.intervals import (
    FEW_POSITIVES,
    N_IS_1,
    ONE_CLUSTER,
    Interval,
    Scale,
    auroc_interval,
    clustered_mean_interval,
    clustered_share_interval,
    delta_interval,
    few_examples,
    mean_interval,
    share_interval,
    without_interval,
)
from evalkit.statistics.label_pairs import absent_labels, label_interval
from evalkit.statistics.resampling import percentile_interval

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
    """Computes the intervals of one metric.

    Args:
        evidence: What its scores were computed from.
        advance: Progress callback.
    """

    def __init__(self, evidence: Evidence, advance: Advance) -> None:
        self._evidence = evidence
        self._kind = evidence.metric.interval_kind
        self._column = evidence.metric.example_column
        self._replicates = GroupReplicates(evidence, advance)

    def of(self, group: int, score: str, value: float, confidence: float) -> Interval:
        """Compute the interval of a score.

        Args:
            group: The group.
            score: Name of the score within the metric.
            value: Its value.
            confidence: Probability of the interval.

        Returns:
            The interval, or none with the reason.
        """
        if self._kind == "none":
            return without_interval(NO_INTERVAL)
        if self._evidence.n[group] < 2:
            return without_interval(N_IS_1)
        if score == "" and self.is_mean(group, value):
            return self._of_mean(group, confidence)
        if self._kind in _SCALES and self._evidence.has_gradients:
            return self._by_influence(group, score, value, confidence)
        if self._kind == "auroc":
            classes = self._class_sizes(group)
            if classes is not None:
                return auroc_interval(value, *classes, confidence)
        return self._resampled(group, score, value, confidence)

    def is_mean(self, group: int, value: float) -> bool:
        """Tell whether a main score is the mean of per-example scores.

        Args:
            group: The group.
            value: Its score.
        """
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
        return delta_interval(
            value,
            influences,
            sizes,
            confidence,
            clustered=self._evidence.clustered,
            scale=_SCALES.get(self._kind, "plain"),
            times=times,
        )

    def _class_sizes(self, group: int) -> tuple[int, int] | None:
        """Count both classes of independent examples; None for several classes."""
        rows = self._evidence.rows
        flags = [key for key in rows.keys if rows.distinct[key].dtype == pl.Boolean]
        if not self._evidence.is_simple or len(flags) != 1:
            return None
        codes, counts = self._evidence.cells_of(group)
        is_positive = rows.distinct[flags[0]].to_numpy()[codes]
        return int(counts[is_positive].sum()), int(counts[~is_positive].sum())

    def _resampled(
        self, group: int, score: str, value: float, confidence: float
    ) -> Interval:
        evidence, replicates = self._evidence, self._replicates
        if evidence.merges_by_extremes:
            return without_interval(EXTREMES)
        if evidence.clustered and (evidence.n_clusters(group) or 0) < 2:
            return without_interval(ONE_CLUSTER)
        drawn = replicates.of(group)
        if drawn is None and not evidence.has_gradients:
            return without_interval(MANY_VALUES)
        if drawn is None:
            return self._by_influence(group, score, value, confidence)
        if drawn.reason:
            return without_interval(drawn.reason)
        values = drawn.values_of(score)
        if replicates.draws_counts(group):
            # a metric of chosen labels says itself what they lack
            chosen = "labels" in evidence.metric.changed_parameters
            flags = () if chosen else absent_labels(replicates.pairs_of(group))
            centre = replicates.centre(group, score)
            return label_interval(values, centre, value, confidence, flags)
        method = bootstrap_method(evidence.clustered)
        interval = percentile_interval(values, confidence, method)
        units = len(evidence.unit_sizes(group))
        flags = few_examples(units) + self._few_positives(group)
        return interval if interval.low is None else interval._replace(flags=flags)

    def _few_positives(self, group: int) -> tuple[str, ...]:
        """Flag a ranking of few examples of a class; only where two are ranked."""
        classes = self._class_sizes(group)
        if classes is None or min(classes) >= FEW_POSITIVES:
            return ()
        return (f"fewer than {FEW_POSITIVES} examples of a class",)
