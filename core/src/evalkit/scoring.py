"""Computes one metric for all groups, with intervals.

No file is read or written here.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
import polars as pl

from evalkit.bootstrap import replicate_sums
from evalkit.calls import (
    HOOK_FAILURES,
    ScoringTable,
    checked_value,
    compute_statistics,
    failure,
    finalize,
    merge_by_group,
    value_columns,
)
from evalkit.errors import MetricError
from evalkit.grouping import Groups
from evalkit.hookspecs import IntervalKind
from evalkit.intervals import (
    Floats,
    Interval,
    mean_interval,
    proportion_interval,
    without_interval,
)
from evalkit.list_scoring import score_lists
from evalkit.registry import Bound
from evalkit.scores import (
    Advance,
    GroupScore,
    Members,
    MetricScores,
    ScoringSettings,
    bootstrap_interval,
)
from evalkit.seeds import generator
from evalkit.wording import count_of

SUM_REPLICATES = 1_000

_NO_INTERVAL = "the metric declares no interval"
_NO_MEAN = "the declared interval is that of a mean, which this score is not"

Replicates = Mapping[str, Floats]
"""Values of bootstrap replicates that are defined, by score."""


def score_metric(
    metric: Bound,
    table: ScoringTable,
    groups: Groups,
    settings: ScoringSettings,
    advance: Advance = lambda _: None,
) -> MetricScores:
    """Compute a metric for all groups; a failure is caught and reported.

    Args:
        metric: The metric.
        table: What is scored.
        groups: The groups.
        settings: How intervals are computed.
        advance: Told about progress.

    Returns:
        Its scores; nulls with the reason where it does not apply or failed.
    """
    try:
        reason = why_not(metric, table)
        if reason:
            return _all_null(metric, groups, reason)
        if metric.has("compute"):
            return score_lists(metric, table, groups, settings, advance)
        return _score_statistics(metric, table, groups, settings, advance)
    except MetricError as error:
        nulls = _all_null(metric, groups, str(error))
        return nulls._replace(error=str(error), failure=error)


def why_not(metric: Bound, table: ScoringTable) -> str | None:
    """Say why a metric cannot score a table; None if it can.

    Args:
        metric: The metric.
        table: What would be scored.

    Returns:
        The reason.
    """
    kind = table.context.answer_kind
    if kind not in metric.attributes["answer_kinds"]:
        if kind == "any-of":
            return "examples have several acceptable answers"
        return f"the metric does not take answers of the kind {kind!r}"
    absent = [c for c in metric.attributes["columns"] if c not in table.frame.columns]
    if absent:
        return f"it needs the field {absent[0]!r}, which was not given"
    if table.frame.is_empty():
        return "no example was scored"
    lacking = table.without_prediction()
    if lacking and not _takes_no_prediction(metric):
        examples = count_of(lacking, "example")
        return (
            f"{examples} without a prediction, and the metric declares no worst value"
        )
    return None


def _takes_no_prediction(metric: Bound) -> bool:
    if metric.attributes["accepts_no_prediction"]:
        return True
    return metric.has("score_example") and metric.attributes["worst_value"] is not None


def _all_null(metric: Bound, groups: Groups, reason: str) -> MetricScores:
    empty = without_interval("there is no value")
    scores = [
        GroupScore("", number, None, 0, None, empty, reason)
        for number in range(len(groups.tags))
    ]
    return MetricScores(metric.name, metric, scores, None)


def metric_statistics(metric: Bound, table: ScoringTable) -> pl.DataFrame:
    """Get a metric's statistics, also of one written as `score_example`.

    Args:
        metric: A metric that is not a function of lists.
        table: What is scored.

    Returns:
        `position`, the metric's keys, and number columns; for `score_example` the
        column `score`.

    Raises:
        MetricError: The metric failed.
    """
    if metric.has("score_example"):
        return _score_examples(metric, table)
    return compute_statistics(metric, table)


def _score_examples(metric: Bound, table: ScoringTable) -> pl.DataFrame:
    function = metric.row_function("score_example")
    columns = list(metric.attributes["columns"])
    worst = metric.attributes["worst_value"]
    passes_null = metric.attributes["accepts_no_prediction"]
    positions: list[int] = []
    scores: list[float] = []
    rows = table.frame.select("position", "prediction", "target", *columns)
    for position, prediction, target, *fields in rows.iter_rows():
        if prediction is None and not passes_null:
            value: Any = worst
        else:
            try:
                value = function(
                    prediction=prediction,
                    target=target,
                    fields=dict(zip(columns, fields, strict=True)),
                )
            except HOOK_FAILURES as error:
                step = f"score_example for the example {table.ids[position]!r}"
                raise failure(metric, step, error) from error
        if value is None:
            continue
        positions.append(position)
        scores.append(_checked_score(metric, value, table.ids[position]))
    return pl.DataFrame(
        {"position": positions, "score": scores},
        schema={"position": pl.UInt32, "score": pl.Float64},
    )


def _checked_score(metric: Bound, value: Any, uid: str) -> float:
    number, reason = checked_value(metric, value)
    if number is None:
        where = f"{metric.component.origin}: score_example for the example {uid!r}"
        raise MetricError(f"{where}: {reason}")
    return number


def _score_statistics(
    metric: Bound,
    table: ScoringTable,
    groups: Groups,
    settings: ScoringSettings,
    advance: Advance,
) -> MetricScores:
    statistics = metric_statistics(metric, table)
    column = example_column(metric)
    by_group = Members(statistics, groups, table)
    values = _values(metric, statistics, groups, table, by_group)
    resampled = dict(_bootstrap(metric, table, groups, settings, by_group, advance))
    scores = []
    for row in values.iter_rows(named=True):
        group = row["group"]
        value, reason = checked_value(metric, row["value"])
        reason = row["reason"] or reason if value is None else None
        spread = None
        if value is None:
            interval = without_interval("there is no value")
        elif column and row["score"] == "":
            scores_of_group = by_group.of(group)[column].to_numpy()
            spread = _spread(scores_of_group)
            if interval_kind(metric) != "bootstrap" and math.isclose(
                value, spread[0], rel_tol=1e-9, abs_tol=1e-12
            ):
                interval = _mean_interval(metric, by_group, group, column, settings)
            else:
                drawn = resampled.get(group, _NO_MEAN)
                interval = _bootstrap_interval(drawn, "", by_group, settings)
        else:
            otherwise = _NO_INTERVAL if interval_kind(metric) == "none" else _NO_MEAN
            drawn = resampled.get(group, otherwise)
            interval = _bootstrap_interval(drawn, row["score"], by_group, settings)
        scores.append(
            GroupScore(
                row["score"],
                group,
                value,
                by_group.n(group),
                by_group.n_clusters(group),
                interval,
                reason,
                row["flag"],
                spread,
            )
        )
    per_example = statistics.select("position", score=column) if column else None
    return MetricScores(metric.name, metric, scores, per_example)


def interval_kind(metric: Bound) -> IntervalKind:
    """Give the kind of interval that a metric declares, or that its way implies."""
    declared: IntervalKind | None = metric.attributes["interval"]
    if declared is not None:
        return declared
    return "t" if metric.has("score_example") else "bootstrap"


def example_column(metric: Bound) -> str | None:
    """Give the statistic that is a metric's per-example score."""
    if metric.has("score_example"):
        return "score"
    column: str | None = metric.attributes["per_example"]
    return column


