"""Scores of all models of a task in the columns of a board, kept while they hold."""

from __future__ import annotations

import math
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
from evalkit_services_server.ranking import Grid
from evalkit_services_server.tables import BOARD, RUN, SCORE
from evalkit_services_server.withholding import SMALLEST_TAG, round_score

_MOST_KEPT = 64
"""What is kept: scores of 1 000 models in 50 columns take 2 MB, a page .3 MB."""

_MOST_COMPARED = 1024

Made = TypeVar("Made")

Place = tuple[int, int]
"""A column and a model, by their numbers."""

_KEPT: WeakKeyDictionary[Engine, OrderedDict[Hashable, Any]] = WeakKeyDictionary()
_LOCK = Lock()


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


class _Score(NamedTuple):
    """A score of a current run."""

    model: int
    dataset: int
    run: int
    tag: str
    n: int
    value: float | None
    low: float | None
    high: float | None
    reason: str | None
    key: str


def kept_while_true(
    connection: Connection, key: Hashable, make: Callable[[], Made]
) -> Made:
    """Return what is made of the database; the key says what it depends on."""
    with _LOCK:
        kept = _KEPT.setdefault(connection.engine, OrderedDict())
        is_kept = key in kept
        if is_kept:
            kept.move_to_end(key)
            made: Made = kept[key]
    if not is_kept:
        made = make()
        with _LOCK:
            kept[key] = made
            if len(kept) > _MOST_KEPT:
                kept.popitem(last=False)
    return made


def count_runs(connection: Connection) -> int:
    """Return the number of runs: scores change with it alone.

    The newest id is not enough, as PostgreSQL may commit an older one later.
    """
    return connection.scalar(select(func.count()).select_from(RUN)) or 0


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

    def read() -> Scores:
        scores = _select(connection, task, metric, parts)
        columns = {(part.dataset, part.tag): n for n, part in enumerate(parts)}
        numbers = {model: n for n, model in enumerate(models)}
        places = [(columns[x.dataset, x.tag], numbers[x.model]) for x in scores]
        apart = _find_apart(connection, metric, places, scores)
        return _arrange(parts, len(models), places, scores, apart)

    key = count_runs(connection), task, metric, *parts, *models
    return kept_while_true(connection, key, read)


def _select(
    connection: Connection, task: int, metric: str, parts: Sequence[Part]
) -> list[_Score]:
    query = (
        select(
            *(BOARD.c.model_id, BOARD.c.dataset_id, BOARD.c.run_id, SCORE.c.tag),
            *(SCORE.c.n, SCORE.c.value, SCORE.c.ci_low, SCORE.c.ci_high),
            *(SCORE.c.reason, RUN.c.comparison_key),
        )
        .join(RUN, RUN.c.id == BOARD.c.run_id)
        .join(SCORE, (SCORE.c.run_id == RUN.c.id) & (SCORE.c.metric == BOARD.c.metric))
        .where(BOARD.c.task_id == task, BOARD.c.metric == metric)
        .where(BOARD.c.dataset_id.in_({part.dataset for part in parts}))
        .where(SCORE.c.tag.in_({part.tag for part in parts}))
    )
    return [_Score._make(row) for row in connection.execute(query).all()]


def _arrange(
    parts: Sequence[Part],
    models: int,
    places: Sequence[Place],
    scores: Sequence[_Score],
    apart: Mapping[Place, str],
) -> Scores:
    """Put scores into arrays; those of private datasets are rounded."""
    shape, reasons = (len(parts), models), dict[Place, str]()
    numbers = np.full((3, *shape), np.nan)
    n, runs = np.zeros((2, *shape), dtype=np.int64)
    for place, score in zip(places, scores, strict=True):
        found: tuple[float | None, ...] = score[5:8]
        if score.value is None:
            reasons[place] = score.reason or ""
        if parts[place[0]].is_withheld:
            found = tuple(round_score(x) for x in found)
            if score.tag and score.n < SMALLEST_TAG:
                found = None, None, None
                reasons[place] = f"withheld below {SMALLEST_TAG} examples"
            elif score.value is None:
                reasons[place] = "withheld"
        numbers[:, *place] = [math.nan if x is None else x for x in found]
        n[place], runs[place] = score.n, score.run
    return Scores(Grid(*numbers), n, runs, reasons, apart)


def _find_apart(
    connection: Connection,
    metric: str,
    places: Sequence[Place],
    scores: Sequence[_Score],
) -> dict[Place, str]:
    """Say why runs are not comparable with most of their column."""
    kinds = [(place[0], x.key) for place, x in zip(places, scores, strict=True)]
    times = Counter(kinds).most_common()
    main = {column: (column, key) for (column, key), _ in reversed(times)}
    if len(main) == len(times):
        return {}
    runs = {kind: score.run for kind, score in zip(kinds, scores, strict=True)}
    query = select(RUN.c.id, RUN.c.folder).where(RUN.c.id.in_(runs.values()))
    folders: dict[int, str] = {run: folder for run, folder in connection.execute(query)}
    reasons = {
        kind: _difference(folders[runs[main[kind[0]]]], folders[run], metric)
        for kind, run in runs.items()
        if kind != main[kind[0]]
    }
    found = zip(places, kinds, strict=True)
    return {place: why for place, kind in found if (why := reasons.get(kind))}


@lru_cache(maxsize=_MOST_COMPARED)
def _difference(first: str, second: str, metric: str) -> str:
    """Say why scores of two run folders are not comparable; "" if they are."""
    from evalkit import read_run

    try:
        one, other = (read_run(folder).record for folder in (first, second))
    except EvalkitError as error:
        return str(error)
    return "; ".join(
        str(each)
        for each in find_differences(one, other)
        if not each.is_minor
        and (each.field != "metric" or metric_of(metric, [each.name]))
    )
