"""The metric that is checked, and what it makes of data."""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any, NamedTuple

import polars as pl

from evalkit import MetricContext, MetricError
from evalkit.catalog import BoundMetric, BoundTask
from evalkit.scoring import (
    Groups,
    GroupScore,
    MetricScores,
    Outcomes,
    ScoringSettings,
    ScoringTable,
    finalize,
    group_by_tag,
    make_table,
    score_metric,
    score_statistics,
)


class Row(NamedTuple):
    """One example with its prediction."""

    uid: str
    prediction: Any
    target: Any
    fields: Mapping[str, Any]
    """The metric's `columns`."""
    tags: tuple[str, ...]
    cluster: int

    def __repr__(self) -> str:
        """Show what a metric sees, and the tags where there are any."""
        shown = [repr(self.prediction), repr(self.target)]
        if self.fields:
            shown.append(repr(dict(self.fields)))
        if self.tags:
            shown.append(f"tags={list(self.tags)}")
        return f"({', '.join(shown)})"


class Sample(NamedTuple):
    """What is drawn for one check of a law."""

    rows: tuple[Row, ...]
    clustered: bool
    order: tuple[int, ...]
    """A permutation of the rows' numbers."""
    cuts: tuple[int, ...]
    """Where the rows are cut into batches, increasing."""
    parts: tuple[int, ...]
    """The part that each row goes to."""
    silent: tuple[bool, ...]
    """Which rows lose their prediction where a law asks for it."""
    others: tuple[Row, ...]
    """Rows of another set."""


def to_table(
    rows: Sequence[Row],
    context: MetricContext,
    columns: Sequence[str],
    clustered: bool = False,
    task: BoundTask | None = None,
) -> ScoringTable:
    """Make the table that metrics score."""
    fields = {name: [row.fields.get(name) for row in rows] for name in columns}
    table = make_table(
        [row.prediction for row in rows],
        [row.target for row in rows],
        context,
        ids=[row.uid for row in rows],
        fields=fields,
        clusters=[row.cluster for row in rows] if clustered else None,
        task=task,
    )
    typed = {name: _lists_of_numbers(values) for name, values in fields.items()}
    found = [column.alias(name) for name, column in typed.items() if column is not None]
    return table._replace(frame=table.frame.with_columns(found))


def _lists_of_numbers(values: Sequence[Any]) -> pl.Series | None:
    """Return the column that an annotation such as `list[float]` makes of values."""
    if not all(value is None or isinstance(value, list | tuple) for value in values):
        return None
    kinds = {type(item) for value in values for item in value or () if item is not None}
    if not kinds or not kinds <= {int, float}:
        return None
    inner = pl.Float64() if float in kinds else pl.Int64()
    return pl.Series(values, dtype=pl.List(inner), strict=False)


def groups_of(rows: Sequence[Row]) -> Groups:
    """Return the groups of rows: the whole set and every tag."""
    return _by_tag([list(row.tags) for row in rows])


def whole_set(count: int) -> Groups:
    """Return the one group of rows without tags."""
    return _by_tag([[]] * count)


def _by_tag(tags: list[list[str]]) -> Groups:
    return group_by_tag(pl.Series("tags", tags, dtype=pl.List(pl.String)))


Part = tuple[str | None, str]
"""Tag (None for the whole set) and name of a score."""

Finalized = Mapping[Part, float | None]
"""Values by tag and name of the score."""


class Scored(NamedTuple):
    """What a metric made of a set of examples."""

    scores: Mapping[Part, GroupScore]
    per_example: Mapping[int, float] | None
    """Scores of single examples by position."""
    failed: bool