def _values(
    metric: Bound,
    statistics: pl.DataFrame,
    groups: Groups,
    table: ScoringTable,
    by_group: Members,
) -> pl.DataFrame:
    present = [number for number in range(len(groups.tags)) if by_group.n(number)]
    if metric.has("score_example"):
        means = [_mean(by_group.of(group)["score"]) for group in present]
        values = _as_values(present, means, [None] * len(present))
    else:
        sums = merge_by_group(metric, statistics, groups.members)
        values = finalize(metric, sums, table.context)
    given = set(values["group"])
    absent = [number for number in range(len(groups.tags)) if number not in given]
    reasons = [
        "the metric gave no value" if number in present else "no example was scored"
        for number in absent
    ]
    nothing = _as_values(absent, [None] * len(absent), reasons)
    return pl.concat([values, nothing]).sort("score", "group", maintain_order=True)


def _as_values(
    groups: list[int], values: list[Any], reasons: list[Any]
) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "group": groups,
            "score": [""] * len(groups),
            "value": values,
            "reason": reasons,
            "flag": [None] * len(groups),
        },
        schema={
            "group": pl.Int64,
            "score": pl.String,
            "value": pl.Float64,
            "reason": pl.String,
            "flag": pl.String,
        },
    )


def _spread(scores: Floats) -> tuple[float, float, float, float]:
    with np.errstate(over="ignore", invalid="ignore"):
        deviation = float(np.std(scores))
    return _mean(scores), deviation, float(scores.min()), float(scores.max())


