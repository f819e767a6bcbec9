"""What a metric gives to predictions that need no model: the majority label and chance.

The statistics of each pair of label and distinct answer are computed once, and weighted
with the number of examples that have the answer.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import polars as pl

from evalkit.base.columns import all_named, named
from evalkit.base.terms import MetricContext
from evalkit.plugins.bound import BoundMetric
from evalkit.scoring.finalization import finalize
from evalkit.scoring.lists import compute
from evalkit.scoring.passes import metric_outcomes
from evalkit.scoring.records import checked_value, why_not_applicable
from evalkit.scoring.table import ScoringTable
from evalkit.scoring.tally import MOST_LABELS
from evalkit.scoring.tallying import Labeled, count_targets

FEWEST_OF_LABEL = 5
"""Mean number of examples for each answer from which texts are labels, declared or
not."""


class Baselines(NamedTuple):
    """Values of the headline metric for predictions that ignore the input."""

    majority_label: str | None
    """The label that most examples accept; of several, the first in their order.
    `choice N` for the N-th of each example's own options. None in a run that holds no
    answers and whose labels nobody declares."""
    majority: float | None
    """Value if each prediction is that label."""
    chance: float | None
    """Value at the expected counts of predictions drawn uniformly from the labels; None
    for a function of lists."""


def compute_baselines(metric: BoundMetric, table: ScoringTable) -> Baselines | None:
    """Score constant and uniformly random predictions."""
    examples = len(table.ids) // table.repeats
    nothing = pl.repeat(None, len(table.ids), dtype=pl.String, eager=True)
    one_set = np.zeros(examples, dtype=np.int64)
    answers = count_targets(Labeled(table, nothing, one_set, None))
    return baselines_of(metric, table.context, answers)


def baselines_of(
    metric: BoundMetric, context: MetricContext, frame: pl.DataFrame | None
) -> Baselines | None:
    """Score constant and uniformly random predictions."""
    if metric.is_costly or metric.part or metric.columns or metric.whole_only:
        return None
    if frame is None or frame.is_empty() or why_not_applicable(metric, context):
        return None
    shared = _shared_choices(frame)
    if "choices" in frame.columns and shared is None:
        return _of_choices(metric, context, frame)
    declared = shared or context.labels
    labels = _frequent_answers(frame, context) if declared is None else declared
    if not labels or len(labels) > MOST_LABELS:
        return None
    majority = _majority(frame, labels)
    pairs = frame.select("target", "weight")
    return Baselines(
        majority,
        _of_labels(metric, context, pairs, [majority]),
        None if metric.has("compute") else _of_labels(metric, context, pairs, labels),
    )


def _shared_choices(frame: pl.DataFrame) -> list[str] | None:
    """Return the options of all examples if they are the same, in any order."""
    if frame.schema.get("choices") != pl.List(pl.String):
        return None
    options = frame["choices"]
    is_one = options.list.sort().n_unique() == 1 and not options.null_count()
    return list(options[0]) if is_one else None


def _frequent_answers(frame: pl.DataFrame, context: MetricContext) -> list[str]:
    """Return the answers themselves if they repeat as labels do."""
    if context.answer_kind != "one" or frame.schema["target"] != pl.String:
        return []
    distinct = frame["target"].drop_nulls().unique()
    if FEWEST_OF_LABEL * len(distinct) > frame["weight"].sum():
        return []
    return list(distinct.sort())


def _majority(frame: pl.DataFrame, labels: Sequence[str]) -> str:
    counts: Counter[str] = Counter()
    for target, weight in frame.select("target", "weight").iter_rows():
        for label in target if isinstance(target, list) else [target]:
            counts[label] += weight
    return max(labels, key=lambda label: counts[label])


def _of_choices(
    metric: BoundMetric, context: MetricContext, frame: pl.DataFrame
) -> Baselines | None:
    """Score the most frequent place among an example's own options, and any of them."""
    options = frame["choices"].to_list()
    if not all(options):
        return None
    places: Counter[int] = Counter()
    for target, own, weight in zip(
        frame["target"].to_list(), options, frame["weight"].to_list(), strict=True
    ):
        accepted = target if isinstance(target, list) else [target]
        for place in [n for n, each in enumerate(own) if each in accepted][:1]:
            places[place] += weight
    place = min(places, key=lambda n: (-places[n], n), default=0)
    chosen = [own[min(place, len(own) - 1)] for own in options]
    constant = frame.with_columns(pl.Series("prediction", chosen))
    uniform = frame.with_columns(
        prediction="choices", weight=pl.col("weight") / pl.col("choices").list.len()
    ).explode("prediction")
    columns = ["prediction", "target", "weight"]
    return Baselines(
        f"choice {place + 1}",
        _expected(metric, context, constant.select(columns)),
        None
        if metric.has("compute")
        else _expected(metric, context, uniform.select(columns)),
    )


def _of_labels(
    metric: BoundMetric,
    context: MetricContext,
    pairs: pl.DataFrame,
    labels: Sequence[str],
) -> float | None:
    """Score predictions that are spread evenly over some labels, in expectation."""
    predictions = pl.DataFrame({"prediction": pl.Series(labels, dtype=pl.String)})
    weight = pl.col("weight") / len(labels)
    frame = predictions.join(pairs, how="cross").with_columns(weight)
    return _expected(metric, context, frame)


def _expected(
    metric: BoundMetric, context: MetricContext, frame: pl.DataFrame
) -> float | None:
    """Score pairs of `prediction` and `target`, each with its `weight`."""
    frame = frame.with_row_index("position")
    if metric.has("compute"):
        times = frame["weight"].cast(pl.Int64).to_numpy()
        places = np.repeat(np.arange(frame.height), times)
        rows = frame.select("prediction", "target")[places].rows()
        return compute(metric, rows, context)[0]
    pairs = ScoringTable(frame.drop("weight"), [""] * frame.height, None, context)
    statistics, unscored = metric_outcomes(metric, pairs)
    if unscored.height or statistics.is_empty():
        return None
    columns = [n for n in statistics.columns if n not in ("position", *metric.keys)]
    if any(metric.merges.get(name, "sum") != "sum" for name in columns):
        return None
    weights = frame["weight"].gather(statistics["position"])
    weighted = statistics.with_columns(named(name) * weights for name in columns)
    sums = (
        weighted.with_columns(group=pl.lit(0, dtype=pl.Int64))
        .group_by(all_named(["group", *metric.keys]), maintain_order=True)
        .agg(all_named(columns).sum())
    )
    scores = finalize(metric, sums, context)
    main = scores.filter(pl.col("score") == "")["value"].to_list()
    return checked_value(metric, main[0])[0] if main else None
