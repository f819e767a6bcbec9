"""Scores one batch of examples.

Either `statistics` gets all of it, and the example that makes it fail is searched, or a
function gets one example after the other, at the speed of a loop: it is called with the
arguments that it names, on lists that are made once, and what it returns is checked as
one array. An example for which either fails is left out, and the others are scored.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from itertools import islice
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from evalkit.base.columns import all_named, unnamed
from evalkit.base.failures import described, hook_failures, located
from evalkit.base.terms import NotScored
from evalkit.base.violations import entries_of, shorten
from evalkit.errors import MetricError
from evalkit.plugins.bound import BoundMetric, Failed
from evalkit.scoring.records import (
    BOUNDS_SLACK,
    EXTRA,
    PART,
    Left,
    checked_value,
    keep_cause,
    most_left,
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
        self._leave(row, f"{origin}: {self._hook} for the example {uid!r}: {why}", True)

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
            kept, given = self._given([value[name] for value in values], rows, name)
            scores = self._single(self._metric.score_of(name), kept, given, name)
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


def _as_array(values: Sequence[Any]) -> Floats | None:
    kinds = set(map(type, values))
    if not all(kind in _PLAIN or issubclass(kind, _PLAIN_NUMPY) for kind in kinds):
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


RESERVED = (
    *("position", "group", "unit", "cell", "replicate"),
    *("example", "replication"),
)
"""Names that a metric's statistics may not have, because core adds these columns."""

NOT_SCORED = "not_scored"
"""Column of a metric's statistics that says why an example is not scored."""

_COLUMN_NOT_FOUND = re.compile(r'(?:unable to find column )?"(.*?)"')


def batch_statistics(metric: BoundMetric, batch: Batch) -> pl.DataFrame:
    """Get the statistics of one batch."""
    return _Statistics(metric, batch).found()


class _Statistics:
    """Gets the statistics of a batch, without the examples that it fails for."""

    def __init__(self, metric: BoundMetric, batch: Batch) -> None:
        self._metric, self._batch = metric, batch
        self._where = f"{metric.component.origin}: statistics"
        # a share of the table, so that it does not matter how it is cut into batches
        self._most = most_left(metric, batch.of or batch.rows)
        self._left: list[Left] = []
        self._failed: list[str] = []

    def found(self) -> pl.DataFrame:
        """Return the statistics, and the examples that have none."""
        parts = [*self._parts(self._batch)]
        if not parts:  # the metric cannot take an empty batch either
            raise MetricError(self._failed[0])
        return with_left(pl.concat(parts), self._left)

    def _parts(self, batch: Batch) -> Iterator[pl.DataFrame]:
        """Get the statistics of a batch; in halves, if an example makes it fail."""
        found = self._attempt(batch)
        if isinstance(found, pl.DataFrame):
            yield self._usable(batch, found)
            return
        text = f" failed with {located(found)}"
        if batch.rows > 1:
            failed, middle = len(self._failed), batch.rows // 2
            yield from self._parts(batch.part(0, middle))
            yield from self._parts(batch.part(middle, batch.rows))
            if len(self._failed) > failed:
                return
        else:
            without_any = self._attempt(batch.part(0, 0))
            if isinstance(without_any, pl.DataFrame):
                yield self._usable(batch, without_any)
            if batch.rows and repr(without_any) != repr(found):
                example = f" failed for the example {batch.id_of(0)!r} with"
                self._leave(batch, 0, f"{example} {located(found)}", found)
                return
        raise MetricError(self._where + text) from found  # of no example by itself

    def _attempt(self, batch: Batch) -> pl.DataFrame | BaseException:
        """Return the statistics, of which rows may be unusable, or what was raised."""
        offered = batch.frame.drop("position")
        try:
            returned = self._metric.call(
                "statistics", batch=offered, context=batch.context
            )
        except MetricError as failure:
            error = failure.__cause__
            if error is None or isinstance(error, MetricError):
                raise
            if problem := _column_problem(error, batch):
                raise MetricError(self._where + problem) from error
            return error
        if problem := _shape_problem(self._metric, returned, batch):
            raise MetricError(self._where + problem)
        frame: pl.DataFrame = returned
        return frame

    def _usable(self, batch: Batch, returned: pl.DataFrame) -> pl.DataFrame:
        """Leave out the examples with broken rows, and those that are not scored."""
        metric, position = self._metric, batch.frame["position"]
        broken: dict[int, str] = {}
        for rule, wrong in _broken_rules(metric, returned):
            for row in returned["row"].filter(wrong):
                broken.setdefault(row, rule)
        for row, rule in sorted(broken.items()):
            text = f": {rule} (the example {batch.id_of(row)!r})"
            self._leave(batch, row, text)
        returned = returned.filter(~pl.col("row").is_in([*broken]))
        if NOT_SCORED in returned.columns:
            is_scored = pl.col(NOT_SCORED).is_null()
            unscored = returned.filter(~is_scored).select("row", NOT_SCORED)
            self._left += [
                Left(position[row], str(reason), False)
                for row, reason in unscored.iter_rows()
            ]
            returned = returned.filter(is_scored)
        return returned.select(
            position.gather(returned["row"]).alias("position"),
            all_named(list(metric.keys)),
            all_named(_value_names(metric, returned)).cast(pl.Float64),
        )

    def _leave(
        self, batch: Batch, row: int, text: str, cause: BaseException | None = None
    ) -> None:
        keep_cause(self._metric, cause)
        self._failed.append(self._where + text)
        self._left.append(Left(batch.frame["position"][row], self._failed[-1], True))
        if len(self._failed) > self._most:
            raise MetricError(self._failed[0]) from cause


