"""Says to which examples a metric itself gave no score.

They were handed to the metric, so neither the predictions nor a policy are the reason.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
import polars as pl

from evalkit.base.violations import shorten
from evalkit.base.wording import count_of
from evalkit.plugins.bound import BoundMetric
from evalkit.scoring.evidence import Evidence
from evalkit.scoring.grouping import Groups
from evalkit.scoring.outcomes import most_left
from evalkit.scoring.records import GroupScore
from evalkit.scoring.table import ScoringTable
from evalkit.statistics.intervals import without_interval

NOTHING_SCORED = "no example was scored"

_SHOWN_REASONS = 3


def unscored_notices(
    metric: BoundMetric,
    statistics: pl.DataFrame,
    table: ScoringTable,
    unscored: pl.DataFrame,
) -> list[str]:
    """Say how many examples of a table a metric gave no score.

    Args:
        metric: The metric.
        statistics: What it returned, with the column `position`.
        table: What it was given.
        unscored: Those of which it says why, and those for which it failed.

    Returns:
        Notices that name the metric; nothing where each example has a score, or none
        has, which is the reason of a score without a value.
    """
    given, word = _given(metric, table)
    scored = statistics["position"].n_unique()
    if scored == 0:
        return []
    origin = metric.component.origin + (f"#{metric.part}" if metric.part else "")
    notices = []
    silent = given - scored - unscored.height
    rest = "they are not part of its n and value"
    if silent:
        how_many = f"{silent} of {count_of(given, word)}"
        notices.append(f"{origin}: {silence_of(metric)} for {how_many}; {rest}")
    named = unscored.filter(~pl.col("failed"))
    if named.height:
        how_many = f"{named.height} of {count_of(given, word)} ({reasons_of(named)})"
        notices.append(f"{origin}: did not score {how_many}; {rest}")
    return notices


def failure_text(
    metric: BoundMetric, unscored: pl.DataFrame, table: ScoringTable
) -> str | None:
    """Say for how many examples a metric failed that has scores of others.

    Args:
        metric: The metric.
        unscored: The examples that it did not score.
        table: What it was given.

    Returns:
        The text, with the first failure; None where it did not fail.
    """
    failed = unscored.filter("failed")
    if failed.is_empty():
        return None
    origin = metric.component.origin
    given, word = _given(metric, table)
    how_many = f"{failed.height} of {count_of(given, word)}"
    first = str(failed["reason"][0])
    own = first.removeprefix(f"{origin}: ")
    # a reason of a computed column names what computed it
    why = f", as it failed: {own}" if own != first else f": {first}"
    return f"{origin}: {how_many} left out{why}"


def without_too_few(
    metric: BoundMetric,
    scores: Sequence[GroupScore],
    unscored: pl.DataFrame,
    table: ScoringTable,
    groups: Groups,
) -> list[GroupScore]:
    """Take the value from groups of which a metric scored too few examples.

    Args:
        metric: The metric.
        scores: The scores of all groups.
        unscored: The examples that it did not score.
        table: What it was given.
        groups: The groups.

    Returns:
        The scores, null with the reason where more than the metric's share was left
        out.
    """
    if unscored.is_empty():
        return list(scores)
    count, positions = len(groups.tags), len(table.ids)
    of_groups = []
    for chosen in (unscored["position"], table.frame["position"]):
        is_chosen = np.zeros(positions, dtype=bool)
        is_chosen[chosen.to_numpy()] = True
        members = groups.group[is_chosen[groups.position]]
        of_groups.append(np.bincount(members, minlength=count).tolist())
    found = []
    for score in scores:
        left, given = (numbers[score.group] for numbers in of_groups)
        if score.value is not None and left > most_left(metric, given):
            why = (
                f"{metric.component.origin}: did not score {left} of {given}, and its "
                f"most_not_scored is {metric.most_not_scored:g}"
            )
            nothing = without_interval("there is no value")
            score = score._replace(
                value=None, interval=nothing, reason=why, spread=None
            )
        found.append(score)
    return found


def why_no_value(evidence: Evidence, group: int, unscored: pl.DataFrame) -> str:
    """Say why `finalize` gave a group no value.

    Args:
        evidence: What the metric's scores are computed from.
        group: The group.
        unscored: The examples that the metric did not score.

    Returns:
        The reason, which names the metric where it is the metric's.
    """
    origin = evidence.metric.component.origin
    if evidence.n[group]:
        return f"{origin}: finalize gave no value"
    is_counted = np.zeros(len(evidence.table.ids), dtype=bool)
    is_counted[evidence.table.frame["position"].to_numpy()] = True
    positions = evidence.groups.positions_of(group)
    given = int(is_counted[positions].sum())
    if not given:
        return NOTHING_SCORED
    word = "answer" if evidence.table.repeats > 1 else "example"
    whom = f"all {given} {word}s" if given > 1 else f"the only {word}"
    left = unscored.filter(pl.col("position").is_in(positions.tolist()))
    if left.height == given:
        return f"{origin}: did not score {whom} ({reasons_of(left)})"
    return f"{origin}: {silence_of(evidence.metric)} for {whom}"


def _given(metric: BoundMetric, table: ScoringTable) -> tuple[int, str]:
    """Return how many rows a metric was given, and what they are."""
    if table.repeats == 1:
        return table.frame.height, "example"
    if metric.has("statistics") and metric.joins_replications:
        return (table.frame["position"] // table.repeats).n_unique(), "example"
    return table.frame.height, "answer"


def reasons_of(unscored: pl.DataFrame) -> str:
    """Count the most frequent reasons of the rows of a table that says why."""
    counts = Counter(unscored["reason"].to_list())
    ranked = sorted(counts.items(), key=lambda each: (-each[1], each[0]))
    shown = [f"{shorten(why, 60)}: {count}" for why, count in ranked[:_SHOWN_REASONS]]
    more = [f"{len(ranked) - _SHOWN_REASONS} more reasons"]
    return ", ".join(shown + (more if len(ranked) > _SHOWN_REASONS else []))


def silence_of(metric: BoundMetric) -> str:
    """Say how a metric left out an example without a reason."""
    if metric.has("statistics"):
        return "statistics gave no row"
    return f"{metric.example_hook or 'example_statistics'} returned None"
