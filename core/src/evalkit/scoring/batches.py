"""Hands the rows of a table to a metric batch by batch, to workers where that pays.

What comes out does not depend on who computed a batch: batches are joined in the
order of the rows, and of several that fail the first one's error is raised.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import polars as pl

from evalkit.base.columns import all_named
from evalkit.errors import MetricError
from evalkit.parallel.service import packed
from evalkit.parallel.workers import NotPortable, Workers, unpacked
from evalkit.plugins.bound import BoundMetric
from evalkit.plugins.components import Component
from evalkit.plugins.registry import load_component
from evalkit.scoring.outcomes import EXTRA, Left, keep_cause, with_left
from evalkit.scoring.table import Batch, BatchFunction, columns_for

if TYPE_CHECKING:
    from evalkit.scoring.table import ScoringTable

WORTH_SECONDS = 3.0
"""Workers are started for work that would take one process longer than this, since
starting one takes more than a second of a processor."""

LEAST_MEASURED = 0.05
"""Seconds that a batch must have taken for its pace to be believed."""

_BATCH_SECONDS = 0.25
_SHARED_SECONDS = 0.5
_SHARES_A_WORKER = 4
_LEAST_ROWS = 64

AdvanceRows = Callable[[int], None]
"""Told how many rows were done since it was last told."""


class Pace(NamedTuple):
    """How a batch went in this process."""

    rows: int
    seconds: float
    elsewhere: float
    """Seconds of processor time that other threads spent on it."""

    @property
    def seconds_a_row(self) -> float:
        """Seconds that one row takes."""
        return self.seconds / self.rows

    def pays_to_share(self, left: int) -> bool:
        """Tell whether workers would be done with the rest before this process.

        Work that a library does in threads of its own uses all processors already.

        Args:
            left: How many rows there are still to do.
        """
        return (
            self.seconds >= LEAST_MEASURED
            and self.seconds_a_row * left > WORTH_SECONDS
            and self.elsewhere < self.seconds / 2
        )


class BatchSizes(Protocol):
    """Says how many rows the next batch has."""

    def own(self, pace: Pace | None) -> int:
        """Return the size of a batch here; `pace` is that of the last one."""

    def shared(self, pace: Pace, left: int, jobs: int) -> int:
        """Return the size of a batch for one of so many workers."""


class GrowingSizes:
    """Sizes for hooks that see a whole batch.

    They grow from small ones, which tell the pace, to large ones, which cost least; of
    slow hooks they stay small, so that there is something left to share.

    Args:
        most: The largest size.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._next = min(_LEAST_ROWS, most)

    def own(self, pace: Pace | None) -> int:
        """Return the next size, or one that takes about a quarter of a second."""
        size = self._next
        self._next = min(size * 4, self._most)
        if pace is None:
            return size
        wanted = int(_BATCH_SECONDS / max(pace.seconds_a_row, 1e-9))
        return min(size, max(wanted, _LEAST_ROWS))

    def shared(self, pace: Pace, left: int, jobs: int) -> int:
        """Return a size that takes half a second, or less to keep all workers busy."""
        size = _shared_size(pace, left, jobs)
        return min(self._most, max(size, _LEAST_ROWS))


class FixedSizes:
    """One size, for models that score a list of examples at once.

    Args:
        rows: The size.
    """

    def __init__(self, rows: int) -> None:
        self._rows = rows

    def own(self, pace: Pace | None) -> int:
        """Return the size."""
        return self._rows

    def shared(self, pace: Pace, left: int, jobs: int) -> int:
        """Return the size."""
        return self._rows


class TimedSizes:
    """Sizes that follow the pace, for hooks that see one row."""

    most = 65_536

    def own(self, pace: Pace | None) -> int:
        """Return a size that takes about a quarter of a second."""
        if pace is None:
            return 1
        wanted = _BATCH_SECONDS / max(pace.seconds_a_row, 1e-9)
        return max(1, min(int(wanted), pace.rows * 8, self.most))

    def shared(self, pace: Pace, left: int, jobs: int) -> int:
        """Return a size that takes half a second, or less to keep all workers busy."""
        return max(1, min(_shared_size(pace, left, jobs), self.most))


