"""Computes the statistics of one batch, and finds the example that makes it fail."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

import polars as pl

from evalkit.base.columns import all_named, unnamed
from evalkit.base.failures import described, located
from evalkit.errors import MetricError
from evalkit.plugins.bound import BoundMetric
from evalkit.scoring.outcomes import Left, keep_cause, most_left, with_left
from evalkit.scoring.table import Batch

RESERVED = (
    *("position", "group", "unit", "cell", "replicate"),
    *("example", "replication"),
)
"""Names that a metric's statistics may not have, because core adds these columns."""

NOT_SCORED = "not_scored"
"""Column of a metric's statistics that says why an example is not scored."""

_COLUMN_NOT_FOUND = re.compile(r'(?:unable to find column )?"(.*?)"')


class _Problem(NamedTuple):
    """Why the statistics of some rows cannot be used."""

    text: str
    """What follows the metric's name and the word statistics."""
    kind: str
    """What two problems for one reason have in common."""
    is_final: bool = False
    """Whether there is no single example to look for, or it is named already."""
    cause: BaseException | None = None
    position: int | None = None
    """The position of the one example that has it."""

    def of(self, batch: Batch, row: int) -> _Problem:
        """Return the same as the problem of one example."""
        example, position = batch.id_of(row), int(batch.frame["position"][row])
        text = f"{self.text} (the example {example!r})"
        if self.cause is not None:
            where = f" failed for the example {example!r} with"
            text = f"{where} {located(self.cause)}"
        return self._replace(text=text, position=position)


def batch_statistics(metric: BoundMetric, batch: Batch) -> pl.DataFrame:
    """Get the statistics of one batch."""
    left: list[Left] = []
    # a share of the table, so that it does not matter how it is cut into batches
    most = most_left(metric, batch.of or batch.rows)
    while True:
        found = _attempt(metric, batch)
        if isinstance(found, pl.DataFrame):
            return with_left(found, left)
        problem = found if found.is_final else _of_one_example(metric, batch, found)
        text = f"{metric.component.origin}: statistics{problem.text}"
        position = problem.position
        if position is None or len(left) + 1 > most:
            text = left[0].reason if left else text
            raise MetricError(text) from problem.cause
        keep_cause(metric, problem.cause)
        left.append(Left(position, text, True))
        others = batch.frame.filter(pl.col("position") != position)
        batch = batch._replace(frame=others)


def _attempt(metric: BoundMetric, batch: Batch) -> pl.DataFrame | _Problem:
    offered = batch.frame.drop("position")
    try:
        returned = metric.call("statistics", batch=offered, context=batch.context)
    except MetricError as failure:
        error = failure.__cause__
        if error is None or isinstance(error, MetricError):
            raise
        return _column_problem(error, batch) or _Problem(
            f" failed with {located(error)}", type(error).__name__, False, error
        )
    problem = _shape_problem(metric, returned)
    problem = problem or _place_problem(returned, batch)
    if problem is not None:
        return problem
    returned, left = _without_unscored(returned, batch)
    problem = _value_problem(metric, returned, batch)
    if problem is not None:
        return problem
    keys = list(metric.keys)
    position = batch.frame["position"].gather(returned["row"]).alias("position")
    checked: pl.DataFrame = returned.select(
        position,
        all_named(keys),
        all_named(_value_names(metric, returned)).cast(pl.Float64),
    )
    return with_left(checked, left)


def _without_unscored(
    returned: pl.DataFrame, batch: Batch
) -> tuple[pl.DataFrame, list[Left]]:
    """Take out the rows of which the metric says that they are not scored."""
    if NOT_SCORED not in returned.columns:
        return returned, []
    is_scored = returned[NOT_SCORED].is_null()
    rows = returned.filter(~is_scored).select("row", NOT_SCORED).iter_rows()
    position = batch.frame["position"]
    left = [Left(position[row], str(reason), False) for row, reason in rows]
    return returned.filter(is_scored).drop(NOT_SCORED), left


def _column_problem(error: BaseException, batch: Batch) -> _Problem | None:
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
    return _Problem(
        f" asks for the column {name!r}, which its batch does not have: name it in the "
        f"metric's `columns` ({found})",
        "column",
        True,
        error,
    )


def _rule(text: str) -> _Problem:
    return _Problem(text, text)


