"""Scores, means and ranks of all models of a task on a leaderboard."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import Any, NamedTuple, TypeVar
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, Engine, Row, Select, func, select

from evalkit.catalog import metric_of
from evalkit.errors import EvalkitError
from evalkit.runs import find_differences
from evalkit_services_server.tables import BOARD, RUN, SCORE
from evalkit_services_server.withholding import SMALLEST_TAG, round_score

_MOST_KEPT = 64
"""Results that are kept: scores of 1 000 models in 50 columns take 2 MB."""

_DIGITS = 12

Made = TypeVar("Made")
Floats = NDArray[np.float64]

Place = tuple[int, int]
"""A column and a model, by their numbers."""

_KEPT: WeakKeyDictionary[Engine, dict[Hashable, Any]] = WeakKeyDictionary()
_LOCK = Lock()


@dataclass(slots=True)
class Column:
    """A column of a leaderboard."""

    name: str
    """Name of the dataset, or of the tag; empty for all examples of the dataset."""
    dataset: str
    dataset_id: int
    version: str
    round: int
    access: str
    tag: str
    weight: float
    is_withheld: bool
    """Whether the scores are rounded, as the dataset is private."""


class Scores(NamedTuple):
    """The scores of models, in arrays (columns, models)."""

    grid: Floats
    """Values, and the bounds of their intervals (3, columns, models); nan for none."""
    n: NDArray[np.int64]
    runs: NDArray[np.int64]
    """Ids of the runs; 0 for none."""
    reasons: Mapping[Place, str]
    """Why there is no score."""
    apart: Mapping[Place, str]
    """Why a run is not comparable with most of its column."""

    @property
    def ranked(self) -> Floats:
        """The scores that are comparable with most of their column."""
        grid = self.grid.copy()
        for place in self.apart:
            grid[:, *place] = np.nan
        return grid


def kept(connection: Connection, key: Hashable, make: Callable[[], Made]) -> Made:
    """Return what is made of the runs; it is made again if there is another run.

    Readers of the same scores wait for the first of them, so that they are read once.
    """
    # the newest id is not enough, as PostgreSQL may commit an older one later
    newest = select(func.max(RUN.c.id)).scalar_subquery()
    recent = select(func.max(RUN.c.id), func.count()).where(RUN.c.id > newest - 1000)
    state = connection.execute(recent).one()
    key = (*state, key)
    with _LOCK:
        known = _KEPT.setdefault(connection.engine, {})
        made: Made = known.pop(key) if key in known else make()
        known[key] = made
        if len(known) > _MOST_KEPT:
            del known[next(iter(known))]
    return made


def read_scores(
    connection: Connection,
    task: int,
    metric: str,
    columns: Sequence[Column],
    models: Sequence[int],
) -> Scores:
    """Return the scores of the current runs of models, given by their ids."""
    parts = [(column.dataset_id, column.tag, column.is_withheld) for column in columns]

    def read() -> Scores:
        places = {(dataset, tag): n for n, (dataset, tag, _) in enumerate(parts)}
        numbers = {model: n for n, model in enumerate(models)}
        scores = {}
        for row in _select(connection, task, metric, columns):
            column = places[row.dataset_id, row.tag]
            is_small = row.tag and row.n < SMALLEST_TAG
            if not (is_small and columns[column].is_withheld):
                scores[column, numbers[row.model_id]] = row
        apart = _find_apart(connection, metric, scores)
        return _arrange(columns, len(models), scores, apart)

    return kept(connection, (task, metric, *parts, *models), read)


def _select(
    connection: Connection, task: int, metric: str, columns: Sequence[Column]
) -> Sequence[Row[Any]]:
    query: Select[Any] = (
        select(
            *(SCORE.c.value, SCORE.c.ci_low, SCORE.c.ci_high, SCORE.c.n),
            *(SCORE.c.tag, SCORE.c.reason, BOARD.c.model_id, BOARD.c.dataset_id),
            *(BOARD.c.run_id, RUN.c.comparison_key),
        )
        .join(RUN, RUN.c.id == BOARD.c.run_id)
        .join(SCORE, (SCORE.c.run_id == RUN.c.id) & (SCORE.c.metric == BOARD.c.metric))
        .where(BOARD.c.task_id == task, BOARD.c.metric == metric)
        .where(BOARD.c.dataset_id.in_({column.dataset_id for column in columns}))
        .where(SCORE.c.tag.in_({column.tag for column in columns}))
    )
    return connection.execute(query).all()


def _arrange(
    columns: Sequence[Column],
    models: int,
    scores: Mapping[Place, Row[Any]],
    apart: Mapping[Place, str],
) -> Scores:
    """Put scores into arrays; those of private datasets are rounded."""
    shape = len(columns), models
    grid, n, runs = np.full((3, *shape), np.nan), *np.zeros((2, *shape), dtype=np.int64)
    if scores:
        at = tuple(np.array([*scores]).T)
        rows = scores.values()
        grid[:, *at] = np.array([row[:3] for row in rows], dtype=float).T
        n[at], runs[at] = zip(*((row.n, row.run_id) for row in rows), strict=True)
    reasons = {
        place: "withheld" if columns[place[0]].is_withheld else row.reason or ""
        for place, row in scores.items()
        if row.value is None
    }
    for number, column in enumerate(columns):
        if column.is_withheld:
            grid[:, number] = np.vectorize(round_score)(grid[:, number])
    return Scores(grid, n, runs, reasons, apart)


def _find_apart(
    connection: Connection, metric: str, scores: Mapping[Place, Row[Any]]
) -> dict[Place, str]:
    """Say why runs are not comparable with most of their column."""
    kinds = {place: (place[0], row.comparison_key) for place, row in scores.items()}
    times = Counter(kinds.values()).most_common()
    main = {kind[0]: kind for kind, _ in reversed(times)}
    if len(main) == len(times):
        return {}
    runs = {kind: scores[place].run_id for place, kind in kinds.items()}
    query = select(RUN.c.id, RUN.c.folder).where(RUN.c.id.in_(runs.values()))
    folders: dict[int, str] = {run: folder for run, folder in connection.execute(query)}
    reasons = {
        kind: _difference(folders[runs[main[kind[0]]]], folders[run], metric)
        for kind, run in runs.items()
        if kind != main[kind[0]]
    }
    return {place: why for place, kind in kinds.items() if (why := reasons.get(kind))}


def _difference(first: str, second: str, metric: str) -> str:
    """Say why scores of two run folders are not comparable; "" if they are."""
    from evalkit import read_run

    try:
        one, other = (read_run(folder).record for folder in (first, second))
    except EvalkitError as error:
        return str(error)
    return "; ".join(
        str(difference)
        for difference in find_differences(one, other)
        if not difference.is_minor
        and (difference.field != "metric" or metric_of(metric, [difference.name]))
    )


class Means(NamedTuple):
    """Weighted means of scores, each field an array by model."""

    values: Floats
    """nan for a model that lacks a score that counts."""
    low: Floats
    high: Floats
    known: NDArray[np.int64]
    """Number of scores that count."""
    keys: Floats
    """Numbers of which the least is the best; nan last."""
    ranks: NDArray[np.int64]
    """1 for the best; equal means share a rank. 0 for none."""
    may_equal_best: NDArray[np.bool_]
    """Whether the interval of the difference from the best reaches 0."""


def rank_means(
    grid: Floats, weights: Sequence[float], higher_is_better: bool | None
) -> Means:
    """Rank models by weighted means of columns.

    The intervals are those of means of independent scores (MOVER, as in
    `evalkit.scoring.mean_of_intervals`, of all models at once). The grid has the scores
    and the bounds of their intervals (3, columns, models).
    """
    used = np.flatnonzero(weights)
    shares = np.array(weights, dtype=float)[used]
    shares /= shares.sum()
    values, low, high = grid[:, used]
    means = shares @ values if len(used) else np.full(grid.shape[2], np.nan)
    below, above = (
        np.linalg.norm(shares[:, None] * (values - ends), axis=0)
        for ends in (low, high)
    )
    sign = {True: -1.0, False: 1.0, None: 0.0}[higher_is_better]
    keys = np.round(sign * means, _DIGITS)  # equal up to rounding is equal
    is_ranked = np.isfinite(keys) & (sign != 0)
    ranks = np.where(is_ranked, np.searchsorted(np.sort(keys), keys) + 1, 0)
    may_equal_best = np.zeros(len(means), dtype=bool)
    if is_ranked.any():
        best = np.nanargmin(keys)
        near, far = (below, above) if higher_is_better else (above, below)
        gap = np.abs(means - means[best])
        may_equal_best = (ranks > 1) & (gap <= np.hypot(near[best], far))
    known = np.isfinite(values).sum(axis=0)
    return Means(
        means, means - below, means + above, known, keys, ranks, may_equal_best
    )
