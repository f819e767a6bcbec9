"""What metrics say of copies one by one: their scores, and agreement with originals."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
import polars as pl

from evalkit.base.columns import encode
from evalkit.base.violations import shorten
from evalkit.base.wording import count_of
from evalkit.errors import MetricError
from evalkit.inference.intervals import Floats
from evalkit.parallel.workers import Workers
from evalkit.plugins.bound import BoundMetric
from evalkit.predictions.table import scoring_table
from evalkit.robustness.copies import Copies
from evalkit.robustness.inputs import RunSource
from evalkit.robustness.pairs import Mask, Pairs
from evalkit.scoring.evidence import example_column
from evalkit.scoring.metric import why_not
from evalkit.scoring.passes import metric_outcomes
from evalkit.scoring.table import ScoringTable


class PerturbedTables:
    """What metrics score: the originals, and the copies of every file.

    Args:
        originals: All originals, counted or not.
        copies: The files.
        pairs: Their pairs, in the same order.

    Attributes:
        originals: The same.
        pairs: The same.
        files: The copies of each file whose predictions count.
        left: How many answers to copies each metric did not score, and why the first.
    """

    def __init__(
        self, originals: ScoringTable, copies: Sequence[Copies], pairs: Pairs
    ) -> None:
        self.originals = originals
        self.pairs = pairs
        self.files: list[ScoringTable] = []
        self.left: dict[str, str] = {}
        self._runs: list[str | None] = []
        for each, start in zip(copies, pairs.starts, strict=True):
            table = scoring_table(each.examples, each.alignment)
            counted = pairs.counted[start : start + len(each.originals)]
            frame = table.frame.filter(pl.Series(counted))
            context = originals.context
            self.files.append(table._replace(frame=frame, context=context))
            is_run = isinstance(each.source, RunSource)
            self._runs.append(each.source.name if is_run else None)

    @cached_property
    def all_copies(self) -> pl.DataFrame:
        """Prediction and target of every pair; null where they do not count."""
        everyone = pl.DataFrame(
            {"position": np.arange(self.pairs.size, dtype=np.int64)}
        )
        parts = [
            table.frame.select(
                pl.col("position").cast(pl.Int64) + start, "prediction", "target"
            )
            for table, start in zip(self.files, self.pairs.starts, strict=True)
        ]
        joined = pl.concat(parts, how="vertical_relaxed")
        return everyone.join(joined, on="position", how="left", maintain_order="left")

    def why_not(self, metric: BoundMetric) -> str | None:
        """Say why a metric cannot score the copies; None if it can."""
        filled = [
            (table, run)
            for table, run in zip(self.files, self._runs, strict=True)
            if table.frame.height
        ]
        if not filled:
            return "no perturbed copy was scored"
        reasons = (
            (run and _lacking_field(metric, table, run)) or why_not(metric, table)
            for table, run in filled
        )
        return next(filter(None, reasons), None)

    def statistics(
        self, metric: BoundMetric, workers: Workers | None = None
    ) -> pl.DataFrame:
        """Get a metric's statistics of all copies that count.

        Args:
            metric: A metric that is not a function of lists.
            workers: Processes that may share the work.

        Returns:
            `position` (the number of the pair), the metric's keys and number columns.

        Raises:
            MetricError: The metric failed.
        """
        return self._joined(metric, self.files, workers)

    def _joined(
        self,
        metric: BoundMetric,
        tables: Sequence[ScoringTable],
        workers: Workers | None,
    ) -> pl.DataFrame:
        parts, reasons = [], []
        for table, start in zip(tables, self.pairs.starts, strict=True):
            if table.lacking_for(metric).height == table.frame.height:
                continue
            found = metric_outcomes(metric, table, workers)
            reasons += found.unscored["reason"].to_list()
            number = pl.col("position").cast(pl.UInt32) + pl.lit(start, pl.UInt32)
            parts.append(found.statistics.with_columns(position=number))
        if reasons:
            self.left[metric.name] = (
                f"{metric.component.origin}: did not score "
                f"{count_of(len(reasons), 'answer')} to perturbed copies "
                f"({shorten(reasons[0], 200)}); they take no part in its scores "
                "under perturbation"
            )
        return pl.concat(parts, how="vertical_relaxed")

    def agreement(
        self, metric: BoundMetric, chosen: Mask, workers: Workers | None = None
    ) -> Floats:
        """Score the predictions for copies against those for their originals.

        Args:
            metric: A metric with per-example scores.
            chosen: The pairs that are wanted.
            workers: Processes that may share the work.

        Returns:
            The metric's score of each pair, of shape (pairs,): its target is what the
            model predicted for the original. A pair whose original has no prediction
            has the worst score that the metric can give; nan for other pairs.

        Raises:
            MetricError: The metric failed, or cannot take predictions as targets.
        """
        if self.originals.context.answer_kind == "none":
            raise MetricError(
                "the task has no right answers, so its metrics compare no predictions"
            )
        pairs = self.pairs
        found = np.full(pairs.size, np.nan)
        is_wanted = chosen & pairs.counted & pairs.sample.counted[pairs.originals]
        answers = self.originals.frame["prediction"]
        is_answered = answers.is_not_null().to_numpy()[pairs.originals]
        tables = []
        for table, start in zip(self.files, pairs.starts, strict=True):
            numbers = start + table.frame["position"].to_numpy().astype(np.int64)
            kept = (is_wanted & is_answered)[numbers]
            target = answers.gather(pairs.originals[numbers]).alias("target")
            frame = table.frame.with_columns(target).filter(pl.Series(kept))
            if table.context.answer_kind == "any-of":
                frame = frame.with_columns(pl.concat_list("target"))
            tables.append(table._replace(frame=frame))
        if any(table.frame.height for table in tables):
            statistics = self._joined(metric, tables, workers)
            found = values_of(statistics, str(example_column(metric)), pairs.size)
        silent = is_wanted & ~is_answered
        if silent.any():
            found[silent] = _worst(metric)
        return found

    def differ(self, chosen: Mask) -> Mask:
        """Tell which copies were answered otherwise than their originals.

        Args:
            chosen: The pairs that are wanted; their copies count.

        Returns:
            Of shape (pairs,); False for other pairs.
        """
        pairs = self.pairs
        different = np.zeros(pairs.size, dtype=bool)
        answers = self.originals.frame["prediction"]
        for table, start in zip(self.files, pairs.starts, strict=True):
            numbers = start + table.frame["position"].to_numpy().astype(np.int64)
            kept = chosen[numbers]
            mine = table.frame["prediction"].filter(pl.Series(kept)).to_list()
            others = answers.gather(pairs.originals[numbers[kept]]).to_list()
            different[numbers[kept]] = [
                encode(one) != encode(other)
                for one, other in zip(mine, others, strict=True)
            ]
        return different


def values_of(statistics: pl.DataFrame, column: str, size: int) -> Floats:
    """Return a number column by position; nan where there is no row."""
    values: Floats = np.full(size, np.nan)
    values[statistics["position"].to_numpy()] = statistics[column].to_numpy()
    return values


def _worst(metric: BoundMetric) -> float:
    declared = metric.worst_value
    if declared is not None:
        return float(declared)
    bounds = metric.bounds or (None, None)
    better = metric.higher_is_better
    worst = None if better is None else bounds[0 if better else 1]
    if worst is None:
        raise MetricError(
            "originals without a prediction, and the metric declares no worst value"
        )
    return float(worst)


def _lacking_field(metric: BoundMetric, table: ScoringTable, run: str) -> str | None:
    """Say which field of the input a metric needs that a run does not hold."""
    for name in metric.columns_of_data:
        if name not in table.frame.columns:
            return (
                f"it needs the field {name!r}, and {run} holds no texts or other "
                "fields of the input of its copies; give their files"
            )
    return None
