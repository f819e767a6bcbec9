"""What a metric made of single examples: a score, or why there is none.

A batch is one table, so that it can come from another process: rows with a score, and
rows in whose column `UNSCORED` stands why there is none.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import polars as pl

from evalkit.base.columns import all_named
from evalkit.base.terms import NotScored
from evalkit.errors import MetricError
from evalkit.plugins.bound import BoundMetric
from evalkit.scoring.table import LACKING

UNSCORED = "__unscored"
"""Column with the reason why an example has no score."""

FAILED = "__failed"
"""Column that tells whether the metric failed, and did not say so on purpose."""

PART = "__part"
"""Column with the name of the score, of a metric that gives several."""


EXTRA = frozenset({UNSCORED, FAILED, PART})
"""Columns that are no statistics."""


class Left(NamedTuple):
    """An example that a metric did not score."""

    position: int
    reason: str
    failed: bool
    part: str | None = None
    """Name of the score that it does not have; None for all."""


class Outcomes(NamedTuple):
    """What a metric made of the examples of a table."""

    statistics: pl.DataFrame
    """`position`, the metric's keys and its number columns, of those it scored."""
    unscored: pl.DataFrame
    """`position`, `reason` and `failed` of those that it did not score, sorted by
    position; without those to which it says that it does not apply."""


_LEFT: dict[str, pl.DataType] = {
    UNSCORED: pl.String(),
    FAILED: pl.Boolean(),
    PART: pl.String(),
}


def reason_of_group(metric: BoundMetric, outcome: NotScored) -> str:
    """Say why a metric did not score a whole group of examples."""
    return f"{metric.component.origin}: did not score them ({outcome.reason})"


def no_outcomes() -> pl.DataFrame:
    """Return the `unscored` of a metric that scored all."""
    return pl.DataFrame(schema=LACKING)


def with_left(scored: pl.DataFrame, left: Sequence[Left]) -> pl.DataFrame:
    """Add the examples without a score to those of a batch.

    Args:
        scored: `position` and what the metric gave.
        left: The others.

    Returns:
        One table.
    """
    if not left:
        return scored
    kinds = [scored.schema["position"], *_LEFT.values()]
    schema = dict(zip(("position", *_LEFT), kinds, strict=True))
    frame = pl.DataFrame(left, schema=schema, orient="row")
    return pl.concat([_with_room(scored), frame], how="diagonal")


def join_batches(parts: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """Join the tables of all batches, of which only some may have examples left out."""
    if any(UNSCORED in part.columns for part in parts):
        parts = [
            part if UNSCORED in part.columns else _with_room(part) for part in parts
        ]
    return pl.concat(parts)


def join_numbers(
    metric: BoundMetric, parts: Sequence[pl.DataFrame], limit: FailureLimit
) -> pl.DataFrame:
    """Join batches, and leave out those whose numbers are not those of most examples.

    Args:
        metric: The metric.
        parts: The tables of the batches.
        limit: Told of the examples that are left out.

    Returns:
        One table.
    """
    names = [frozenset(part.columns) - EXTRA - {"position"} for part in parts]
    rows: Counter[frozenset[str]] = Counter()
    for found, part in zip(names, parts, strict=True):
        has_left = UNSCORED in part.columns
        scored = part[UNSCORED].null_count() if has_left else part.height
        rows[found] += scored if found else 0
    common = max(rows, key=rows.__getitem__, default=frozenset())
    why = (
        f"{metric.component.origin}: example_statistics must return a dict of the same "
        f"numbers for each example; of most they are {', '.join(sorted(common))}"
    )
    joined = []
    for found, part in zip(names, parts, strict=True):
        if found and found != common:
            part = _with_room(part).select(
                "position",
                pl.col(UNSCORED).fill_null(why),
                pl.col(FAILED).fill_null(True),
                PART,
            )
            limit.add(part)
        joined.append(part)
    return pl.concat(joined, how="diagonal")


def _with_room(part: pl.DataFrame) -> pl.DataFrame:
    """Add the columns of examples without a score, of which it has none."""
    return part.with_columns(
        pl.lit(None, dtype=kind).alias(name)
        for name, kind in _LEFT.items()
        if name not in part.columns
    )


def split_outcomes(frame: pl.DataFrame, part: str | None = None) -> Outcomes:
    """Tell the examples with a score from those without.

    Args:
        frame: What `join_batches` returned.
        part: The score that is meant, of a metric that gives several in one pass.

    Returns:
        Both.
    """
    extra = [name for name in frame.columns if name in EXTRA]
    if part is not None and PART in extra:
        is_of_all = pl.col(PART).is_null()
        frame = frame.filter((pl.col(PART) == part) | is_of_all)
    if UNSCORED not in extra:
        return Outcomes(frame.drop(all_named(extra)), no_outcomes())
    is_scored = pl.col(UNSCORED).is_null()
    unscored = frame.filter(~is_scored).select(
        pl.col("position").cast(pl.UInt32),
        reason=pl.col(UNSCORED),
        failed=pl.col(FAILED),
    )
    return Outcomes(
        frame.filter(is_scored).drop(all_named(extra)), unscored.sort("position")
    )


def keep_cause(metric: BoundMetric, error: BaseException | None) -> None:
    """Keep what a metric raised for an example that is left out, if it is the first."""
    if error is not None:
        metric.computed.setdefault("cause", error)


class FailureLimit:
    """Ends the scoring of a metric that fails for too many examples.

    Args:
        metric: The metric.
        rows: How many examples it is given; infinite for no limit.
    """

    def __init__(self, metric: BoundMetric, rows: float) -> None:
        self._metric = metric
        self._most = most_left(metric, rows)
        self._failed = 0
        self._first = ""

    def add(self, part: pl.DataFrame) -> None:
        """Count the failures of a batch.

        Args:
            part: What `with_left` returned for the batch.

        Raises:
            MetricError: They are too many; it is the first one.
        """
        if FAILED not in part.columns:
            return
        failed = part.filter(pl.col(FAILED))
        if failed.is_empty():
            return
        self._first = self._first or str(failed.sort("position")[UNSCORED][0])
        self._failed += failed["position"].n_unique()
        if self._failed > self._most:
            self._raise()

    def refuse_nothing(self, joined: pl.DataFrame) -> None:
        """Refuse that nothing was scored because of failures.

        Args:
            joined: What `join_batches` returned.

        Raises:
            MetricError: No example has a score, and the metric failed for one.
        """
        is_limited = self._most < math.inf
        if is_limited and self._failed and joined[UNSCORED].null_count() == 0:
            self._raise()

    def _raise(self) -> None:
        cause = self._metric.computed.pop("cause", None)
        raise MetricError(self._first) from cause


def most_left(metric: BoundMetric, rows: float) -> float:
    """Return of how many examples at most a metric may have scored none.

    Args:
        metric: The metric.
        rows: How many examples there are; infinite of a part of a set.

    Returns:
        Its share of them, and at least 1.
    """
    if rows == math.inf:
        return rows
    return max(1.0, metric.most_not_scored * rows)


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
