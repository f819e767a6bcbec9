"""Several answers to one example: one value per example first, then over examples."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import polars as pl

from evalkit.base.columns import all_named, named
from evalkit.scoring.evidence import Evidence
from evalkit.scoring.finalization import REPLICATION
from evalkit.scoring.grouping import Groups
from evalkit.scoring.records import GroupScore
from evalkit.statistics.clusters import Floats


class Repeated(NamedTuple):
    """Statistics of examples that were answered several times."""

    statistics: pl.DataFrame
    """What is scored."""
    apart: int
    """How many replications the statistics tell apart by `REPLICATION`; 1 where each
    example has one row, the mean of its replications."""
    within: Floats | None = None
    """Variance of the score over the replications, by position of the first; nan
    where an example has fewer than two."""


def repeated_statistics(
    statistics: pl.DataFrame, column: str | None, keys: Sequence[str], repeats: int
) -> Repeated:
    """Prepare the statistics of replications for scoring.

    Args:
        statistics: `position`, keys and number columns.
        column: The per-example score; None for a set-level metric.
        keys: The metric's keys.
        repeats: How many replications there are.

    Returns:
        For a per-example metric, the mean of each example's rows, at the position of
        its first replication; else the statistics with their replication as a key.
    """
    if column is None or keys:
        apart = (pl.col("position") % repeats).cast(pl.Int64).alias(REPLICATION)
        return Repeated(statistics.with_columns(apart), repeats)
    first = pl.col("position") // repeats * repeats
    columns = [name for name in statistics.columns if name != "position"]
    means = (
        statistics.with_columns(position=first)
        .sort(all_named(["position", *columns]))
        .group_by("position", maintain_order=True)
        .agg(all_named(columns).mean(), named(column).var(ddof=1).alias("__within"))
    )
    positions = means["position"].to_numpy()
    within = np.full(int(positions.max(initial=0)) + 1, np.nan)
    within[positions] = means["__within"].fill_null(np.nan)
    return Repeated(means.drop("__within"), 1, within)


def count_incomplete(examples: pl.DataFrame, repeats: int) -> int:
    """Count the examples with fewer valid answers than there are replications.

    Args:
        examples: The columns `id` and `status`, a row for each answer.
        repeats: How many replications there are.

    Returns:
        How many examples lack an answer.
    """
    valid = examples.group_by("id").agg((pl.col("status") == "scored").sum())
    return int((valid["status"] < repeats).sum())


def stddev_within(within: Floats, groups: Groups, group: int) -> float | None:
    """Return the pooled standard deviation over the replications of an example.

    Args:
        within: Variances by position.
        groups: The groups.
        group: Number of the group.

    Returns:
        The root of the mean variance of the group's examples; None without any.
    """
    positions = groups.positions_of(group)
    found = within[positions[positions < len(within)]]
    found = found[np.isfinite(found)]
    return math.sqrt(math.fsum(found) / len(found)) if len(found) else None


def stddev_of_replications(
    scores: pl.DataFrame, groups: Groups, repeats: int
) -> list[float | None]:
    """Return the standard deviation of the mean score over the replications.

    Args:
        scores: `position` and `score` of every answer.
        groups: The groups.
        repeats: How many replications there are.

    Returns:
        One number for each group; None where a replication has no answer.
    """
    value = np.zeros(int(groups.position.max(initial=0)) + 1)
    known = np.zeros(len(value))
    positions = scores["position"].to_numpy()
    value[positions] = scores["score"].to_numpy()
    known[positions] = 1
    cell = groups.group.astype(np.int64) * repeats + groups.position % repeats
    size = len(groups.tags) * repeats
    totals = np.bincount(cell, weights=value[groups.position], minlength=size)
    counts = np.bincount(cell, weights=known[groups.position], minlength=size)
    with np.errstate(invalid="ignore", divide="ignore"):
        means = (totals / counts).reshape(-1, repeats)
    return [
        float(np.std(row, ddof=1)) if np.isfinite(row).all() else None for row in means
    ]


def with_replications(
    scores: list[GroupScore],
    evidence: Evidence,
    repeated: Repeated,
    per_example: pl.DataFrame | None,
) -> list[GroupScore]:
    """Add what only several answers to an example can tell.

    Args:
        scores: The scores of all groups.
        evidence: What they were computed from.
        repeated: The statistics of the replications.
        per_example: `position` and `score` of every answer; None for a metric without
            such scores.

    Returns:
        The scores, with the spread over and between replications.
    """
    groups, repeats = evidence.groups, evidence.table.repeats
    between: list[float | None] = [None] * len(groups.tags)
    if per_example is not None:
        between = stddev_of_replications(per_example, groups, repeats)
    within = repeated.within
    found = []
    for score in scores:
        is_mean = within is not None and score.score == "" and score.value is not None
        answers = _answers(evidence, per_example, score.group)
        if answers is not None and evidence.metric.joins_replications:
            answers *= repeats
        found.append(
            score._replace(
                replications=repeats,
                coverage=answers,
                stddev_within=(
                    stddev_within(within, groups, score.group)
                    if is_mean and within is not None
                    else None
                ),
                stddev_replications=(
                    between[score.group] if is_mean else score.stddev_replications
                ),
            )
        )
    return found


def _answers(
    evidence: Evidence, per_example: pl.DataFrame | None, group: int
) -> float | None:
    """Return the share of a group's answers that were scored."""
    positions = evidence.groups.positions_of(group)
    if not len(positions):
        return None
    scored = evidence.rows.has_rows
    if per_example is not None:
        scored = np.zeros(len(scored), dtype=bool)
        scored[per_example["position"].to_numpy()] = True
    return float(scored[positions].mean())
