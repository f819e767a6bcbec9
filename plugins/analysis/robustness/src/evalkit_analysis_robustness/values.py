"""What metrics give for single perturbed examples, and for both sides of a pair."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

import numpy as np
import polars as pl

from evalkit.base.columns import encode
from evalkit.catalog import BoundMetric
from evalkit.errors import MetricError
from evalkit.parallel import Workers
from evalkit.scoring import MetricScores, ScoringTable, metric_outcomes
from evalkit.statistics.clusters import Floats
from evalkit_analysis_robustness.pairs import Mask, Pairs

ByMetric = Mapping[str, MetricScores]
"""What metrics computed in one run, by name."""


class PairedTables:
    """What metrics scored: the originals, and the examples of every perturbation.

    Args:
        originals: All originals, counted or not.
        tables: All examples of each perturbation.
        pairs: Their pairs, in the same order.
        scored: What metrics computed of each perturbation.

    Attributes:
        originals: The same.
        pairs: The same.
    """

    def __init__(
        self,
        originals: ScoringTable,
        tables: Sequence[ScoringTable],
        pairs: Pairs,
        scored: Sequence[ByMetric],
    ) -> None:
        self.originals = originals
        self.pairs = pairs
        self._scored = scored
        self._counted: list[ScoringTable] = []
        for table, start in zip(tables, pairs.starts, strict=True):
            counted = pairs.counted[start : start + table.frame.height]
            frame = table.frame.filter(pl.Series(counted))
            self._counted.append(table._replace(frame=frame))

    @cached_property
    def all_perturbed(self) -> pl.DataFrame:
        """Prediction and target of every pair; null where they do not count."""
        everyone = pl.DataFrame(
            {"position": np.arange(self.pairs.size, dtype=np.int64)}
        )
        parts = [
            table.frame.select(
                pl.col("position").cast(pl.Int64) + start, "prediction", "target"
            )
            for table, start in zip(self._counted, self.pairs.starts, strict=True)
        ]
        joined = pl.concat(parts, how="vertical_relaxed")
        return everyone.join(joined, on="position", how="left", maintain_order="left")

    def why_not(self, name: str) -> str | None:
        """Return why a metric has no scores of perturbed examples; None if it has."""
        filled = [
            scored.get(name)
            for table, scored in zip(self._counted, self._scored, strict=True)
            if table.frame.height
        ]
        if not filled:
            return "no perturbed copy was scored"
        for found in filled:
            if found is None:
                return "the metric was not computed for perturbed examples"
            if found.failure is not None:
                return str(found.failure)
            if found.statistics is None and not found.metric.has("compute"):
                return found.error or (found.scores[0].reason if found.scores else None)
        rows = (found.statistics for found in filled if found is not None)
        computes = any(found and found.metric.has("compute") for found in filled)
        if not computes and not any(each is not None and each.height for each in rows):
            return "no perturbed copy was scored"
        return None

    def statistics(self, name: str) -> pl.DataFrame:
        """Return a metric's statistics of all perturbed examples that count."""
        return self._joined([scored[name].statistics for scored in self._scored])

    def _joined(self, statistics: Sequence[pl.DataFrame | None]) -> pl.DataFrame:
        parts = [
            part.with_columns(
                position=pl.col("position").cast(pl.UInt32) + pl.lit(start, pl.UInt32)
            )
            for part, start in zip(statistics, self.pairs.starts, strict=True)
            if part is not None and part.height
        ]
        if not parts:
            raise MetricError("no perturbed copy was scored")
        return pl.concat(parts, how="vertical_relaxed")

    def scores(self, name: str) -> Floats:
        """Return a metric's score of each pair's perturbed example; NaN for none."""
        found = [scored[name].per_example for scored in self._scored]
        return values_of(self._joined(found), "score", self.pairs.size)

    def agreement(
        self, metric: BoundMetric, chosen: Mask, workers: Workers | None = None
    ) -> Floats:
        """Score predictions for perturbed examples against those for the originals."""
        if self.originals.context.answer_kind == "none":
            raise MetricError(
                "the task has no right answers, so its metrics compare no predictions"
            )
        pairs = self.pairs
        found = np.full(pairs.size, np.nan)
        is_meant = chosen & pairs.counted & pairs.sample.counted[pairs.originals]
        answers = self.originals.frame["prediction"]
        is_answered = answers.is_not_null().to_numpy()[pairs.originals]
        statistics: list[pl.DataFrame | None] = []
        for table, start in zip(self._counted, pairs.starts, strict=True):
            numbers = start + table.frame["position"].to_numpy().astype(np.int64)
            kept = (is_meant & is_answered)[numbers]
            target = answers.gather(pairs.originals[numbers]).alias("target")
            frame = table.frame.with_columns(target).filter(pl.Series(kept))
            if table.context.answer_kind == "any-of":
                frame = frame.with_columns(pl.concat_list("target"))
            table = table._replace(frame=frame)
            if table.lacking_for(metric).height == frame.height:
                statistics.append(None)
            else:
                statistics.append(metric_outcomes(metric, table, workers).statistics)
        if any(part is not None for part in statistics):
            column = str(metric.example_column)
            found = values_of(self._joined(statistics), column, pairs.size)
        silent = is_meant & ~is_answered
        if silent.any():
            found[silent] = _worst(metric)
        return found

    def differ(self, chosen: Mask) -> Mask:
        """Tell which perturbed examples have another prediction than originals."""
        pairs = self.pairs
        different = np.zeros(pairs.size, dtype=bool)
        answers = self.originals.frame["prediction"]
        for table, start in zip(self._counted, pairs.starts, strict=True):
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
    """Return a number column by position; NaN for positions without a row."""
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