class Subject:
    """A metric that is checked, with one kind of answers.

    Args:
        bound: The metric.
        context: What the metric knows beside the data.
        allows_errors: Whether the metric may fail.
        task: Whose fields say of which types the values are.

    Attributes:
        context: The same.
        allows_errors: The same.
        task: The same.
        origin: The metric's name with its parameters and its distribution.
        attributes: What it declares.
        keys: The columns that name a cell of its sums.
        adds_up: Whether it has statistics, which a function of lists does not.
    """

    def __init__(
        self,
        bound: BoundMetric,
        context: MetricContext,
        allows_errors: bool,
        task: BoundTask | None = None,
    ) -> None:
        self._as_given = bound
        self.task = task
        self.context = context
        self.allows_errors = allows_errors
        component = bound.component
        self.origin = f"{component.kind}/{bound.name} ({component.distribution})"
        self._targets: list[Any] | None = None
        self.attributes: Mapping[str, Any] = bound.attributes
        self.keys = ("group", *self.attributes["keys"])
        self.adds_up = not bound.has("compute")
        self._seen = [0]

    @property
    def values_seen(self) -> int:
        """How many values it gave that are not null, whatever answers it had seen."""
        return self._seen[0]

    @values_seen.setter
    def values_seen(self, count: int) -> None:
        self._seen[0] = count

    def bind(self, **attributes: Any) -> BoundMetric:
        """Return the metric as it was made, whatever was done with it since."""
        try:
            bound = copy.deepcopy(self._as_given)
        except Exception:
            # it holds something that has no copy, such as a lock or an open file
            bound = copy.copy(self._as_given)
        bound = replace(
            bound, attributes={**bound.attributes, **attributes}, computed={}
        )
        if self._targets is None:
            return bound
        return bound.prepare(self._targets, self.context)

    def prepared(self, rows: Sequence[Row]) -> Subject:
        """Return the metric as one that has seen the answers of some rows."""
        if not self._as_given.has("prepare"):
            return self
        subject = copy.copy(self)
        table = self.table(rows)
        subject._targets = table.frame["target"].to_list()
        return subject

    def table(self, rows: Sequence[Row], clustered: bool = False) -> ScoringTable:
        """Make the table that holds some rows."""
        columns = self.attributes["columns"]
        return to_table(rows, self.context, columns, clustered, self.task)

    def score(self, metric: BoundMetric, table: ScoringTable, groups: Groups) -> Scored:
        """Score a table as an evaluation does.

        Args:
            metric: The metric, as bound.
            table: What is scored.
            groups: The groups.

        Returns:
            The scores.

        Raises:
            MetricError: The metric failed, which it may not.
        """
        metric.computed.clear()  # it is to be called again
        found = score_metric(metric, table, groups, ScoringSettings())
        if found.error and not self.allows_errors:
            raise found.failure or MetricError(found.error)
        return self._scored(found, groups)

    def score_statistics(
        self,
        metric: BoundMetric,
        outcomes: Outcomes,
        table: ScoringTable,
        groups: Groups,
    ) -> Scored:
        """Score statistics that were computed before, as merging runs does.

        Args:
            metric: The metric, as bound.
            outcomes: What it made of all examples, in any order.
            table: The examples.
            groups: The groups.

        Returns:
            The scores.

        Raises:
            MetricError: The metric failed.
        """
        found = score_statistics(metric, outcomes, table, groups, ScoringSettings())
        if found.failure:
            raise found.failure
        return self._scored(found, groups)

    def _scored(self, found: MetricScores, groups: Groups) -> Scored:
        scores = {(groups.tags[one.group], one.score): one for one in found.scores}
        self.values_seen += sum(one.value is not None for one in found.scores)
        return Scored(scores, _per_example(found), found.failure is not None)

    def score_rows(self, metric: BoundMetric, rows: Sequence[Row]) -> Scored:
        """Score rows, for the whole set and each tag."""
        return self.score(metric, self.table(rows), groups_of(rows))

    def finalize(
        self, metric: BoundMetric, sums: pl.DataFrame, groups: Groups
    ) -> Finalized:
        """Turn sums into values.

        Args:
            metric: The metric, as bound.
            sums: Sums by group.
            groups: The groups.

        Returns:
            The values as the metric gave them.

        Raises:
            MetricError: The metric failed.
        """
        found = finalize(metric, sums, self.context)
        rows = found.select("group", "score", "value").iter_rows()
        values = {(groups.tags[group], name): value for group, name, value in rows}
        self.values_seen += sum(value is not None for value in values.values())
        return values


def _per_example(found: MetricScores) -> Mapping[int, float] | None:
    if found.per_example is None:
        return None
    return dict(found.per_example.select("position", "score").iter_rows())


def scales_of(metric: BoundMetric, statistics: pl.DataFrame) -> Mapping[str, float]:
    """Return what the tolerance of merged columns is a share of."""
    scales: dict[str, float] = {}
    squares: dict[str, float] = {}
    keys = ("position", *metric.keys)
    for name in (name for name in statistics.columns if name not in keys):
        values = statistics[name].to_list()
        scale = max(1.0, math.fsum(map(abs, values)))
        if metric.merges.get(name) == "moments":
            square = max(1.0, math.fsum(value * value for value in values))
            scales |= {f"{name}_count": scale, f"{name}_mean": scale}
            scales |= {f"{name}_m2": square}
            squares[name] = square
        else:
            scales[name] = scale
    for one, other in combinations(sorted(squares), 2):
        root = math.sqrt(squares[one]) * math.sqrt(squares[other])
        scales[f"{one}_{other}_comoment"] = root
    return scales
