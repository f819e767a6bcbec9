"""Joint bootstrap of examples: replicates of the scores of all models and datasets.

How often a unit is drawn depends on its data, split and name and on the replicate
alone. So all models, metrics, tags and perturbed examples of a dataset get the same
resample, and replicates of means and ratings follow from those of the leaves. Units are
clusters where there are any, else examples; a perturbed example has the weight of its
original. Weights are Poisson(1) draws (Hanley and MacGibbon 2006).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np
import polars as pl

from evalkit import Registry, Result, Score
from evalkit.base.columns import named
from evalkit.base.copies import INPUT_ID
from evalkit.catalog import BoundMetric, Resolver, metric_of
from evalkit.errors import EvalkitError, MetricError
from evalkit.runs import RunRecord, bound_component
from evalkit.runs.tables import measured_run
from evalkit.scoring import Interval
from evalkit.scoring.evidence import Evidence
from evalkit.scoring.finalization import finalize_replicates
from evalkit.scoring.group_intervals import draw_units
from evalkit.scoring.measurement import evidence_of, prepared
from evalkit.statistics.clusters import Floats, Integers
from evalkit.statistics.resampling import (
    DRAWS_OF_SUMS,
    Keys,
    Weights,
    percentile_interval,
    poisson_weights,
    unit_keys,
)
from evalkit_analysis_compare.pairing import score_column
from evalkit_analysis_ratings.records import Cell
from evalkit_analysis_robustness import find_effects

REPLICATES = DRAWS_OF_SUMS
"""Number of bootstrap replicates."""

_ONE_UNIT = "all examples are one unit of the sample"
_MOST_VALUES, _MOST_WEIGHTS = 20_000, 5_000_000
"""Distinct keys (such as label pairs) or kept values of a score that is resampled, and
weights that are held at a time."""


POOLED = "pooled"
"""Dataset of pooled runs, whose ids and clusters begin with the names of samples."""


class Drawn(NamedTuple):
    """Bootstrap replicates of a score."""

    values: Floats
    """nan where undefined."""
    units: float
    """Number of units of the sample; infinite if the score does not vary with them."""


def sample_name(record: RunRecord) -> str:
    """Name the sample of a run's examples: leaves of one name share examples."""
    return f"{record.data.identity.key}\x1f{record.split}"


def draw_leaf(
    cells: Mapping[str, Cell], registry: Registry | None = None
) -> dict[str, Drawn | str]:
    """Draw replicates of the scores of one leaf.

    Args:
        cells: The cells of a member without children, by model.
        registry: Where metrics are found. Default: all installed ones.

    Returns:
        The replicates by model, or why there are none. Those of all leaves are joint.
    """
    resolver = Resolver(registry or Registry())
    drawn: dict[str, Drawn | str] = {}
    for model, cell in cells.items():
        try:
            drawn[model] = _draw(cell, resolver)
        except EvalkitError as error:
            drawn[model] = str(error)
    return drawn


