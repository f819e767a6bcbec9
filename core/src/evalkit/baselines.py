"""What a metric gives to answers that need no model: the majority label, and chance."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

import polars as pl

from evalkit.calls import ScoringTable, checked_value, value_columns
from evalkit.finalization import finalize
from evalkit.grouping import WHOLE
from evalkit.list_scoring import compute
from evalkit.registry import Bound
from evalkit.scoring import metric_statistics, why_not

MOST_LABELS = 1_000


class Baselines(NamedTuple):
    """Values of the headline metric for answers that ignore the input."""

    majority_label: str
    """The label that most examples accept; of several, the first in their order."""
    majority: float | None
    """Value when every prediction is that label."""
    chance: float | None
    """Value at the expected counts of predictions drawn uniformly from the labels;
    None for a metric that is a function of lists."""


def compute_baselines(metric: Bound, table: ScoringTable) -> Baselines | None:
    """Score constant and uniformly random predictions.

    The statistics of every pair of label and distinct answer are computed once and
    weighted with the number of examples that have the answer, so that the cost does
    not grow with the examples.

    Args:
        metric: The headline metric.
        table: What is scored.

    Returns:
        The baselines; None where there are no labels or the metric reads more than
        prediction and answer.
    """
    labels = table.context.labels
    if not labels or len(labels) > MOST_LABELS or metric.attributes["columns"]:
        return None
    if why_not(metric, table):
        return None
    majority_label = _majority(table.frame["target"], labels)
    if metric.has("compute"):
        targets = table.frame["target"].to_list()
        value, _ = compute(metric, [(majority_label, target) for target in targets])
        return Baselines(majority_label, value, None)
    answers = table.frame.group_by("target", maintain_order=True).agg(
        pl.len().alias("weight")
    )
    return Baselines(
        majority_label,
        _constant(metric, table, answers, [majority_label]),
        _constant(metric, table, answers, labels),
    )


def _majority(targets: pl.Series, labels: Sequence[str]) -> str:
    accepted = targets.explode() if targets.dtype == pl.List(pl.String) else targets
    counts = Counter(dict(accepted.value_counts().iter_rows()))
    return max(labels, key=lambda label: counts[label])


def _constant(
    metric: Bound, table: ScoringTable, answers: pl.DataFrame, labels: Sequence[str]
) -> float | None:
    """Score predictions that are spread evenly over some labels, in expectation."""
    predictions = pl.DataFrame({"prediction": pl.Series(labels, dtype=pl.String)})
    frame = predictions.join(answers, how="cross").with_row_index("position")
    weights = frame["weight"].cast(pl.Float64) / len(labels)
    pairs = table._replace(
        frame=frame.drop("weight"),
        ids=[""] * frame.height,
        clusters=None,
        replications=(),
    )
    statistics = metric_statistics(metric, pairs)
    columns = value_columns(metric, statistics)
    weighted = statistics.with_columns(
        [pl.col(name) * weights.gather(statistics["position"]) for name in columns]
    )
    if statistics.is_empty():
        return None
    if any(metric.attributes["merges"].get(name, "sum") != "sum" for name in columns):
        return None
    keys = list(metric.attributes["keys"])
    sums = _sum(weighted, keys, columns)
    values = finalize(metric, sums, table.context)
    main = values.filter(pl.col("score") == "")["value"].to_list()
    return checked_value(metric, main[0])[0] if main else None


def _sum(frame: pl.DataFrame, keys: list[str], columns: list[str]) -> pl.DataFrame:
    grouped: Any = frame.group_by(keys, maintain_order=True) if keys else None
    sums = [pl.col(name).sum() for name in columns]
    summed = grouped.agg(sums) if keys else frame.select(sums)
    return summed.select(pl.lit(WHOLE, dtype=pl.UInt32).alias("group"), pl.all())