def _shared_size(pace: Pace, left: int, jobs: int) -> int:
    wanted = _SHARED_SECONDS / max(pace.seconds_a_row, 1e-9)
    return min(int(wanted), left // (jobs * _SHARES_A_WORKER))


def compute_batches(
    metric: BoundMetric,
    table: ScoringTable,
    function: BatchFunction,
    sizes: BatchSizes,
    workers: Workers | None = None,
    advance: AdvanceRows | None = None,
    check: Callable[[pl.DataFrame], None] = lambda _: None,
) -> list[pl.DataFrame]:
    """Compute all rows of a table.

    Args:
        metric: The metric.
        table: What is scored.
        function: Computes one batch.
        sizes: How large batches are.
        workers: Processes that help with long work; None for none.
        advance: Told about progress after every batch.
        check: Given the result of each batch, in order; what it raises ends the work.

    Returns:
        The results of all batches, in the order of the rows.

    Raises:
        MetricError: A batch failed; the first one of them.
    """
    tell = advance or _ignore
    workers = workers if metric.shares_work else None
    rows = _Rows(metric, table)
    handed_out: deque[Batch] = deque()
    parts: list[pl.DataFrame] = []
    pace: Pace | None = None
    while handed_out or rows.left:
        if (
            workers is not None
            and pace is not None
            and len(parts) > 1  # the first batch may have had to prepare something
            and pace.pays_to_share(rows.left)
        ):
            try:
                batches = rows.shared(sizes, pace, workers.jobs, handed_out)
                with closing(_compute(workers, metric, function, batches)) as computed:
                    for part in computed:
                        check(part)
                        parts.append(part)
                        tell(handed_out.popleft().rows)
            except NotPortable:
                workers = None
            continue
        batch = handed_out.popleft() if handed_out else rows.take(sizes.own(pace))
        watch = _Stopwatch()
        parts.append(function(metric, batch))
        pace = watch.pace(batch.rows)
        check(parts[-1])
        tell(batch.rows)
    if rows.lacking.height:
        left = [Left(*row) for row in rows.lacking.iter_rows()]
        statistics = parts[0].drop(all_named(n for n in EXTRA if n in parts[0].columns))
        parts.append(with_left(statistics.clear(), left))
    return parts


def _compute(
    workers: Workers,
    metric: BoundMetric,
    function: BatchFunction,
    batches: Iterable[Batch],
) -> Generator[pl.DataFrame, None, None]:
    """Compute batches in worker processes, several at a time.

    Yields:
        The result of each batch, in order.

    Raises:
        MetricError: The batch whose turn it is failed, or its process died.
        NotPortable: The metric or the data cannot go to another process.
    """
    if metric.loaded_with is None:
        raise NotPortable
    parts = (metric.component, dict(metric.loaded_with), metric.prepared)

    def died(batch: Batch, ending: str) -> MetricError:
        first, last = batch.id_of(0), batch.id_of(batch.rows - 1)
        return MetricError(
            f"{metric.component.origin}: its worker process {ending} while it "
            f"computed the examples {first!r} to {last!r}; one job instead of "
            "several runs it in this process"
        )

    shared = partial(_compute_here, function)
    for part, failure in workers.map(_load, parts, shared, batches, died):
        if failure is not None:
            keep_cause(metric, unpacked(*failure))
        yield part


def _compute_here(
    function: BatchFunction, metric: BoundMetric, batch: Batch
) -> tuple[pl.DataFrame, tuple[bytes | None, str] | None]:
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


def _ignore(_: int) -> None:
    pass


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
            batch = self.take(sizes.shared(pace, left, jobs))
            handed_out.append(batch)
            yield batch


class _Stopwatch:
    def __init__(self) -> None:
        self._started = self._now()

    @staticmethod
    def _now() -> tuple[float, float]:
        return time.perf_counter(), time.process_time() - time.thread_time()

    def pace(self, rows: int) -> Pace:
        seconds, elsewhere = (
            now - then for now, then in zip(self._now(), self._started, strict=True)
        )
        return Pace(rows, seconds, elsewhere)
