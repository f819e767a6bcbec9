"""What a metric makes of each answer: rows of statistics, or why there are none."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from evalkit.base.columns import all_named
from evalkit.base.failures import hook_failures
from evalkit.base.terms import NotScored
from evalkit.base.violations import entries_of, shorten
from evalkit.errors import MetricError
from evalkit.plugins.bound import BoundMetric
from evalkit.plugins.bound_metrics import Failed
from evalkit.scoring.calls import checked_value
from evalkit.scoring.finalization import EXAMPLES
from evalkit.scoring.rows import listed
from evalkit.scoring.table import ScoringTable, columns_for
from evalkit.tallies.batch_statistics import RESERVED, batch_statistics
from evalkit.tallies.outcomes import (
    FAILED,
    LOST,
    NOT_SCORED,
    OUTCOME,
    OUTCOMES,
    REASON,
    SCORED,
    SILENT,
    FailureLimit,
    outcome_rows,
)

MODEL_ROWS = 256
"""Examples that `score_batch` gets at once, unless the metric says how many."""

STATISTICS_ROWS = 32_768
"""The most rows that `statistics` gets at once."""

EXAMPLE_ROWS = 65_536

_PLAIN = (float, int, bool, np.integer, np.floating, np.bool_)


def rows_by_score(
    metric: BoundMetric, table: ScoringTable, answers: int | None = None
) -> dict[str, pl.DataFrame]:
    """Call a metric for all answers of a table.

    Args:
        metric: A metric that is not a function of lists; of several scores that it
            gives in one pass, the whole.
        table: The answers.
        answers: How many the whole set has, of which the metric may fail for its share;
            None for any number of failures.

    Returns:
        By name of the score, `position`, `OUTCOME`, `REASON`, the keys and the numbers;
        at least one row for each answer.

    Raises:
        MetricError: The metric failed, or failed for too many answers.
    """
    lacking = table.lacking_for(metric)
    names = ["position", "prediction", "target"]
    frame = table.frame.select(all_named(names), *columns_for(metric, table.frame))
    outcome = pl.when("failed").then(pl.lit(LOST)).otherwise(pl.lit(NOT_SCORED))
    lost = lacking.select(outcome.alias(OUTCOME))[OUTCOME]
    without = outcome_rows(lacking["position"], lost, lacking["reason"])
    if lacking.height:
        frame = frame.join(lacking, "position", "anti", maintain_order="left")
    limit = FailureLimit(metric, answers)
    parts: dict[str, list[pl.DataFrame]] = {}
    for batch in _batches(metric, frame):
        if metric.has("statistics"):
            rows = {metric.part: batch_statistics(metric, batch, table, limit)}
        else:
            rows = _Answers(metric, batch, table).rows()
            limit.add(pl.concat(rows.values(), how="diagonal"))
        for name, found in rows.items():
            parts.setdefault(name, []).append(found)
    names = [metric.part] if metric.has("finalize") else [*metric.scores] or [""]
    joined = {name: _joined(metric, [*parts.get(name, []), without]) for name in names}
    return {name: _with_silent(rows, table) for name, rows in joined.items()}


def _batches(metric: BoundMetric, frame: pl.DataFrame) -> Iterator[pl.DataFrame]:
    size = EXAMPLE_ROWS
    if metric.has("statistics"):
        size = min(metric.batch_rows or STATISTICS_ROWS, STATISTICS_ROWS)
    elif metric.has("score_batch"):
        size = metric.batch_rows or MODEL_ROWS
    return frame.iter_slices(size)


def _joined(metric: BoundMetric, parts: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """Join batches, of which the last has outcomes."""
    present = [part for part in parts if part.height]
    if metric.has("example_statistics"):
        present = _with_common_numbers(metric, present)
    if not present:
        return parts[-1]
    rows = present[0] if len(present) == 1 else pl.concat(present, how="diagonal")
    scored = pl.lit(SCORED, dtype=OUTCOMES)
    if OUTCOME in rows.columns:
        return rows.with_columns(pl.col(OUTCOME).fill_null(scored))
    return rows.with_columns(
        scored.alias(OUTCOME),
        pl.lit(None, dtype=pl.String).alias(REASON),
    )


def _with_common_numbers(
    metric: BoundMetric, parts: Sequence[pl.DataFrame]
) -> list[pl.DataFrame]:
    head = {"position", OUTCOME, REASON}
    names = [frozenset(part.columns) - head for part in parts]
    counts: Counter[frozenset[str]] = Counter()
    for columns, part in zip(names, parts, strict=True):
        counts[columns] += part.height if columns else 0
    common = max(counts, key=counts.__getitem__, default=frozenset())
    reason = (
        f"{metric.component.origin}: example_statistics must return a dict of the same "
        f"numbers for each example; of most they are {', '.join(sorted(common))}"
    )
    return [
        outcome_rows(part["position"], FAILED, reason)
        if columns and columns != common
        else part
        for columns, part in zip(names, parts, strict=True)
    ]


def _with_silent(rows: pl.DataFrame, table: ScoringTable) -> pl.DataFrame:
    """Add the answers for which the metric gave neither a row nor a reason."""
    is_present = np.zeros(len(table.ids), dtype=bool)
    is_present[rows["position"].to_numpy()] = True
    position = table.frame["position"]
    silent = position.filter(~is_present[position.to_numpy()])
    if not len(silent):
        return rows
    return pl.concat([rows, outcome_rows(silent, SILENT)], how="diagonal")


class _Left(NamedTuple):
    """An answer without a score."""

    row: int
    outcome: str
    reason: str


class _Answers:
    """The answers of a batch, of a metric that scores single examples."""

    def __init__(
        self, metric: BoundMetric, batch: pl.DataFrame, table: ScoringTable
    ) -> None:
        self._metric, self._batch, self._table = metric, batch, table
        self._hook = metric.example_hook or "example_statistics"
        self._position = batch["position"].to_numpy()

    def rows(self) -> dict[str, pl.DataFrame]:
        """Return rows by name of the score."""
        metric = self._metric
        values = self._values()
        if metric.has("example_statistics"):
            return {"": self._sums(values)}
        if not metric.scores:
            return {"": self._scores(metric, values)}
        names = [*metric.scores]
        values = self._dicts(values, names, "scores")
        return {
            name: self._scores(
                metric.score_of(name),
                [value[name] if isinstance(value, dict) else value for value in values],
            )
            for name in names
        }

    def _values(self) -> list[Any]:
        """Return what the metric gives for each answer; its worst value without one."""
        metric, batch = self._metric, self._batch
        has_prediction = batch["prediction"].is_not_null()
        if metric.accepts_no_prediction or has_prediction.all():
            return self._called(batch)
        worst: Any = metric.worst_value
        if metric.scores:
            worst = {name: metric.score_of(name).worst_value for name in metric.scores}
        values = iter(self._called(batch.filter(has_prediction)))
        return [next(values) if known else worst for known in has_prediction]

    def _called(self, batch: pl.DataFrame) -> list[Any]:
        metric, context = self._metric, self._table.context
        if metric.has("score_batch"):
            return self._called_at_once(batch)
        columns: dict[str, Any] = {
            "prediction": batch["prediction"].to_list,
            "target": batch["target"].to_list,
            "fields": lambda: _fields(metric, batch),
        }
        return metric.score_examples(self._hook, columns, context, batch.height)

    def _called_at_once(self, batch: pl.DataFrame) -> list[Any]:
        """Call `score_batch`; where it fails, again with each example alone."""
        metric = self._metric
        if not batch.height:
            return []
        columns: dict[str, Any] = {
            "predictions": batch["prediction"].to_list,
            "targets": batch["target"].to_list,
            "fields": lambda: {name: batch[name].to_list() for name in metric.columns},
        }
        returned = metric.score_batch(columns, self._table.context)
        if isinstance(returned, NotScored):
            return [returned] * batch.height
        entries: Any = returned
        if not isinstance(returned, Failed):
            try:
                entries = listed(returned, batch.height)
            except hook_failures() as error:  # an iterator is code of the metric
                entries = Failed(error)
        if isinstance(entries, Failed):
            if batch.height == 1:
                return [entries]
            alone = map(self._called_at_once, batch.iter_slices(1))
            return [value for values in alone for value in values]
        if not isinstance(entries, list) or len(entries) != batch.height:
            raise MetricError(
                f"{metric.component.origin}: score_batch must return a list of "
                f"{batch.height} entries, one for each example, got "
                f"{entries_of(returned)}"
            )
        return entries

    def _id(self, row: int) -> str:
        return self._table.ids[int(self._position[row])]

    def _where(self, row: int) -> str:
        return f"{self._hook} for the example {self._id(row)!r}"

    def _left(self, row: int, value: Any) -> _Left | None:
        """Say why a value is no score; None where it may be one."""
        if isinstance(value, NotScored):
            return _Left(row, NOT_SCORED, value.reason.strip() or "no reason given")
        if isinstance(value, Failed):
            guard = self._metric.guard(self._hook, "example", self._id(row))
            self._metric.computed.setdefault("cause", value.error)
            return _Left(row, FAILED, str(guard.failure(value.error)))
        return value if isinstance(value, _Left) else None

    def _split(self, values: Sequence[Any]) -> tuple[list[int], list[_Left]]:
        """Return the rows that may have a score, and those that have none."""
        odd = (type(None), NotScored, Failed, _Left)
        if not any(issubclass(kind, odd) for kind in set(map(type, values))):
            return [*range(len(values))], []
        left = [self._left(row, value) for row, value in enumerate(values)]
        known = [
            row
            for row, value in enumerate(values)
            if left[row] is None and value is not None
        ]
        return known, [each for each in left if each is not None]

    def _scores(self, metric: BoundMetric, values: Sequence[Any]) -> pl.DataFrame:
        """Check the scores of answers."""
        rows, left = self._split(values)
        chosen = values if len(rows) == len(values) else [values[row] for row in rows]
        scores = _as_array(chosen)
        if scores is None or not _is_within(metric, scores):
            rows, numbers, refused = self._one_by_one(metric, rows, chosen)
            scores, left = np.array(numbers, dtype=np.float64), [*left, *refused]
        numbers_by_name = {"score": scores, EXAMPLES: np.ones(len(scores))}
        return self._frame(rows, numbers_by_name, left)

    def _one_by_one(
        self, metric: BoundMetric, rows: Sequence[int], values: Sequence[Any]
    ) -> tuple[list[int], list[float], list[_Left]]:
        known, numbers, left = [], [], []
        for row, value in zip(rows, values, strict=True):
            try:
                number, reason = checked_value(metric, value, self._where(row))
            except MetricError as error:
                self._metric.computed.setdefault("cause", error.__cause__ or error)
                number, reason = None, str(error)
            if number is None:
                left.append(_Left(row, FAILED, str(reason)))
            else:
                known.append(row)
                numbers.append(number)
        return known, numbers, left

    def _dicts(
        self, values: Sequence[Any], names: Sequence[str], what: str
    ) -> list[Any]:
        """Refuse what is neither a dict with these names nor a reason."""
        expected = {*names}
        listed = ", ".join(map(str, names))
        of_them = f"of the {what} {listed}" if names else f"of {what}"
        checked: list[Any] = []
        for row, value in enumerate(values):
            if value is None or isinstance(value, NotScored | Failed):
                checked.append(value)
            elif names and isinstance(value, Mapping) and value.keys() == expected:
                checked.append(dict(value))
            else:
                text = f"it must return a dict {of_them}, is {shorten(value)}"
                checked.append(self._refused(row, text))
        return checked

    def _refused(self, row: int, text: str) -> _Left:
        origin = self._metric.component.origin
        return _Left(row, FAILED, f"{origin}: {self._where(row)}: {text}")

    def _sums(self, values: Sequence[Any]) -> pl.DataFrame:
        """Check the dicts of numbers that add up."""
        counts = Counter(frozenset(v) for v in values if isinstance(v, Mapping))
        # those of most examples, as any one may be odd
        names = sorted(max(counts, key=counts.__getitem__, default=()), key=str)
        if reserved := [name for name in names if name in RESERVED]:
            raise MetricError(
                f"{self._metric.component.origin}: example_statistics: the name "
                f"{reserved[0]!r} is reserved"
            )
        checked = self._dicts(values, names, "numbers")
        rows, left = self._split(checked)
        known, numbers = [], []
        for row in rows:
            found = _as_array([checked[row][name] for name in names])
            if found is None or np.isnan(found).any():
                text = f"its values must be numbers, is {shorten(values[row])}"
                left.append(self._refused(row, text))
            else:
                known.append(row)
                numbers.append(found)
        table = np.array(numbers, np.float64).reshape(len(known), len(names))
        columns = {str(name): table[:, place] for place, name in enumerate(names)}
        return self._frame(known, columns, left)

    def _frame(
        self, rows: Sequence[int], numbers: Mapping[str, Any], left: Sequence[_Left]
    ) -> pl.DataFrame:
        position = pl.Series("position", self._position[list(rows)], dtype=pl.UInt32)
        scored = outcome_rows(position, SCORED).with_columns(
            pl.Series(name, values, dtype=pl.Float64)
            for name, values in numbers.items()
        )
        if not left:
            return scored
        places, outcomes, reasons = zip(*left, strict=True)
        without = outcome_rows(
            pl.Series(self._position[list(places)]),
            pl.Series(outcomes),
            pl.Series(reasons),
        )
        return pl.concat([scored, without], how="diagonal")


def _fields(metric: BoundMetric, batch: pl.DataFrame) -> list[dict[str, Any]]:
    if not metric.columns:
        return [{} for _ in range(batch.height)]
    return batch.select(all_named(metric.columns)).to_dicts()


def _as_array(values: Sequence[Any]) -> Any:
    if not all(issubclass(kind, _PLAIN) for kind in set(map(type, values))):
        return None
    try:
        return np.fromiter(values, np.float64, len(values))
    except OverflowError:  # a huge integer
        return None


def _is_within(metric: BoundMetric, scores: Any) -> bool:
    """Whether all scores are finite and within the metric's bounds."""
    low, high = metric.bounds or (None, None)
    is_within = np.isfinite(scores)
    if low is not None:
        is_within &= scores >= low
    if high is not None:
        is_within &= scores <= high
    return bool(is_within.all())
