"""Calls a metric for all examples of a table, whichever way it is written.

Workers help where that pays. What comes out does not depend on who computed a batch:
batches are joined in the order of the rows, and of several that fail the first one's
error is raised.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import polars as pl

from evalkit.base.columns import all_named
from evalkit.errors import MetricError
from evalkit.parallel import NotPortable, Packed, Workers, packed, unpacked
from evalkit.plugins.bound import BoundMetric
from evalkit.plugins.components import Component
from evalkit.plugins.registry import load_component
from evalkit.scoring.finalization import EXAMPLES
from evalkit.scoring.records import (
    FailureLimit,
    Left,
    Outcomes,
    join_numbers,
    keep_cause,
    split_outcomes,
    with_left,
)
from evalkit.scoring.rows import RESERVED, batch_scores, batch_statistics
from evalkit.scoring.table import (
    Batch,
    BatchFunction,
    ScoringTable,
    columns_for,
    joined_replications,
)

BATCH_ROWS = 32_768
"""The most rows that `statistics` gets at once."""

MODEL_ROWS = 256
"""Examples that `score_batch` gets at once, unless the metric says how many."""

WORTH_SECONDS = 3.0
"""Workers are started for work that would take one process longer than this, since
starting one takes more than a second of a processor."""

LEAST_MEASURED = 0.05
"""Seconds that a batch must have taken for its pace to be believed."""

_BATCH_SECONDS = 0.25
_SHARES_A_WORKER = 4

_KEPT_PASSES = 4
"""Tables of which a metric that gives several scores keeps what it made of them."""


def metric_statistics(metric: BoundMetric, table: ScoringTable) -> pl.DataFrame:
    """Get a metric's statistics, also of one that scores single examples.

    Args:
        metric: A metric that is not a function of lists.
        table: What is scored.

    Returns:
        `position`, the metric's keys, and number columns; of one that scores single
        examples `score` and `EXAMPLES`, which is 1.

    Raises:
        MetricError: The metric failed.
    """
    return metric_outcomes(metric, table).statistics


def metric_outcomes(
    metric: BoundMetric,
    table: ScoringTable,
    workers: Workers | None = None,
    advance: Callable[[int], None] = lambda _: None,
) -> Outcomes:
    """Get a metric's statistics, and the examples that it did not score.

    Of several scores that a metric gives in one pass, the first that is asked for makes
    the pass.

    Args:
        metric: As for `metric_statistics`, like the other arguments.
        table: What is scored. An example whose prediction is null gets the metric's
            `worst_value`, unless the metric takes such examples itself.
        workers: Processes that help where that pays; the result is the same.
        advance: Told after every batch how many examples it had.

    Returns:
        Both.

    Raises:
        MetricError: The metric failed for too many examples, or returned something
            else; it names the first such example.
    """
    if metric.has("statistics") and metric.joins_replications:
        table = joined_replications(table, metric.columns)
    found = _of_part(metric, table, workers, advance)
    if metric.example_hook is None:
        return found
    counted = found.statistics.with_columns(pl.lit(1.0).alias(EXAMPLES))
    return found._replace(statistics=counted)


def value_columns(metric: BoundMetric, statistics: pl.DataFrame) -> list[str]:
    """Return the columns of statistics that merge."""
    keys = (*metric.keys, *RESERVED)
    return [name for name in statistics.columns if name not in keys]


def _of_part(
    metric: BoundMetric,
    table: ScoringTable,
    workers: Workers | None,
    advance: Callable[[int], None],
) -> Outcomes:
    """Call the metric for all examples, once for all scores that it gives."""
    whole = metric.whole
    if whole is None:
        return split_outcomes(_pass(metric, table, workers, advance))
    # the table is kept beside what was made of it, so that its id stays its own
    kept = metric.computed.setdefault("passes", {})
    if id(table.frame) not in kept:
        if len(kept) == _KEPT_PASSES:
            kept.pop(next(iter(kept)))
        kept[id(table.frame)] = (table.frame, _pass(whole, table, workers, advance))
    found = split_outcomes(kept[id(table.frame)][1], metric.part)
    failed = found.unscored.filter("failed")
    if failed.height and found.statistics.is_empty() and not table.is_part:
        raise MetricError(str(failed["reason"][0]))
    return found


def _pass(
    metric: BoundMetric,
    table: ScoringTable,
    workers: Workers | None,
    advance: Callable[[int], None],
) -> pl.DataFrame:
    """Call the metric for all examples; give what `split_outcomes` splits."""
    limit = FailureLimit(metric, table.size)
    function: BatchFunction = batch_scores
    if metric.has("statistics"):
        function = batch_statistics
        sizes = BatchSizes(64, min(metric.batch_rows or BATCH_ROWS, BATCH_ROWS), 4)
    elif metric.has("score_batch"):
        rows = metric.batch_rows or MODEL_ROWS
        sizes = BatchSizes(rows, rows, 1)
    else:
        sizes = BatchSizes(1, 65_536, 8)
    parts = _compute_batches(metric, table, function, sizes, workers, advance, limit)
    if not parts:
        schema = {"position": pl.UInt32, "score": pl.Float64}
        parts = [with_left(pl.DataFrame(schema=schema), [])]
    if metric.has("statistics"):
        with metric.guard("joining the batches of statistics"):
            joined = pl.concat(parts)
    else:
        joined = join_numbers(metric, parts, limit)
    limit.refuse_nothing(joined)
    return joined


class Pace(NamedTuple):
    """How a batch went in this process."""

    rows: int
    seconds: float

    @property
    def seconds_a_row(self) -> float:
        """Seconds that one row takes."""
        return self.seconds / self.rows

    def pays_to_share(self, left: int) -> bool:
        """Tell whether workers would be done with the rest before this process."""
        is_slow = self.seconds_a_row * left > WORTH_SECONDS
        return is_slow and self.seconds >= LEAST_MEASURED


class BatchSizes(NamedTuple):
    """How many rows the next batch has, by the pace of the last one.

    Sizes grow from small ones, which tell the pace, to large ones, which cost least; of
    slow hooks they stay small, so that there is something left to share.
    """

    least: int
    most: int
    growth: int
    """How many times as many rows as the last batch the next one may have."""

    def next(self, pace: Pace | None, left: int, shares: int = 1) -> int:
        """Return a size that takes about a quarter of a second, and leaves all work."""
        if pace is None:
            return min(self.least, self.most)
        wanted = int(_BATCH_SECONDS / max(pace.seconds_a_row, 1e-9))
        wanted = max(min(wanted, left // shares), self.least)
        return min(wanted, pace.rows * self.growth, self.most)


def _compute_batches(
    metric: BoundMetric,
    table: ScoringTable,
    function: BatchFunction,
    sizes: BatchSizes,
    workers: Workers | None,
    advance: Callable[[int], None],
    limit: FailureLimit,
) -> list[pl.DataFrame]:
    """Compute all rows of a table; the results are in the order of the rows."""
    workers = workers if metric.shares_work else None
    rows = _Rows(metric, table)
    handed_out: deque[Batch] = deque()
    parts: list[pl.DataFrame] = []
    pace: Pace | None = None

    def add(part: pl.DataFrame, batch: Batch) -> None:
        limit.add(part)
        parts.append(part)
        advance(batch.rows)

    while handed_out or rows.left:
        # the first batch may have had to prepare something
        is_paced = workers is not None and len(parts) > 1
        if workers and is_paced and pace and pace.pays_to_share(rows.left):
            batches = rows.shared(sizes, pace, workers.jobs, handed_out)
            try:
                with closing(_shared(workers, metric, function, batches)) as computed:
                    for part in computed:
                        add(part, handed_out.popleft())
            except NotPortable:
                workers = None
            continue
        batch = (
            handed_out.popleft()
            if handed_out
            else rows.take(sizes.next(pace, rows.left))
        )
        started = time.perf_counter()
        part = function(metric, batch)
        pace = Pace(batch.rows, time.perf_counter() - started)
        add(part, batch)
    if rows.lacking.height:
        left = [Left(*row) for row in rows.lacking.iter_rows()]
        parts.append(with_left(parts[0].clear(), left))
    return parts


def _shared(
    workers: Workers,
    metric: BoundMetric,
    function: BatchFunction,
    batches: Iterable[Batch],
) -> Generator[pl.DataFrame, None, None]:
    """Compute batches in worker processes, several at a time.

    Raises:
        MetricError: The batch whose turn it is failed, or its process died.
        NotPortable: The metric or the data cannot go to another process.
    """
    if metric.loaded_with is None:
        raise NotPortable
    parts = (metric.component, dict(metric.loaded_with), metric.prepared)

    def died(first: Batch, last: Batch) -> MetricError:
        return MetricError(
            f"{metric.component.origin}: a worker process ended while it computed one "
            f"of the examples {first.id_of(0)!r} to {last.id_of(last.rows - 1)!r}; one "
            "job instead of several runs it in this process"
        )

    shared = partial(_compute_there, function)
    for part, failure in workers.map(_load, parts, shared, batches, died):
        if failure is not None:
            keep_cause(metric, unpacked(*failure))
        yield part


def _compute_there(
    function: BatchFunction, metric: BoundMetric, batch: Batch
) -> tuple[pl.DataFrame, Packed | None]:
    """Compute a batch in a worker process; return also what a row of it raised."""
    part = function(metric, batch)
    cause = metric.computed.pop("cause", None)
    return part, None if cause is None else packed(cause)


def _load(
    component: Component, parameters: Mapping[str, Any], prepared: Any
) -> BoundMetric:
    """Load a metric in a worker process."""
    metric = BoundMetric.of(load_component(component, parameters))
    return replace(metric, prepared=prepared)


class _Rows:
    """The rows that no batch has yet."""

    def __init__(self, metric: BoundMetric, table: ScoringTable) -> None:
        columns = ["position", "prediction", "target"]
        frame = table.frame.select(
            all_named(columns), *columns_for(metric, table.frame)
        )
        self.lacking = table.lacking_for(metric)
        if self.lacking.height:
            frame = frame.join(self.lacking, "position", "anti", maintain_order="left")
        names = tuple(table.frame.columns)
        self._all = Batch(frame, table.ids, table.context, names, table.size)
        self._done = 0

    @property
    def left(self) -> int:
        return self._all.rows - self._done

    def take(self, rows: int) -> Batch:
        batch = self._all.part(self._done, self._done + rows)
        self._done += batch.rows
        return batch

    def shared(
        self, sizes: BatchSizes, pace: Pace, jobs: int, handed_out: deque[Batch]
    ) -> Iterator[Batch]:
        """Take batches for workers, and write each down as handed out."""
        left = self.left
        while self.left:
            batch = self.take(sizes.next(pace, left, jobs * _SHARES_A_WORKER))
            handed_out.append(batch)
            yield batch