def _shape_problem(metric: BoundMetric, returned: object) -> _Problem | None:
    """Say what is wrong with the columns; nothing about single rows."""
    if not isinstance(returned, pl.DataFrame):
        return _rule(
            f" must return a polars DataFrame, returned {type(returned).__name__}"
        )
    per_example = metric.per_example
    wanted = [
        "row",
        *metric.keys,
        *([per_example] if per_example else []),
    ]
    missing = [name for name in wanted if name not in returned.columns]
    if missing:
        return _rule(f": the column {missing[0]!r} is missing")
    reserved = [name for name in RESERVED if name in returned.columns]
    if reserved:
        return _rule(f": the name {reserved[0]!r} is reserved")
    if not returned["row"].dtype.is_integer():
        return _rule(": the column 'row' must hold integers")
    names = _value_names(metric, returned)
    if not names:
        return _rule(": there is no column of numbers")
    for name in names:
        kind = returned[name].dtype
        if not (kind.is_numeric() or kind == pl.Boolean):
            return _rule(f": the column {name!r} must hold numbers")
    return None


def _place_problem(returned: pl.DataFrame, batch: Batch) -> _Problem | None:
    row = returned["row"].cast(pl.Int64, strict=False)
    if not row.is_between(0, batch.rows - 1).fill_null(False).all():
        return _rule(": 'row' must be a position in the batch")
    if returned.schema.get(NOT_SCORED) not in (None, pl.String, pl.Null):
        return _rule(f": the column {NOT_SCORED!r} must hold texts")
    if NOT_SCORED in returned.columns:
        is_other = row.is_duplicated() & row.is_in(
            row.filter(returned[NOT_SCORED].is_not_null()).implode()
        )
        if is_other.any():
            first = int(row.filter(is_other).to_numpy().min())
            text = ": an example that is not scored has another row"
            return _rule(text).of(batch, first)._replace(is_final=True)
    return None


def _value_problem(
    metric: BoundMetric, returned: pl.DataFrame, batch: Batch
) -> _Problem | None:
    """Say which rule a row breaks, and the first row that does."""
    row = returned["row"].cast(pl.Int64, strict=False)
    for text, wrong in _broken_rules(metric, returned):
        if wrong.any():
            first = int(row.filter(wrong).to_numpy().min())
            return _rule(f": {text}").of(batch, first)._replace(is_final=True)
    return None


def _broken_rules(
    metric: BoundMetric, returned: pl.DataFrame
) -> Iterator[tuple[str, pl.Series]]:
    """Return every rule about values with the rows that break it."""
    per_example = metric.per_example
    row = returned["row"]
    if per_example and not (row[1:] > row[:-1]).all():
        yield (
            f"an example has several rows, but one score ({per_example!r})",
            row.is_duplicated(),
        )
    for name in _value_names(metric, returned):
        values = unnamed(returned[name])
        yield f"the column {name!r} must not hold nulls", values.is_null()
        if not values.dtype.is_float():
            continue
        if name == per_example:
            yield f"the score {name!r} of an example is not finite", ~values.is_finite()
        else:
            yield f"the column {name!r} must not hold NaN", values.is_nan()


def _value_names(metric: BoundMetric, returned: pl.DataFrame) -> list[str]:
    """Return the number columns, sorted: all batches must have them in one order."""
    others = ("row", NOT_SCORED, *metric.keys)
    return sorted(name for name in returned.columns if name not in others)


def _of_one_example(metric: BoundMetric, batch: Batch, problem: _Problem) -> _Problem:
    """Find the first example that has the problem by itself, by halving the batch."""
    without_any = _again(metric, batch.part(0, 0), problem)
    if without_any is not None and without_any.text == problem.text:
        return problem
    rows, found = batch, problem
    while rows.rows > 1:
        middle = rows.rows // 2
        for half in (rows.part(0, middle), rows.part(middle, rows.rows)):
            again = _again(metric, half, problem)
            if again is not None:
                rows, found = half, again
                break
        else:
            return problem
    return found.of(rows, 0)


def _again(metric: BoundMetric, batch: Batch, problem: _Problem) -> _Problem | None:
    """Return the problem of fewer rows, if it is of the same kind."""
    try:
        found = _attempt(metric, batch)
    except MetricError:
        return None
    if isinstance(found, pl.DataFrame) or found.kind != problem.kind:
        return None
    return found