def _column_problem(error: BaseException, batch: Batch) -> str | None:
    """Say which column of the batch a hook asked for in vain, if that is it."""
    name: object = None
    if isinstance(error, pl.exceptions.ColumnNotFoundError):
        match = _COLUMN_NOT_FOUND.match(str(error))
        name = match[1] if match else None
    elif isinstance(error, KeyError) and error.args and error.args[0] in batch.fields:
        name = error.args[0]
    if name is None or name in batch.frame.columns:
        return None
    found = described(error).partition("; valid columns")[0]
    return (
        f" asks for the column {name!r}, which its batch does not have: name it in the "
        f"metric's `columns` ({found})"
    )


def _shape_problem(metric: BoundMetric, returned: object, batch: Batch) -> str | None:
    """Say what is wrong with the columns; nothing about single examples."""
    if not isinstance(returned, pl.DataFrame):
        return f" must return a polars DataFrame, returned {type(returned).__name__}"
    per_example = metric.per_example
    wanted = ["row", *metric.keys, *([per_example] if per_example else [])]
    missing = [name for name in wanted if name not in returned.columns]
    if missing:
        return f": the column {missing[0]!r} is missing"
    reserved = [name for name in RESERVED if name in returned.columns]
    if reserved:
        return f": the name {reserved[0]!r} is reserved"
    row, names = returned["row"], _value_names(metric, returned)
    if not row.dtype.is_integer():
        return ": the column 'row' must hold integers"
    place = row.cast(pl.Int64, strict=False)
    if not place.is_between(0, batch.rows - 1).fill_null(False).all():
        return ": 'row' must be a position in the batch"
    if returned.schema.get(NOT_SCORED) not in (None, pl.String, pl.Null):
        return f": the column {NOT_SCORED!r} must hold texts"
    for name in names:
        kind = returned[name].dtype
        if not (kind.is_numeric() or kind == pl.Boolean):
            return f": the column {name!r} must hold numbers"
    return None if names else ": there is no column of numbers"


def _broken_rules(
    metric: BoundMetric, returned: pl.DataFrame
) -> Iterator[tuple[str, pl.Series]]:
    """Return every rule about values with the rows that break it."""
    per_example = metric.per_example
    row, is_scored = returned["row"], pl.repeat(True, returned.height, eager=True)
    if NOT_SCORED in returned.columns:
        is_scored = returned[NOT_SCORED].is_null()
        is_other = row.is_duplicated() & row.is_in(row.filter(~is_scored).implode())
        yield "an example that is not scored has another row", is_other
    if per_example and not (row[1:] > row[:-1]).all():
        yield (
            f"an example has several rows, but one score ({per_example!r})",
            row.is_duplicated() & is_scored,
        )
    for name in _value_names(metric, returned):
        values = unnamed(returned[name])
        nulls = values.is_null() & is_scored
        yield f"the column {name!r} must not hold nulls", nulls
        if not values.dtype.is_float():
            continue
        if name == per_example:
            wrong = ~values.is_finite().fill_null(True) & is_scored
            yield f"the score {name!r} of an example is not finite", wrong
        else:
            yield f"the column {name!r} must not hold NaN", values.is_nan() & is_scored


def _value_names(metric: BoundMetric, returned: pl.DataFrame) -> list[str]:
    """Return the number columns, sorted: all batches must have them in one order."""
    others = ("row", NOT_SCORED, *metric.keys)
    return sorted(name for name in returned.columns if name not in others)
