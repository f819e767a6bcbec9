"""Scores of all models of a task in the columns of a board, kept while they hold."""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import lru_cache
from threading import Lock
from typing import Any, NamedTuple, TypeVar
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, Engine, func, select

from evalkit.catalog import metric_of
from evalkit.errors import EvalkitError
from evalkit.runs import find_differences
from evalkit_services_server.ranking import Grid, Number
from evalkit_services_server.tables import BOARD, RUN, SCORE
from evalkit_services_server.withholding import SMALLEST_TAG, round_score

_MOST_KEPT = 32
"""What is kept; scores of 1 000 models in 50 columns take 2 MB."""

Made = TypeVar("Made")

Place = tuple[int, int]
"""A column and a model, by their numbers."""


class Part(NamedTuple):
    """What a column holds."""

    dataset: int
    """Id of the dataset."""
    tag: str
    """A tag; empty for all examples."""
    is_withheld: bool
    """Whether the dataset is private to who asks."""


class Scores(NamedTuple):
    """The scores of models, in arrays (columns, models)."""

    grid: Grid
    n: NDArray[np.int64]
    runs: NDArray[np.int64]
    """Ids of the runs; 0 for none."""
    reasons: Mapping[Place, str]
    """Why there is no score."""
    apart: Mapping[Place, str]
    """Why a run is not comparable with most of its column."""

    @property
    def ranked(self) -> Grid:
        """The scores that are comparable with most of their column."""
        if not self.apart:
            return self.grid
        values = self.grid.values.copy()
        values[tuple(np.array([*self.apart]).T)] = np.nan
        return self.grid._replace(values=values)

    def number(self, column: int, model: int) -> Number | None:
        """Return a score; None if the model has none."""
        return self.grid.number(column, model)


_KEPT: WeakKeyDictionary[Engine, OrderedDict[Hashable, Any]] = WeakKeyDictionary()
_LOCK = Lock()


def kept_while_true(
    connection: Connection, key: Hashable, make: Callable[[], Made]
) -> Made:
    """Return what is made of scores; it is made again after a new run."""
    key = connection.scalar(select(func.max(RUN.c.id))), key
    with _LOCK:
        kept = _KEPT.setdefault(connection.engine, OrderedDict())
        if key not in kept:
            kept[key] = make()
        kept.move_to_end(key)
        while len(kept) > _MOST_KEPT:
            kept.popitem(last=False)
        made: Made = kept[key]
        return made


def read_scores(
    connection: Connection,
    task: int,
    metric: str,
    parts: Sequence[Part],
    models: Sequence[int],
) -> Scores:
    """Return the scores of the current runs.

    Args:
        connection: An open transaction.
        task: Id of the task.
        metric: Name of the metric.
        parts: The columns.
        models: Ids of the models, in the order of the arrays.
    """
    key = task, metric, tuple(parts), tuple(models)
    return kept_while_true(
        connection, key, lambda: _read_scores(connection, task, metric, parts, models)
    )


def _read_scores(
    connection: Connection,
    task: int,
    metric: str,
    parts: Sequence[Part],
    models: Sequence[int],
) -> Scores:
    columns = {(part.dataset, part.tag): n for n, part in enumerate(parts)}
    numbers = {model: n for n, model in enumerate(models)}
    rows = _select(connection, task, metric, parts)
    places = [(columns[row[1], row[3]], numbers[row[0]]) for row in rows]
    shape = len(parts), len(models)
    arrays = [np.full(shape, np.nan) for _ in range(3)]
    counts = [np.zeros(shape, dtype=np.int64) for _ in range(2)]
    if rows:
        at, fields = tuple(np.array(places).T), [*zip(*rows, strict=True)]
        for array, values in zip(arrays, fields[5:8], strict=True):
            array[at] = np.array(values, dtype=float)
        for array, values in zip(counts, (fields[4], fields[2]), strict=True):
            array[at] = np.array(values)
    reasons: dict[Place, str] = {}
    for place, row in zip(places, rows, strict=True):
        if parts[place[0]].is_withheld:
            is_small = bool(row[3]) and row[4] < SMALLEST_TAG
            for array in arrays:
                number = float("nan") if is_small else round_score(float(array[place]))
                array[place] = number
            if is_small:
                reasons[place] = f"withheld below {SMALLEST_TAG} examples"
        if row[5] is None:
            reasons[place] = "withheld" if parts[place[0]].is_withheld else row[8] or ""
    apart = _find_apart(connection, metric, places, rows)
    return Scores(Grid(*arrays), counts[0], counts[1], reasons, apart)


def _select(
    connection: Connection, task: int, metric: str, parts: Sequence[Part]
) -> Sequence[Any]:
    """Return model, dataset, run, tag, n, value, bounds, reason and key of scores."""
    query = (
        select(
            *(BOARD.c.model_id, BOARD.c.dataset_id, BOARD.c.run_id, SCORE.c.tag),
            *(SCORE.c.n, SCORE.c.value, SCORE.c.ci_low, SCORE.c.ci_high),
            *(SCORE.c.reason, RUN.c.comparison_key),
        )
        .join(RUN, RUN.c.id == BOARD.c.run_id)
        .join(
            SCORE,
            (SCORE.c.run_id == BOARD.c.run_id) & (SCORE.c.metric == BOARD.c.metric),
        )
        .where(
            BOARD.c.task_id == task,
            BOARD.c.metric == metric,
            BOARD.c.dataset_id.in_({part.dataset for part in parts}),
            SCORE.c.tag.in_({part.tag for part in parts}),
        )
    )
    return connection.execute(query).all()


def _find_apart(
    connection: Connection,
    metric: str,
    places: Sequence[Place],
    rows: Sequence[Any],
) -> dict[Place, str]:
    """Say why runs are not comparable with most of their column."""
    times = Counter(
        (column, row[9]) for (column, _), row in zip(places, rows, strict=True)
    )
    if len(times) == len({column for column, _ in times}):
        return {}
    run_of = {
        (column, row[9]): row[2] for (column, _), row in zip(places, rows, strict=True)
    }
    main: dict[int, str] = {}
    for (column, key), _ in times.most_common():
        main.setdefault(column, key)
    query = select(RUN.c.id, RUN.c.folder).where(RUN.c.id.in_(run_of.values()))
    folders = {run: folder for run, folder in connection.execute(query)}
    reasons = {
        (column, key): _difference(
            folders[run_of[column, main[column]]], folders[run], metric
        )
        for (column, key), run in run_of.items()
        if key != main[column]
    }
    return {
        place: why
        for place, row in zip(places, rows, strict=True)
        if (why := reasons.get((place[0], row[9])))
    }


@lru_cache(maxsize=1024)
def _difference(first: str, second: str, metric: str) -> str:
    """Say why scores of two run folders are not comparable; "" if they are."""
    from evalkit import read_run

    try:
        records = [read_run(folder).record for folder in (first, second)]
    except EvalkitError as error:
        return str(error)
    return "; ".join(
        str(each)
        for each in find_differences(*records)
        if not each.is_minor
        and (each.field != "metric" or metric_of(metric, [each.name]))
    )
