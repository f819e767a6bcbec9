"""What a metric gives to answers that need no model: the majority label, and chance."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

import polars as pl

from evalkit.base.columns import all_named, named
from evalkit.plugins.bound import BoundMetric
from evalkit.scoring.calls import checked_value, value_columns
from evalkit.scoring.finalization import finalize
from evalkit.scoring.grouping import WHOLE
from evalkit.scoring.lists import compute
from evalkit.scoring.metric import why_not
from evalkit.scoring.passes import metric_outcomes
from evalkit.scoring.table import ScoringTable

MOST_LABELS = 1_000

FEWEST_OF_LABEL = 5
"""Answers that are given so many times on average are labels, declared or not."""


class Baselines(NamedTuple):
    """Values of the headline metric for answers that ignore the input."""

    majority_label: str | None
    """The label that most examples accept; of several, the first in their order. None
    in a run that holds no answers and whose labels nobody declares."""
    majority: float | None
    """Value when every prediction is that label."""
    chance: float | None
    """Value at the expected counts of predictions drawn uniformly from the labels;
    None for a metric that is a function of lists, and where no labels are declared."""


def compute_baselines(metric: BoundMetric, table: ScoringTable) -> Baselines | None:
    """Score constant and uniformly random predictions.

    The statistics of every pair of label and distinct answer are computed once and
    weighted with the number of examples that have the answer, so that the cost does
    not grow with the examples. An example counts once, however many answers it has.

    Where no labels are declared, texts of which an example accepts one are labels if
    each is the answer of `FEWEST_OF_LABEL` examples or more on average.

    Args:
        metric: The headline metric, which has seen the answers that it wants to see.
        table: What is scored.

    Returns:
        The baselines; None where answers are no labels, the metric is costly, has no
        main score, or reads more than prediction and answer.
    """
    if metric.is_costly or metric.part or metric.columns:
        return None
    targets = _targets(table)
    declared = table.context.labels
    labels = _found_labels(table, targets) if declared is None else declared
    if not labels or len(labels) > MOST_LABELS:
        return None
    if why_not(metric, table):
        return None
    majority_label = _majority(targets, labels)
    if metric.has("compute"):
        pairs = [(majority_label, target) for target in targets.to_list()]
        value, _ = compute(metric, pairs, table.context)
        return Baselines(majority_label, value, None)
    answers = (
        targets.to_frame()
        .group_by("target", maintain_order=True)
        .agg(pl.len().alias("weight"))
    )
    majority = _constant(metric, table, answers, [majority_label])
    chance = _constant(metric, table, answers, labels) if declared else None
    return Baselines(majority_label, majority, chance)


def _targets(table: ScoringTable) -> pl.Series:
    """Return the answers of the examples that count, each once."""
    if table.repeats == 1:
        return table.frame["target"]
    examples = table.frame["position"] // table.repeats
    return table.frame["target"].filter(examples.is_first_distinct())


def _found_labels(table: ScoringTable, targets: pl.Series) -> list[str]:
    """Return the answers themselves where they repeat as labels do; else nothing."""
    if table.context.answer_kind != "one" or targets.dtype != pl.String:
        return []
    distinct = targets.drop_nulls().unique()
    if FEWEST_OF_LABEL * len(distinct) > len(targets):
        return []
    return list(distinct.sort())


def _majority(targets: pl.Series, labels: Sequence[str]) -> str:
    accepted = targets.explode() if targets.dtype == pl.List(pl.String) else targets
    counts = Counter(dict(accepted.value_counts().iter_rows()))
    return max(labels, key=lambda label: counts[label])


def _constant(
    metric: BoundMetric,
    table: ScoringTable,
    answers: pl.DataFrame,
    labels: Sequence[str],
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
    found = metric_outcomes(metric, pairs)
    if found.unscored.height:
        return None
    statistics = found.statistics
    columns = value_columns(metric, statistics)
    weighted = statistics.with_columns(
        [named(name) * weights.gather(statistics["position"]) for name in columns]
    )
    if statistics.is_empty():
        return None
    if any(metric.merges.get(name, "sum") != "sum" for name in columns):
        return None
    keys = list(metric.keys)
    sums = _sum(weighted, keys, columns)
    values = finalize(metric, sums, table.context)
    main = values.filter(pl.col("score") == "")["value"].to_list()
    return checked_value(metric, main[0])[0] if main else None


def _sum(frame: pl.DataFrame, keys: list[str], columns: list[str]) -> pl.DataFrame:
    grouped: Any = (
        frame.group_by(all_named(keys), maintain_order=True) if keys else None
    )
    sums = [named(name).sum() for name in columns]
    summed = grouped.agg(sums) if keys else frame.select(sums)
    return summed.select(pl.lit(WHOLE, dtype=pl.UInt32).alias("group"), pl.all())
