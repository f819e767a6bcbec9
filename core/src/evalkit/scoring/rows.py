"""Scores examples one by one, or a list at a time, at the speed of a loop.

The function is called with nothing but the arguments that it names, on lists that are
made once a batch; what it returns is checked as one array. An example for which it
fails is left out, and the others are scored.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from itertools import islice
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from evalkit.base.columns import all_named
from evalkit.base.failures import hook_failures
from evalkit.base.terms import NotScored
from evalkit.base.violations import entries_of, shorten
from evalkit.errors import MetricError
from evalkit.plugins.bound import BoundMetric
from evalkit.plugins.bound_metrics import Failed
from evalkit.scoring.batch_statistics import RESERVED
from evalkit.scoring.outcomes import (
    BOUNDS_SLACK,
    EXTRA,
    PART,
    Left,
    checked_value,
    keep_cause,
    with_left,
)
from evalkit.scoring.table import Batch

Floats = npt.NDArray[np.float64]

_PLAIN = (float, int, bool)
_PLAIN_NUMPY = (np.integer, np.floating, np.bool_)


def batch_scores(metric: BoundMetric, batch: Batch) -> pl.DataFrame:
    """Score the examples of one batch."""
    has_prediction = batch.frame["prediction"].is_not_null()
    if metric.accepts_no_prediction or has_prediction.all():
        return _Rows(metric, batch).scored(_called(metric, batch))
    answered = batch._replace(frame=batch.frame.filter(has_prediction))
    silent = batch._replace(frame=batch.frame.filter(~has_prediction))
    worst: Any = metric.worst_value
    if metric.scores:
        worst = {name: metric.score_of(name).worst_value for name in metric.scores}
    scored = [
        _Rows(metric, answered).scored(_called(metric, answered)),
        _Rows(metric, silent).scored([worst] * silent.rows),
    ]
    order = batch.frame.select("position")
    return order.join(pl.concat(scored), on="position", maintain_order="left")


def _called(metric: BoundMetric, batch: Batch) -> list[Any]:
    """Call the function for every row; what it raised stands for what it returned."""
    predictions, targets = batch.frame["prediction"], batch.frame["target"]
    if metric.has("score_batch"):
        return _called_at_once(metric, batch)
    columns: dict[str, Callable[[], Sequence[Any]]] = {
        "prediction": predictions.to_list,
        "target": targets.to_list,
        "fields": lambda: _fields(metric, batch),
    }
    hook = metric.example_hook or "example_statistics"
    return metric.score_examples(hook, columns, batch.context, batch.rows)


def _called_at_once(metric: BoundMetric, batch: Batch) -> list[Any]:
    if not batch.rows:
        return []
    frame = batch.frame
    columns: dict[str, Callable[[], Any]] = {
        "predictions": frame["prediction"].to_list,
        "targets": frame["target"].to_list,
        "fields": lambda: {name: frame[name].to_list() for name in metric.columns},
    }
    returned = metric.score_batch(columns, batch.context)
    if isinstance(returned, NotScored):
        return [returned] * batch.rows
    entries: Any = returned
    if not isinstance(returned, Failed):
        try:
            entries = listed(returned, batch.rows)
        except hook_failures() as error:  # an iterator is code of the metric's
            entries = Failed(error)
    if isinstance(entries, Failed):
        if batch.rows == 1:
            return [entries]
        alone = (
            _called_at_once(metric, batch.part(i, i + 1)) for i in range(batch.rows)
        )
        return [value for values in alone for value in values]
    if not isinstance(entries, list) or len(entries) != batch.rows:
        raise MetricError(
            f"{metric.component.origin}: score_batch must return a list of "
            f"{batch.rows} entries, one for each example, returned "
            f"{entries_of(returned)}"
        )
    return entries


def listed(returned: Any, rows: int) -> Any:
    """Return a list of what was returned in an order, one more than wanted at most."""
    if hasattr(returned, "tolist"):
        return returned.tolist()
    is_ordered = isinstance(returned, Iterable) and not isinstance(
        returned, str | bytes | Mapping | Set
    )
    return list(islice(returned, rows + 1)) if is_ordered else None


def _fields(metric: BoundMetric, batch: Batch) -> list[dict[str, Any]]:
    columns = list(metric.columns)
    if not columns:
        return [{} for _ in range(batch.rows)]
    return batch.frame.select(all_named(columns)).to_dicts()


class _Rows:
    """Checks what a function returned for the examples of a batch."""

    def __init__(self, metric: BoundMetric, batch: Batch) -> None:
        self._metric = metric
        self._positions = batch.frame["position"].to_numpy()
        self._batch = batch
        self._hook = metric.example_hook or "example_statistics"
        self._left: list[Left] = []

    def scored(self, values: Sequence[Any]) -> pl.DataFrame:
        """Return the scores, and the examples that have none."""
        rows, kept = self._given(values, np.arange(len(values)), None)
        if self._metric.has("example_statistics"):
            frame = self._sums(rows, kept)
        elif self._metric.scores:
            frame = self._several(rows, kept)
        else:
            frame = self._single(self._metric, rows, kept, None)
        return with_left(frame, self._left)

    def _given(
        self, values: Sequence[Any], rows: npt.NDArray[np.int64], part: str | None
    ) -> tuple[npt.NDArray[np.int64], Sequence[Any]]:
        """Leave out the rows without a score, and note why."""
        types = set(map(type, values))
        odd = (type(None), NotScored, Failed)
        if not any(issubclass(kind, odd) for kind in types):
            return rows, values
        kept = []
        for place, value in enumerate(values):
            if isinstance(value, Failed):
                self._failed(int(rows[place]), value.error)
            elif isinstance(value, NotScored):
                reason = value.reason.strip() or "no reason given"
                self._leave(int(rows[place]), reason, False, part)
            elif value is not None:
                kept.append(place)
        return rows[kept], [values[place] for place in kept]

    def _leave(self, row: int, why: str, failed: bool, part: str | None = None) -> None:
        self._left.append(Left(int(self._positions[row]), why, failed, part))

    def _failed(self, row: int, error: BaseException) -> None:
        guard = self._metric.guard(self._hook, "example", self._batch.id_of(row))
        keep_cause(self._metric, error)
        self._leave(row, str(guard.failure(error)), True)

    def _refused(self, row: int, why: str) -> None:
        origin, uid = self._metric.component.origin, self._batch.id_of(row)
        text = f"{origin}: {self._hook} for the example {uid!r}: {why}"
        self._leave(row, text, True)

    def _single(
        self,
        metric: BoundMetric,
        rows: npt.NDArray[np.int64],
        values: Sequence[Any],
        part: str | None,
    ) -> pl.DataFrame:
        scores = _as_array(values)
        if scores is None or not _within(metric, scores).all():
            rows, scores = self._one_by_one(metric, rows, values, part)
        return pl.DataFrame({"position": self._positions[rows], "score": scores})

    def _one_by_one(
        self,
        metric: BoundMetric,
        rows: npt.NDArray[np.int64],
        values: Sequence[Any],
        part: str | None,
    ) -> tuple[npt.NDArray[np.int64], Floats]:
        """Check unusual values, and leave out what is none."""
        scores, kept = [], []
        for row, value in zip(rows.tolist(), values, strict=True):
            step = f"{self._hook} for the example {self._batch.id_of(row)!r}"
            try:
                number, why = checked_value(metric, value, step)
            except MetricError as error:
                keep_cause(self._metric, error.__cause__)
                number, why = None, str(error)
            if number is None:
                self._leave(row, str(why), True, part)
            else:
                scores.append(number)
                kept.append(row)
        return np.array(kept, np.int64), np.array(scores, np.float64)

    def _several(
        self, rows: npt.NDArray[np.int64], values: Sequence[Any]
    ) -> pl.DataFrame:
        """Check the dicts of a metric that gives several scores in one pass."""
        names = list(self._metric.scores)
        rows, values = self._of_names(rows, values, names, "scores")
        frames = []
        for name in names:
            column = [value[name] for value in values]
            kept, given = self._given(column, rows, name)
            metric = self._metric.score_of(name)
            scores = self._single(metric, kept, given, name)
            frames.append(scores.with_columns(pl.lit(name).alias(PART)))
        return pl.concat(frames)

    def _sums(self, rows: npt.NDArray[np.int64], values: Sequence[Any]) -> pl.DataFrame:
        """Check the numbers that add up."""
        given = Counter(frozenset(v) for v in values if isinstance(v, Mapping))
        # those of most examples, as any one may be odd
        names = sorted(max(given, key=given.__getitem__, default=()), key=str)
        reserved = [str(name) for name in names if name in (*RESERVED, *EXTRA)]
        if reserved:
            origin = self._metric.component.origin
            raise MetricError(
                f"{origin}: example_statistics: the name {reserved[0]!r} is reserved"
            )
        rows, values = self._of_names(rows, values, names, "numbers")
        kept, numbers = [], []
        for row, value in zip(rows.tolist(), values, strict=True):
            found = _as_array([value[name] for name in names])
            if found is None or np.isnan(found).any():
                self._refused(row, f"its values must be numbers, is {shorten(value)}")
            else:
                kept.append(row)
                numbers.append(found)
        table = np.array(numbers, np.float64).reshape(len(kept), len(names))
        columns = {str(name): table[:, place] for place, name in enumerate(names)}
        return pl.DataFrame({"position": self._positions[kept], **columns})

    def _of_names(
        self,
        rows: npt.NDArray[np.int64],
        values: Sequence[Any],
        names: Sequence[str],
        what: str,
    ) -> tuple[npt.NDArray[np.int64], list[Any]]:
        """Leave out what is no dict with these names."""
        wanted = set(names)
        kept = []
        for place, value in enumerate(values):
            if wanted and isinstance(value, Mapping) and value.keys() == wanted:
                kept.append(place)
                continue
            listed = ", ".join(map(str, names))
            of_them = f"of the {what} {listed}" if names else f"of {what}"
            why = f"it must return a dict {of_them}, is {shorten(value)}"
            self._refused(int(rows[place]), why)
        return rows[kept], [values[place] for place in kept]


def _is_plain(kind: type) -> bool:
    return kind in _PLAIN or issubclass(kind, _PLAIN_NUMPY)


def _as_array(values: Sequence[Any]) -> Floats | None:
    if not all(map(_is_plain, set(map(type, values)))):
        return None
    try:
        return np.fromiter(values, np.float64, len(values))
    except OverflowError:  # a huge integer
        return None


def _within(metric: BoundMetric, scores: Floats) -> npt.NDArray[np.bool_]:
    """Tell which scores are finite and within the metric's bounds."""
    within = np.isfinite(scores)
    low, high = metric.bounds or (None, None)
    if low is not None:
        within &= scores >= low - BOUNDS_SLACK
    if high is not None:
        within &= scores <= high + BOUNDS_SLACK
    return within