def _mean(scores: Iterable[float]) -> float:
    values = list(scores)
    try:
        return math.fsum(values) / len(values)
    except OverflowError:
        return math.inf


def _mean_interval(
    metric: Bound,
    by_group: Members,
    group: int,
    column: str,
    settings: ScoringSettings,
) -> Interval:
    kind = interval_kind(metric)
    if kind == "none":
        return without_interval(_NO_INTERVAL)
    part = by_group.of(group)
    scores = part[column].to_numpy()
    clusters = part["unit"].to_numpy() if by_group.clustered else None
    if kind == "wilson" and bool(np.isin(scores, (0.0, 1.0)).all()):
        return proportion_interval(scores, clusters, settings.confidence)
    return mean_interval(scores, clusters, settings.confidence)


def _bootstrap_interval(
    drawn: Replicates | str, score: str, by_group: Members, settings: ScoringSettings
) -> Interval:
    if isinstance(drawn, str):
        return without_interval(drawn)
    return bootstrap_interval(
        drawn.get(score, np.empty(0)),
        SUM_REPLICATES,
        settings.confidence,
        by_group.clustered,
    )


def _bootstrap(
    metric: Bound,
    table: ScoringTable,
    groups: Groups,
    settings: ScoringSettings,
    by_group: Members,
    advance: Advance,
) -> Iterator[tuple[int, Replicates | str]]:
    """Give the replicates of each group, or why there are none."""
    if interval_kind(metric) != "bootstrap":
        return
    keys = list(metric.attributes["keys"])
    for group, part in by_group.parts.items():
        tag = groups.tags[group]
        advance(f"{metric.name}: {tag or 'all'}")
        columns = value_columns(metric, part.drop("unit"))
        reason = _why_no_bootstrap(metric, part, columns, by_group.clustered)
        if reason:
            yield group, reason
            continue
        random = generator(settings.seed, metric.name, tag or "")
        drawn = replicate_sums(part, keys, columns, SUM_REPLICATES, random)
        if drawn is None:
            yield group, "the group is too large to resample"
            continue
        try:
            values = finalize(
                metric, drawn.rename({"replicate": "group"}), table.context
            )
        except MetricError as error:
            yield group, f"the bootstrap failed: {error}"
            continue
        defined = values.filter(pl.col("value").is_finite())
        yield (
            group,
            {
                str(score): found["value"].to_numpy()
                for (score,), found in defined.partition_by(
                    "score", as_dict=True
                ).items()
            },
        )


def _why_no_bootstrap(
    metric: Bound, part: pl.DataFrame, columns: list[str], clustered: bool
) -> str | None:
    merges = metric.attributes["merges"]
    if any(merges.get(column, "sum") != "sum" for column in columns):
        return "the metric's statistics do not merge by sum"
    if part["position"].n_unique() < 2:
        return "n is 1"
    if clustered and part["unit"].n_unique() < 2:
        return "all examples are in one cluster"
    return None
