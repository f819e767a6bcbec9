"""Makes tables, groups and metrics for the tests of the scoring engine."""

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from evalkit import Metric
from evalkit.base.terms import MetricContext
from evalkit.plugins.bound import Bound
from evalkit.plugins.registry import Registry
from evalkit.plugins.resolver import Resolver
from evalkit.scoring.evidence import Evidence
from evalkit.scoring.grouping import Groups, group_by_tag
from evalkit.scoring.measurement import evidence_of, score_metric
from evalkit.scoring.passes import metric_statistics
from evalkit.scoring.records import (
    AggregateScore,
    GroupScore,
    MetricScores,
    ScoringSettings,
)
from evalkit.scoring.table import ScoringTable


class Mean(Metric):
    """The mean of numbers, by sums alone; the prediction is the number."""

    higher_is_better = True
    per_example = "total"
    interval = "t"

    def statistics(self, batch: pl.DataFrame) -> pl.DataFrame:
        total = batch["prediction"].cast(pl.Float64)
        return pl.DataFrame({"row": range(batch.height), "total": total, "n": 1.0})

    def finalize(self, sums: pl.DataFrame) -> pl.DataFrame:
        return sums.select("group", value=pl.col("total") / pl.col("n"))


class BootstrapMean(Mean):
    """The same without per-example scores, so that its interval is resampled."""

    per_example = None
    interval = None


class Share(Mean):
    """The same with Wilson's interval."""

    interval = "wilson"


class Ratio(Metric):
    """Sum of predictions over sum of targets, a smooth function of two sums."""

    interval = "delta"
    higher_is_better = False

    def statistics(self, batch: pl.DataFrame) -> pl.DataFrame:
        return batch.select(
            above=pl.col("prediction").cast(pl.Float64),
            below=pl.col("target").cast(pl.Float64),
        ).with_row_index("row")

    def finalize(self, sums: pl.DataFrame) -> pl.DataFrame:
        return sums.select("group", value=pl.col("above") / pl.col("below"))


def bound(metric: Any) -> Bound:
    """Bind a metric by its name, class or function."""
    return Resolver(Registry()).bind("metrics", metric)


def make_table(
    predictions: Sequence[Any],
    targets: Sequence[Any] | None = None,
    *,
    clusters: Sequence[Any] | None = None,
    ids: Sequence[str] | None = None,
    labels: Sequence[str] | None = None,
    replications: Sequence[str] = (),
    present: Sequence[int] | None = None,
    **fields: Sequence[Any],
) -> ScoringTable:
    """Make what metrics score; `present` are the positions that count."""
    n = len(predictions)
    given = predictions if targets is None else targets
    frame = pl.DataFrame(
        {"position": range(n), "prediction": predictions, "target": given, **fields},
        schema_overrides={"position": pl.UInt32},
    )
    if present is not None:
        frame = frame[list(present)]
    repeats = max(1, len(replications))
    return ScoringTable(
        frame,
        list(ids) if ids is not None else [str(i // repeats) for i in range(n)],
        None if clusters is None else _clusters(pl.Series("cluster", clusters)),
        MetricContext(None if labels is None else tuple(labels), "one"),
        tuple(replications),
    )


def _clusters(names: pl.Series) -> pl.Series:
    return names.hash() if names.dtype == pl.String else names.cast(pl.UInt64)


def make_groups(
    tags: Sequence[Sequence[str]] | int,
    crossings: Mapping[str, Sequence[Sequence[str]]] | None = None,
) -> Groups:
    """Make groups of lists of tags, or of so many examples without one."""
    lists = [[]] * tags if isinstance(tags, int) else tags
    dtype = pl.List(pl.String)
    crossed = {
        name: pl.Series(list(values), dtype=dtype)
        for name, values in (crossings or {}).items()
    }
    return group_by_tag(pl.Series(list(lists), dtype=dtype), crossed)


def make_evidence(
    metric: Any, table: ScoringTable, groups: Groups | None = None
) -> Evidence:
    """Make the evidence of a metric, as scoring does."""
    one = bound(metric)
    statistics = metric_statistics(one, table)
    return evidence_of(one, statistics, table, groups or make_groups(len(table.ids)))


def scored(
    metric: Any, table: ScoringTable, groups: Groups | None = None, **settings: Any
) -> MetricScores:
    """Score a table with one metric, which must not fail."""
    found = score_metric(
        bound(metric),
        table,
        groups or make_groups(len(table.ids)),
        ScoringSettings(**settings),
    )
    assert found.error is None, found.error
    return found


def main_score(found: MetricScores, group: int = 0) -> GroupScore:
    """Give the main score of a group."""
    [one] = [s for s in found.scores if s.score == "" and s.group == group]
    return one


def aggregate(found: MetricScores, kind: str) -> AggregateScore:
    """Give an aggregate by its kind."""
    [one] = [s for s in found.aggregates if s.kind == kind]
    return one
