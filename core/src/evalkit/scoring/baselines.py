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
    """The label that most examples accept; of several, the first in their order. Of an
    example's own options the N-th is `choice N`. None in a run that holds no answers
    and whose labels nobody declares."""
    majority: float | None
    """Value when every prediction is that label."""
    chance: float | None
    """Value at the expected counts of predictions drawn uniformly from the labels, or
    from those of the data where none are declared; None for a function of lists."""


def compute_baselines(metric: BoundMetric, table: ScoringTable) -> Baselines | None:
    """Score constant and uniformly random predictions.

    The statistics of every pair of label and distinct answer are computed once and
    weighted with the number of examples that have the answer, so that the cost does
    not grow with the examples. An example counts once, however many answers it has.

    Where no labels are declared, texts of which an example accepts one are labels if
    each is the answer of `FEWEST_OF_LABEL` examples or more on average. Where examples
    have options of their own, these are the labels; where they are not the same for all
    examples, the majority is the place among them that most answers have, and chance is
    a uniform draw from an example's own.

    Args:
        metric: The headline metric, which has seen the answers that it wants to see.
        table: What is scored.

    Returns:
        The baselines; None where answers are no labels, the metric is costly, has no
        main score, is `whole_only`, or reads more than prediction and answer.
    """
    if metric.is_costly or metric.part or metric.columns or metric.whole_only:
        return None
    if table.context.answer_kind == "none":
        return None
    targets = _targets(table)
    shared = _shared_choices(table)
    if table.choices is not None and shared is None:
        return _baselines_of_choices(metric, table, targets)
    declared = shared or table.context.labels
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
    chance = _constant(metric, table, answers, labels)
    return Baselines(majority_label, majority, chance)


def _shared_choices(table: ScoringTable) -> list[Any] | None:
    """Return the options of all examples, where they have the same, in any order."""
    if table.choices is None:
        return None
    options = table.choices.gather(table.frame["position"])
    if options.dtype != pl.List(pl.String):
        return None
    is_one = options.list.sort().n_unique() == 1
    return list(options[0]) if is_one and not options.null_count() else None


def _baselines_of_choices(
    metric: BoundMetric, table: ScoringTable, targets: pl.Series
) -> Baselines | None:
    """Score the most frequent place among an example's own options, and any of them."""
    positions = table.frame["position"]
    if table.repeats > 1:
        positions = positions.filter((positions // table.repeats).is_first_distinct())
    choices = table.choices
    if choices is None or why_not(metric, table):
        return None
    options = choices.gather(positions).to_list()
    if not all(options):
        return None
    place = _most_frequent_place(targets.to_list(), options)
    chosen = [each[min(place, len(each) - 1)] for each in options]
    label = f"choice {place + 1}"
    if metric.has("compute"):
        pairs = list(zip(chosen, targets.to_list(), strict=True))
        return Baselines(label, compute(metric, pairs, table.context)[0], None)
    frame = targets.to_frame().with_columns(
        pl.Series("prediction", chosen), weight=pl.lit(1.0)
    )
    majority = _expected(metric, table, frame)
    every = targets.to_frame().with_columns(pl.Series("prediction", options))
    weight = 1 / pl.col("prediction").list.len()
    every = every.with_columns(weight=weight).explode("prediction")
    return Baselines(label, majority, _expected(metric, table, every))


def _most_frequent_place(targets: Sequence[Any], options: Sequence[Any]) -> int:
    counts: Counter[int] = Counter()
    for target, own in zip(targets, options, strict=True):
        accepted = target if isinstance(target, list) else [target]
        counts.update([place for place, each in enumerate(own) if each in accepted][:1])
    return min(counts, key=lambda place: (-counts[place], place), default=0)


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
    frame = predictions.join(answers, how="cross")
    weight = pl.col("weight").cast(pl.Float64) / len(labels)
    return _expected(metric, table, frame.with_columns(weight))


def _expected(
    metric: BoundMetric, table: ScoringTable, frame: pl.DataFrame
) -> float | None:
    """Score pairs of `prediction` and `target`, each with its `weight`."""
    pair = ["prediction", "target"]
    distinct = frame.group_by(pair, maintain_order=True).agg(pl.col("weight").sum())
    frame = distinct.with_row_index("position")
    weights = frame["weight"]
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