def draw_weights(keys: Keys) -> Iterator[Floats]:
    """Yield how often units are drawn, of shape (units, some replicates)."""
    step = max(1, _MOST_WEIGHTS // len(keys))
    for first in range(0, REPLICATES, step):
        weights = poisson_weights(keys, first, min(step, REPLICATES - first))
        yield weights.astype(np.float64)


def joint_interval(draws: Floats, confidence: float) -> Interval:
    """Compute the percentile interval of combined replicates."""
    return percentile_interval(draws, confidence, "joint-bootstrap")


def _draw(cell: Cell, resolver: Resolver) -> Drawn:
    score = cell.score
    if score.value is None or len(cell.runs) != 1:
        raise MetricError(score.reason or "it is computed from several runs")
    [run] = cell.runs
    if score.perturbation is not None:
        value, draws = _draw_mean(_score_effect(run, score))
    elif score.aggregate is None and score_column(run, score.metric) is not None:
        scores = scored_examples(run, score).drop_nulls("score")
        value, draws = _draw_mean(scores.select("unit", x="score"))
    else:
        value, draws = _draw_score(run, score, resolver)
    if not np.isclose(value, score.value, rtol=1e-9, atol=1e-12):
        raise MetricError(
            f"{run.run_id}: {score.metric} cannot be computed again from the run, got "
            f"{value} instead of {score.value}"
        )
    return draws


def _draw_score(run: Result, score: Score, resolver: Resolver) -> tuple[float, Drawn]:
    """Compute a score again, and its replicates."""
    owner = metric_of(score.metric, run.record.metric_names)
    used = [each for each in run.record.metrics if each.full_name == owner]
    if not used:
        raise MetricError("the dataset computes the score itself")
    metric = BoundMetric.of(bound_component(used[0], resolver))
    part = score.metric.removeprefix(str(owner)).removeprefix("#")
    measured = measured_run(run)
    for each in prepared(metric, measured.everything).parts():
        if each.name in (metric.name, score.metric):
            metric, part = each, "" if each.name == score.metric else part
    if metric.whole_only:  # a property of the job: examples have no part in it
        constant = float(score.value or 0.0)
        return constant, Drawn(np.full(REPLICATES, constant), math.inf)
    if metric.name not in run.statistics or metric.interval == "none":
        raise MetricError(
            "cannot resample a metric of whole lists or without an interval"
        )
    table = measured.table._replace(clusters=sample_units(run))
    groups, statistics = measured.groups, run.statistics[metric.name]
    evidence = evidence_of(metric, statistics, table, groups)
    facet = (score.aggregate or "").partition(":")[2]
    numbers = groups.facets[facet] if facet else [groups.tags.index(score.tag)]
    scores = evidence.finalizer(evidence.sums).filter(
        pl.col("group").is_in(numbers), pl.col("score") == part
    )
    draws = np.mean([_draw_group(evidence, n, part) for n in numbers], axis=0)
    units = min(len(evidence.unit_sizes(n)) for n in numbers)
    return float(np.mean(scores["value"].to_numpy())), Drawn(draws, units)


def _score_effect(run: Result, score: Score) -> pl.DataFrame:
    """Return `unit` and the score `x` under perturbation of each original."""
    effects, own = find_effects(run), scored_examples(run, score)
    members, whole = effects.members(str(score.perturbation)), score._replace(tag=None)
    copies = [
        scored_examples(each, whole).select(INPUT_ID, after="score", other="pred")
        for made, each in zip(effects.perturbations, effects.runs, strict=True)
        if made.name in members
    ]
    before, after = pl.col("before"), pl.col("after")
    least = pl.min_horizontal if score.higher_is_better else pl.max_horizontal
    views = {
        "original": before,
        "perturbed": after,
        "worst": least(before, after) + 0 * (before + after),
        "agreement": (pl.col("pred") == pl.col("other")).cast(pl.Float64),
    }
    if score.computed_on not in views or not copies:
        raise MetricError(f"{score.computed_on} is not resampled, or has no runs")
    x = pl.col("x")
    worst = x.min() if score.higher_is_better else x.max()
    return (
        pl.concat(copies, how="vertical_relaxed")
        .join(own.rename({"score": "before"}), left_on=INPUT_ID, right_on="id")
        .select("unit", INPUT_ID, x=views[score.computed_on])
        .drop_nulls("x")
        .group_by("unit", INPUT_ID)
        .agg(worst if score.computed_on == "worst" else x.mean())
    )


def _draw_mean(rows: pl.DataFrame) -> tuple[float, Drawn]:
    """Compute the mean of the column `x`, and its replicates."""
    sums = pl.col("x").sum(), pl.len().cast(pl.Float64).alias("n")
    units = rows.group_by("unit").agg(sums).sort("unit")
    if units.height < 2:
        raise MetricError(_ONE_UNIT)
    totals, keys = units.drop("unit").to_numpy(), unit_keys(units["unit"].cast(str), 0)
    drawn = np.concatenate([weights.T @ totals for weights in draw_weights(keys)])
    with np.errstate(invalid="ignore"):
        draws = Drawn(drawn[:, 0] / drawn[:, 1], units.height)
    return math.fsum(totals[:, 0]) / float(totals[:, 1].sum()), draws


def scored_examples(run: Result, score: Score) -> pl.DataFrame:
    """Return the examples of a score's tag, with the columns `unit` and `score`."""
    column = score_column(run, score.metric)
    if column is None or run.examples is None:
        need = "effects and ratings by pairs need a metric that is a mean over examples"
        raise MetricError(f"{run.run_id}: {need}, got {score.metric}")
    rows = run.examples.with_columns(unit=sample_units(run), score=named(column))
    has_tag = True if score.tag is None else pl.col("tags").list.contains(score.tag)
    return rows.filter(has_tag)


def sample_units(run: Result) -> pl.Series:
    """Return a key of the unit of each example: its cluster, original, or itself."""
    assert run.examples is not None  # as it has a scoring table
    names = ["cluster"]
    if run.record.cluster in ((), (INPUT_ID,)):
        names = [INPUT_ID, "id"] if INPUT_ID in run.examples.columns else ["id"]
    units = pl.coalesce(pl.col(names).cast(pl.String))
    if run.record.dataset != POOLED:
        units = pl.lit(f"{sample_name(run.record)}\x1f") + units
    return hash_units(run.examples.select(units=units)["units"])


def hash_units(names: pl.Series) -> pl.Series:
    """Return what decides how often units are drawn, by their names."""
    unique = names.unique().sort()
    return names.replace_strict(unique, pl.Series(unit_keys(unique.to_list(), 0)))


def _draw_group(evidence: Evidence, group: int, part: str) -> Floats:
    values = evidence.rows.numbered_keys[0].height
    if not evidence.merges_by_sum:
        values = int(evidence.n[group])
    if evidence.merges_by_extremes or values > _MOST_VALUES:
        raise MetricError(
            f"extremes or more than {_MOST_VALUES} values are not resampled"
        )
    if (evidence.n_clusters(group) or 0) < 2:
        raise MetricError(_ONE_UNIT)
    keys = evidence.units.keys

    def draw(units: Integers, first: int, count: int) -> Weights:
        return poisson_weights(keys[units], first, count)

    sums = draw_units(evidence, group, draw)
    drawn = finalize_replicates(evidence.finalizer, REPLICATES, sums)
    if drawn.reason:
        raise MetricError(drawn.reason)
    return drawn.values_of(part)
