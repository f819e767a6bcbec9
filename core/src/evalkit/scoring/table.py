"""The table that metrics score, of values that they can compare, and its batches.

Numbers and texts become texts, so that 1 and "1" are equal; a list predicted where
answers are single values becomes its JSON text, which the run says.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from evalkit.base.columns import encode, join_parts, list_column, named, to_series
from evalkit.base.ids import REPLICATION_KEY, RESPONSES_KEY
from evalkit.base.terms import AnswerKind, MetricContext
from evalkit.base.violations import shorten
from evalkit.base.wording import count_of
from evalkit.errors import MetricError
from evalkit.plugins.bound import BoundMetric, BoundTask
from evalkit.reading.field_types import holds_more_than_plain, model_types
from evalkit.reading.typed_values import typed_series
from evalkit.statistics.resampling import Keys, unit_keys

LACKING = {"position": pl.UInt32, "reason": pl.String, "failed": pl.Boolean}
"""Columns of the tables of rows that lack something, and why."""


class ScoringTable(NamedTuple):
    """What metrics score."""

    frame: pl.DataFrame
    """Columns `position`, `prediction` (null where there is none), `target`, and
    those that metrics may ask for; only examples that count."""
    ids: Sequence[str] | pl.Series
    """Ids of all examples, by position."""
    clusters: pl.Series | None
    """Cluster of every example, by position."""
    context: MetricContext
    replications: tuple[str, ...] = ()
    """Names of the replications, where each example has several answers; its answers
    then stand at consecutive positions, in this order."""

    choices: pl.Series | None = None
    """Lists of the options of every example, by position, where they have own ones."""
    unit_names: Sequence[str] | None = None
    """What the examples are called when they are resampled; by default their ids."""
    lacking: Mapping[str, pl.DataFrame] = {}
    """By name of a computed column, `position`, `reason` and `failed` of the rows that
    should have a value and do not."""
    offered: Sequence[str] = ()
    """Names that a metric may ask for, where all are known."""
    is_part: bool = False
    """Whether it is a part of a set, of which failures say nothing about the whole."""

    @property
    def repeats(self) -> int:
        """How many answers each example has, at least 1."""
        return max(1, len(self.replications))

    @property
    def size(self) -> float:
        """How many rows there are to fail for; infinite of a part of a set."""
        return math.inf if self.is_part else self.frame.height

    def units(self, seed: int) -> Units:
        """Say which units are resampled.

        Args:
            seed: Seed of the resampling.

        Returns:
            The units of all positions.
        """
        clusters = None if self.clusters is None else self.clusters.to_numpy()
        return Units(self.unit_names or self.ids, clusters, seed, self.repeats)

    def lacking_for(self, metric: BoundMetric) -> pl.DataFrame:
        """Return the rows that lack a computed column that a metric asks for.

        Args:
            metric: The metric.

        Returns:
            `position`, `reason` (of the first such column) and `failed`, by position.
        """
        found = [pl.DataFrame(schema=LACKING)]
        for name in metric.columns:
            if name in self.lacking:
                # a failure says itself whose it is
                named = pl.format("{}: {}", pl.lit(name), "reason")
                reason = pl.when("failed").then("reason").otherwise(named)
                found.append(self.lacking[name].with_columns(reason=reason))
        rows = pl.concat(found).unique("position", keep="first")
        is_here = pl.col("position").is_in(self.frame["position"].implode())
        return rows.filter(is_here).sort("position")

    def without_prediction(self) -> int:
        """Count the examples whose prediction is null."""
        return self.frame["prediction"].null_count()


LIST_KINDS = ("any-of", "all-of", "spans", "ranked")
"""Kinds of answers that are lists."""


def make_table(
    predictions: Sequence[Any],
    targets: Sequence[Any],
    context: MetricContext,
    *,
    ids: Sequence[str],
    fields: Mapping[str, Sequence[Any]] | None = None,
    clusters: Sequence[int] | None = None,
    task: BoundTask | None = None,
) -> ScoringTable:
    """Make a table of plain values, or of those of a task.

    Args:
        predictions: One for each example; None where there is none.
        targets: The answer of each example; a list where the kind of answers is one.
        context: What metrics know beside the examples.
        ids: Id of each example; what is resampled depends on them and not on the order.
        fields: What metrics may ask for, by name, one value an example.
        clusters: Cluster of each example, where they are not independent.
        task: Whose fields say of which types predictions, answers and fields are, so
            that dates, structs and lists of them stay what they are.

    Returns:
        The table.

    Raises:
        ValueError: A value cannot be stored in a column.
    """
    types: dict[str, pl.DataType] = {}
    if task is not None:
        types = model_types(task.Input) | model_types(task.Output, context.labels)
    position = pl.Series("position", range(len(targets)), dtype=pl.UInt32)
    answer = types.get((task and task.answer_field) or "")
    if answer is not None and holds_more_than_plain(answer):
        several = pl.List(answer) if context.answer_kind == "any-of" else answer
        prediction = typed_series("prediction", predictions, answer)
        target = typed_series("target", targets, several)
    else:
        prediction, target = _plain_pair(predictions, targets, context.answer_kind)
    further = [
        typed_series(name, values, types[name])
        if name in types
        else join_parts(name, [], values)
        for name, values in (fields or {}).items()
    ]
    frame = pl.DataFrame([position, prediction, target, *further])
    numbers = None if clusters is None else pl.Series(clusters, dtype=pl.Int64)
    return ScoringTable(frame, ids, numbers, context)


def _are_lists_of_texts(values: Sequence[Any]) -> bool:
    return all(
        isinstance(value, list | tuple) and all(isinstance(item, str) for item in value)
        for value in values
        if value is not None
    )


def _plain_pair(
    predictions: Sequence[Any], targets: Sequence[Any], kind: AnswerKind
) -> tuple[pl.Series, pl.Series]:
    is_texts = kind in LIST_KINDS and _are_lists_of_texts(targets)
    target = (list_column if is_texts else to_series)("target", targets)
    # lists of which all are empty have no type of their own
    are_alike = is_texts and kind != "any-of" and _are_lists_of_texts(predictions)
    prediction = (list_column if are_alike else to_series)("prediction", predictions)
    if prediction.null_count() == len(predictions) and not is_texts:
        # without values it has no type of its own to compare with the targets'
        prediction = prediction.cast(target.dtype)
    return prediction, target


def columns_for(metric: BoundMetric, frame: pl.DataFrame) -> list[pl.Expr]:
    """Return what a metric asks for beside prediction and target."""
    return [
        named(name) if name in frame.columns else pl.lit(None).alias(name)
        for name in dict.fromkeys(metric.columns)
        if name not in ("prediction", "target")
    ]


def joined_replications(
    table: ScoringTable, columns: Sequence[str] = ()
) -> ScoringTable:
    """Put the answers to each example into one row."""
    if table.repeats == 1:
        return table
    is_asked = RESPONSES_KEY in columns and RESPONSES_KEY in table.frame.columns
    if is_asked and table.frame[RESPONSES_KEY].count():
        raise MetricError(
            "replications with alternatives (`responses`) cannot be scored; give each "
            f"alternative as a row with its own `{REPLICATION_KEY}`"
        )
    prediction = pl.col("prediction")
    lacks = prediction.is_null().any()
    others = pl.exclude("position", "prediction", RESPONSES_KEY)
    frame = (
        table.frame.sort("position")
        .group_by(pl.col("position") // table.repeats * table.repeats)
        .agg(
            pl.when(~lacks).then(prediction.first()),
            prediction.alias(RESPONSES_KEY),
            others.first(),
        )
        .sort("position")
    )
    return table._replace(frame=frame)


class Batch(NamedTuple):
    """Some rows of a table, with all that a metric needs to score them."""

    frame: pl.DataFrame
    """`position`, `prediction`, `target` and the metric's columns."""
    ids: Mapping[int, str] | Sequence[str] | pl.Series
    """Ids by position; those of other rows may be in it too."""
    context: MetricContext
    fields: tuple[str, ...]
    """What the metric could ask for, beside what it did ask for."""
    of: float | None = None
    """How many examples the whole table has; None where these are all, infinite where
    the table is a part of a set."""

    @property
    def rows(self) -> int:
        """How many examples there are."""
        return self.frame.height

    def id_of(self, row: int) -> str:
        """Return the id of the example in a row."""
        return str(self.ids[self.frame["position"][row]])

    def part(self, first: int, stop: int) -> Batch:
        """Return some of the rows, from `first` up to but not with `stop`."""
        return self._replace(frame=self.frame.slice(first, stop - first))

    def with_own_ids(self) -> Batch:
        """Return the same batch without the ids of other rows."""
        return self._replace(ids={p: self.ids[p] for p in self.frame["position"]})


