"""The table that metrics score, and the batches of its rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import polars as pl

from evalkit.base.terms import MetricContext
from evalkit.plugins.bound import BoundMetric


class ScoringTable(NamedTuple):
    """What metrics score."""

    frame: pl.DataFrame
    """Columns `position`, `prediction` (null where there is none), `target`, and
    those that metrics may ask for; only examples that count."""
    ids: Sequence[str]
    """Ids of all examples, by position."""
    clusters: pl.Series | None
    """Cluster of every example, by position."""
    context: MetricContext
    replications: tuple[str, ...] = ()
    """Names of the replications, where each example has several answers; its answers
    then stand at consecutive positions, in this order."""

    unit_names: Sequence[str] | None = None
    """What the examples are called when they are resampled; by default their ids."""

    @property
    def repeats(self) -> int:
        """How many answers each example has, at least 1."""
        return max(1, len(self.replications))

    def without_prediction(self) -> int:
        """Count the examples whose prediction is null."""
        return self.frame["prediction"].null_count()


class Batch(NamedTuple):
    """Some rows of a table, with all that a metric needs to score them."""

    frame: pl.DataFrame
    """`position`, `prediction`, `target` and the metric's columns."""
    ids: Mapping[int, str] | Sequence[str]
    """Ids by position; those of other rows may be in it too."""
    context: MetricContext
    fields: tuple[str, ...]
    """What the metric could ask for, beside what it did ask for."""

    @property
    def rows(self) -> int:
        """How many examples there are."""
        return self.frame.height

    def id_of(self, row: int) -> str:
        """Give the id of the example in a row."""
        return self.ids[self.frame["position"][row]]

    def part(self, first: int, stop: int) -> Batch:
        """Give some of the rows, from `first` up to but not with `stop`."""
        return self._replace(frame=self.frame.slice(first, stop - first))

    def with_own_ids(self) -> Batch:
        """Give the same batch without the ids of other rows."""
        return self._replace(ids={p: self.ids[p] for p in self.frame["position"]})


BatchFunction = Callable[[BoundMetric, Batch], pl.DataFrame]
"""Computes one batch; a function of a module, so that a worker finds it by name."""
