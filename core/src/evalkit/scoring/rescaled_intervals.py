"""Intervals of scores that are linear functions of another metric's.

A score that is cut off at a bound has no gradient there, and resampled examples may all
be beyond it. So the interval is that of the other metric, and its ends are rescaled.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import polars as pl

from evalkit.errors import MetricError
from evalkit.inference.intervals import Interval, without_interval
from evalkit.scoring.evidence import Evidence
from evalkit.scoring.group_intervals import GroupIntervals
from evalkit.scoring.records import Advance

OWN_COLUMNS = "scaling"
"""How names of statistics begin that the metric which is rescaled does not have."""

METHOD = "rescaled"


class RescaledIntervals(GroupIntervals):
    """Computes the intervals of a metric that rescales another one.

    Args:
        evidence: What its scores were computed from.
        other: What those of the other metric were.
        advance: Told about progress.
    """

    def __init__(self, evidence: Evidence, other: Evidence, advance: Advance) -> None:
        super().__init__(evidence, advance)
        self._other = other
        self._intervals = GroupIntervals(other, advance)
        self._cut: dict[int, list[str]] = {}

    def of(self, group: int, score: str, value: float, confidence: float) -> Interval:
        """Rescale the interval of the other metric."""
        zero, one = self._scales.get(group, (None, None))
        other = self._values.get(group)
        if score or zero is None or one is None or zero == one or other is None:
            return without_interval("there is no interval to rescale")
        found = self._intervals.of(group, self._part, other, confidence)
        if found.low is None or found.high is None:
            return found
        ends = [(end - zero) / (one - zero) for end in (found.low, found.high)]
        low, high = (self._within(end(*ends, value)) for end in (min, max))
        cut = (f"{end:g}" for end in (low, high) if end not in ends)
        self._cut[group] = [*dict.fromkeys(cut)]
        error = found.standard_error
        error = None if error is None else error / abs(one - zero)
        return Interval(low, high, error, METHOD)

    def note(self, group: int) -> str | None:
        """Say that an interval ends where scores are cut off."""
        cut = self._cut.get(group)
        return f"its interval is cut off at {' and '.join(cut)}" if cut else None

    def _within(self, end: float) -> float:
        low, high = self._evidence.metric.bounds or (None, None)
        end = end if low is None else max(end, float(low))
        return end if high is None else min(end, float(high))

    @property
    def _part(self) -> str:
        """The name of the other metric's score in what its `finalize` gives."""
        metric = self._other.metric
        return metric.part if metric.has("finalize") else ""

    @cached_property
    def _values(self) -> dict[int, float]:
        rows = self._other.finalizer(self._other.sums)
        chosen = rows.filter(pl.col("score") == self._part).drop_nulls("value")
        return dict(chosen.select("group", "value").iter_rows())

    @cached_property
    def _scales(self) -> dict[int, tuple[float | None, float | None]]:
        evidence = self._evidence
        returned: Any = evidence.metric.scaling(evidence.sums, evidence.table.context)
        names = ("group", "zero", "one")
        if not isinstance(returned, pl.DataFrame) or {*names} - {*returned.columns}:
            raise MetricError(
                f"{evidence.metric.component.origin}: scaling must return a polars "
                f"DataFrame with {', '.join(names)}"
            )
        if {*returned["group"]} != {*evidence.sums["group"]}:
            raise MetricError(
                f"{evidence.metric.component.origin}: scaling must return a row for "
                "each group of its sums, and no others"
            )
        return {group: (zero, one) for group, zero, one in returned[names].iter_rows()}