BatchFunction = Callable[[BoundMetric, Batch], pl.DataFrame]
"""Computes one batch; a function of a module, so that a worker finds it by name."""


def comparable(frame: pl.DataFrame, kind: AnswerKind) -> pl.DataFrame:
    """Write predictions and answers as texts where their types cannot be compared."""
    target = frame.schema["target"]
    single: Any = target
    is_any_of = kind == "any-of" and isinstance(target, pl.List)
    if isinstance(target, pl.List) and is_any_of:
        single = target.inner
    if kind not in ("one", "any-of") or _are_alike(frame.schema["prediction"], single):
        return frame
    found = [_texts(frame["prediction"])]
    if not is_any_of:
        found.append(_texts(frame["target"]))
    return frame.with_columns(found)


def _are_alike(first: Any, second: Any) -> bool:
    if first == second or pl.Null in (first, second):
        return True
    return _is_number(first) and _is_number(second)


def _is_number(dtype: pl.DataType) -> bool:
    return dtype.is_numeric() or dtype == pl.Boolean


def _texts(values: pl.Series) -> pl.Series:
    if values.dtype == pl.String:
        return values
    texts = [encode(value) for value in values.to_list()]
    return pl.Series(values.name, texts, dtype=pl.String)


class ListsGiven(NamedTuple):
    """Predictions that are lists where answers are single values."""

    number: int
    example: str
    """The first of them."""

    @classmethod
    def among(
        cls,
        predictions: pl.Series,
        kind: AnswerKind,
        ids: Sequence[str] | pl.Series,
        show: bool = True,
    ) -> ListsGiven | None:
        """Find them; None where there is none."""
        if kind not in ("one", "any-of") or not isinstance(predictions.dtype, pl.List):
            return None
        given = predictions.is_not_null()
        if not given.any():
            return None
        place = int(given.arg_true()[0])
        text = shorten(encode(predictions[place : place + 1].to_list()[0]))
        example = f"{text} (id {ids[place]!r})" if show else f"id {ids[place]!r}"
        return cls(int(given.sum()), example)

    def __str__(self) -> str:
        return (
            f"{count_of(self.number, 'prediction')} given as a list where answers are "
            "single values: each is compared as its JSON text, such as "
            f"{self.example}"
        )


class Units:
    """The units that a sample is made of: examples, or clusters of examples.

    Clusters are the units where there are any. Else the units are the examples; the
    replications of an example are one unit.

    Args:
        ids: The name of each row's example; replications follow each other.
        clusters: The cluster of each row, of shape (rows,); None for independent
            examples.
        seed: Seed of the resampling.
        repeats: How many rows each example has.

    Attributes:
        codes: Number of the unit of each row, from 0.
        count: How many units there are.
        clustered: Whether examples are grouped into clusters.
    """

    def __init__(
        self,
        ids: Sequence[str] | pl.Series,
        clusters: NDArray[Any] | None,
        seed: int,
        repeats: int = 1,
    ) -> None:
        self._names: Sequence[Any] | pl.Series = ids[::repeats]
        self._seed = seed
        self.clustered = clusters is not None
        self.codes: NDArray[np.int64] = np.arange(len(ids), dtype=np.int64) // repeats
        if clusters is not None:
            distinct, codes = np.unique(clusters, return_inverse=True)
            self._names = distinct.tolist()
            self.codes = codes.astype(np.int64)
        self.count = len(self._names)

    @cached_property
    def keys(self) -> Keys:
        """What decides how often each unit is drawn, by number of the unit."""
        return unit_keys(map(str, self._names), self._seed)

    def sizes_of(self, rows: NDArray[Any]) -> NDArray[np.float64]:
        """Count those of some rows that each unit has, of units that have any."""
        sizes = np.bincount(self.codes[rows], minlength=self.count)
        return sizes[sizes > 0].astype(np.float64)
