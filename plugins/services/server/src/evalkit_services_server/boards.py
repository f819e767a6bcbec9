"""The board of a task: models by datasets, or by tags of one dataset."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from sqlalchemy import Connection, Select, func, select
from sqlalchemy.sql.elements import ColumnElement

from evalkit.catalog import metric_of
from evalkit.errors import DataError, EvalkitError
from evalkit.runs import find_differences
from evalkit_services_server.access import NotFoundError
from evalkit_services_server.filters import Filters
from evalkit_services_server.ranking import (
    Grid,
    Number,
    Ranked,
    Ranking,
    rank_dynascores,
    rank_means,
)
from evalkit_services_server.tables import (
    BOARD,
    DATASET,
    JOB,
    METRIC,
    MODEL,
    ROUND,
    RUN,
    SCORE,
    TASK,
)
from evalkit_services_server.withholding import (
    SMALLEST_TAG,
    is_withheld,
    round_score,
)

PAGE_ROWS = 100
"""Models on a page."""

_MOST_TAGS = 60
WAITING = "waiting for predictions"
_STATES = {
    "waiting": "waiting to be evaluated",
    "running": "being evaluated",
    "failed": "evaluation failed",
    "refused": "predictions refused",
    "done": "no score",
}

Fields = Mapping[str, Any]
"""A row of a table."""


class Column(NamedTuple):
    """A column of a board."""

    name: str
    """Name of the dataset, or of the tag; empty for all examples of the dataset."""
    dataset: Fields
    tag: str
    weight: float


class Cell(NamedTuple):
    """What one model has in one column."""

    number: Number | None
    n: int = 0
    run: int | None = None
    is_apart: bool = False
    """Whether the run is not comparable with those that are ranked."""
    reason: str = ""
    """Why there is no score."""


class Line(NamedTuple):
    """A row of a board."""

    model: Fields
    cells: Sequence[Cell]
    total: Ranked
    """What the board is sorted by, with the rank."""
    mean: Ranked
    dynascore: Ranked | None


class Scale(NamedTuple):
    """How scores of a metric are read."""

    unit: str = ""
    scale: float = 1.0
    higher_is_better: bool | None = None


class Board(NamedTuple):
    """One page of the board of a task."""

    task: Fields
    filters: Filters
    metric: str
    scale: Scale
    metrics: Sequence[str]
    """Metrics that the board can show."""
    datasets: Sequence[Fields]
    """Datasets that the board can show."""
    tags: Sequence[str]
    """Tags that the board can show."""
    columns: Sequence[Column]
    sort: str
    """`mean`, `dynascore`, `model` or the name of a column."""
    has_dynascore: bool
    lines: Sequence[Line]
    models: int
    """Number of models on all pages."""
    pages: int
    notices: Sequence[str]

    @property
    def rounds(self) -> list[int]:
        """Rounds that the datasets are of."""
        return sorted({each["round"] for each in self.datasets})

    @property
    def languages(self) -> list[str]:
        """Languages of the datasets."""
        return sorted({x for each in self.datasets for x in each["languages"]})

    @property
    def weighted(self) -> list[str]:
        """Datasets, and metrics of the dynascore, that can have weights."""
        names = [column.name for column in self.columns]
        metrics = [self.metric, *self.task["delta_metrics"]]
        return [*names, *(metrics if self.has_dynascore else [])]


def board(
    connection: Connection,
    task: Fields,
    filters: Filters,
    *,
    exact: bool = False,
    rows: int = PAGE_ROWS,
) -> Board:
    """Make one page of the board of a task.

    Args:
        connection: An open transaction.
        task: Row of the table `task`.
        filters: What is shown.
        exact: Whether scores of private datasets are shown as they are.
        rows: Models on a page.

    Returns:
        The page. A model that lacks a score that counts is after those that have all,
        without a rank.

    Raises:
        DataError: A filter names what the task does not have.
    """
    choice = _choose(connection, task, filters, exact)
    models = list_models(connection, task["id"])
    cells = _Cells(connection, choice, models, exact)
    rankings = _rankings(connection, choice, cells, models, exact)
    sort = _sort_of(filters, choice, rankings)
    if sort == "model":
        ranking, order = rankings["mean"], list(range(len(models)))
    else:
        ranking = rankings.get(sort) or _rank_alone(choice, cells.grid, models, sort)
        order = ranking.order
    order = order[::-1] if filters.reverse else order
    rest = sorted(set(range(len(models))).difference(order))
    text = filters.model.lower()
    kept = [n for n in (*order, *rest) if text in models[n]["name"].lower()]
    page = kept[(filters.page - 1) * rows :][:rows]
    shown_datasets = {column.dataset["id"] for column in choice.columns}
    states = newest_states(connection, [models[n]["id"] for n in page], shown_datasets)
    dynascore = rankings.get("dynascore")
    lines = [
        Line(
            models[n],
            [cells.at(x, n, states) for x in range(len(choice.columns))],
            ranking.at(n),
            rankings["mean"].at(n),
            dynascore.at(n) if dynascore else None,
        )
        for n in page
    ]
    shown = (choice.metrics, choice.datasets, choice.tags, choice.columns, sort)
    notices = [*choice.notices, *cells.notices]
    name, has_dynascore = choice.metric, dynascore is not None
    counts = has_dynascore, lines, len(kept), max(1, -(-len(kept) // rows)), notices
    return Board(task, filters, name, choice.scale, *shown, *counts)


def find_task(connection: Connection, code: str) -> Fields:
    """Return the row of a task.

    Raises:
        NotFoundError: There is none with this code.
    """
    query = select(TASK).where(TASK.c.code == code)
    if row := connection.execute(query).mappings().first():
        return dict(row)
    raise NotFoundError(f"task {code}: not found")


def list_models(connection: Connection, task: int) -> list[Fields]:
    """Return the models of a task by name, without what only their owners see."""
    shown = (MODEL.c.id, MODEL.c.name, MODEL.c.kind, MODEL.c.is_trusted, MODEL.c.added)
    query = select(*shown).where(MODEL.c.task_id == task).order_by(MODEL.c.name)
    return _fields(connection, query)


def list_datasets(connection: Connection, task: int) -> list[Fields]:
    """Return the newest version of each dataset of a task, with the round's number."""
    newest = (
        select(func.max(DATASET.c.id))
        .where(DATASET.c.task_id == task)
        .group_by(DATASET.c.name)
    )
    query = (
        select(DATASET, func.coalesce(ROUND.c.number, 0).label("round"))
        .outerjoin(ROUND, ROUND.c.id == DATASET.c.round_id)
        .where(DATASET.c.id.in_(newest))
        .order_by(func.coalesce(ROUND.c.number, 0), DATASET.c.name)
    )
    return _fields(connection, query)


def read_scale(connection: Connection, metric: str) -> Scale:
    """Return how scores of a metric are read; unknown before the first run."""
    query = select(METRIC.c.unit, METRIC.c.scale, METRIC.c.higher_is_better)
    row = connection.execute(query.where(METRIC.c.name == metric)).first()
    return Scale(*row) if row else Scale()


def _fields(connection: Connection, query: Select[Any]) -> list[Fields]:
    return [dict(row._mapping) for row in connection.execute(query)]


class _Choice(NamedTuple):
    """What a board is made of."""

    task: Fields
    filters: Filters
    metric: str
    scale: Scale
    metrics: Sequence[str]
    every: Sequence[Fields]
    """The task's datasets on the board."""
    datasets: Sequence[Fields]
    """Those that have the metric."""
    tags: Sequence[str]
    columns: Sequence[Column]
    notices: list[str]


def _choose(
    connection: Connection, task: Fields, filters: Filters, exact: bool
) -> _Choice:
    """Find the metric and the columns; refuse names that the task does not have."""
    metrics = [task["perf_metric"], *task["eval_metrics"], *task["delta_metrics"]]
    metric = filters.metric or metrics[0]
    _check("metric", [metric], metrics)
    on_board = list_datasets(connection, task["id"])
    every = [each for each in on_board if each["board"] == "scoring"]
    datasets = _with_metric(every, task, metric)
    _check("dataset", filters.dataset, [each["name"] for each in datasets])
    kept = [each for each in datasets if _is_kept(each, filters)]
    tags = _list_tags(connection, metric, kept, exact)
    weights = filters.weights
    if filters.by == "tag":
        if len(kept) != 1:
            raise DataError("by: columns of tags need exactly one dataset")
        columns = [
            Column(tag, kept[0], tag, float(not tag))
            for tag in ("", *tags[:_MOST_TAGS])
        ]
    else:
        columns = [
            Column(each["name"], each, filters.tag, weights.get(each["name"], 1.0))
            for each in kept
        ]
    scale, notices = read_scale(connection, metric), []
    if scale.higher_is_better is None:
        notices.append(f"No ranks: unknown whether higher {metric} is better.")
    if filters.by == "tag" and len(tags) > _MOST_TAGS:
        notices.append(f"The first {_MOST_TAGS} of {len(tags)} tags are shown.")
    unique = [*dict.fromkeys(metrics)]
    shown = every, datasets, tags, columns, notices
    return _Choice(task, filters, metric, scale, unique, *shown)


def _check(name: str, given: Sequence[str], known: Sequence[str]) -> None:
    for value in given:
        if value not in known:
            listed = ", ".join(dict.fromkeys(known)) or "none"
            raise DataError(f"{name}: the board has no {value!r}. It has: {listed}")


def _with_metric(every: Sequence[Fields], task: Fields, metric: str) -> list[Fields]:
    """Return the datasets of a delta metric's perturbation, or the original ones."""
    wanted = metric if metric in task["delta_metrics"] else None
    return [each for each in every if each["perturbation"] == wanted]


def _is_kept(dataset: Fields, filters: Filters) -> bool:
    return (
        (not filters.dataset or dataset["name"] in filters.dataset)
        and (not filters.round or dataset["round"] in filters.round)
        and (
            not filters.language
            or any(
                spoken == asked or spoken.startswith(f"{asked}-")
                for asked in filters.language
                for spoken in dataset["languages"]
            )
        )
    )


def _list_tags(
    connection: Connection, metric: str, datasets: Sequence[Fields], exact: bool
) -> list[str]:
    """Return the tags that the newest run of each dataset has scores of."""
    newest = (
        select(func.max(BOARD.c.run_id))
        .where(BOARD.c.metric == metric, _is_of(datasets))
        .group_by(BOARD.c.dataset_id)
    )
    query = (
        select(SCORE.c.tag, DATASET.c.access, func.max(SCORE.c.n))
        .join(RUN, RUN.c.id == SCORE.c.run_id)
        .join(DATASET, DATASET.c.id == RUN.c.dataset_id)
        .where(SCORE.c.run_id.in_(newest), SCORE.c.metric == metric, SCORE.c.tag != "")
        .group_by(SCORE.c.tag, DATASET.c.access)
    )
    return sorted(
        {
            tag
            for tag, access, n in connection.execute(query)
            if n >= SMALLEST_TAG or not is_withheld(access, exact)
        }
    )


def _is_of(datasets: Sequence[Fields]) -> ColumnElement[bool]:
    return BOARD.c.dataset_id.in_([each["id"] for each in datasets])


class _Cells:
    """The scores of a board, of all models and columns."""

    def __init__(
        self,
        connection: Connection,
        choice: _Choice,
        models: Sequence[Fields],
        exact: bool,
    ) -> None:
        places = {model["id"]: place for place, model in enumerate(models)}
        columns = {(x.dataset["id"], x.tag): n for n, x in enumerate(choice.columns)}
        shape = len(choice.columns), len(models)
        self._values, low, high = (np.full(shape, np.nan) for _ in range(3))
        self._n, self._runs = (np.zeros(shape, dtype=np.int64) for _ in range(2))
        self._reasons: dict[tuple[int, int], str] = {}
        self._columns, self._models = choice.columns, models
        self._metric, self.notices = choice.metric, list[str]()
        rows: dict[tuple[int, int], Any] = {}
        for row in _read_scores(connection, choice):
            at = columns[row.dataset_id, row.tag], places[row.model_id]
            hidden = is_withheld(choice.columns[at[0]].dataset["access"], exact)
            if hidden and row.tag and row.n < SMALLEST_TAG:
                self._reasons[at] = f"withheld below {SMALLEST_TAG} examples"
                continue
            numbers = [row.value, row.ci_low, row.ci_high]
            numbers = [round_score(x) for x in numbers] if hidden else numbers
            self._values[at], low[at], high[at] = numbers
            self._n[at], self._runs[at], rows[at] = row.n, row.run_id, row
            if row.value is None:
                self._reasons[at] = "withheld" if hidden else row.reason or ""
        self._apart = self._find_apart(rows)
        ranked = np.where(self._apart, np.nan, self._values)
        self.grid, self._own = Grid(ranked, low, high), Grid(self._values, low, high)

    def _find_apart(self, rows: Mapping[tuple[int, int], Any]) -> Any:
        """Mark the runs that are not comparable with most of their column."""
        apart = np.zeros(self._values.shape, dtype=bool)
        counts = [Counter[str]() for _ in self._columns]
        folders: dict[str, str] = {}
        for (column, _), row in rows.items():
            counts[column][row.comparison_key] += 1
            folders.setdefault(row.comparison_key, row.folder)
        metric = self._metric
        for column, keys in enumerate(counts):
            main, *others = (key for key, _ in keys.most_common()) if keys else [""]
            reasons = {
                key: why
                for key in others
                if (why := _difference(folders[main], folders[key], metric))
            }
            name = self._columns[column].name or "all examples"
            self.notices += [
                f"{name}: {keys[key]} of {keys.total()} scores are not comparable with "
                f"the others. They are shown with † and not ranked: {why}."
                for key, why in reasons.items()
            ]
            for at, row in rows.items() if reasons else ():
                apart[at] |= at[0] == column and row.comparison_key in reasons
        return apart

    def at(self, column: int, place: int, states: Mapping[Any, str]) -> Cell:
        """Return a cell."""
        run = int(self._runs[column, place])
        model, dataset = self._models[place], self._columns[column].dataset
        reason = self._reasons.get((column, place), "")
        if not run and not reason:
            reason = states.get((model["id"], dataset["id"])) or why_not_scored(
                model, dataset
            )
        return Cell(
            self._own.number(column, place),
            int(self._n[column, place]),
            run or None,
            bool(self._apart[column, place]),
            reason,
        )


def _read_scores(connection: Connection, choice: _Choice) -> Any:
    """Return the scores of the current runs in all columns."""
    wanted = SCORE.c.tag.in_({column.tag for column in choice.columns})
    query = (
        select(
            *(BOARD.c.model_id, BOARD.c.dataset_id, BOARD.c.run_id, SCORE.c.tag),
            *(SCORE.c.n, SCORE.c.value, SCORE.c.ci_low, SCORE.c.ci_high),
            *(SCORE.c.reason, RUN.c.comparison_key, RUN.c.folder),
        )
        .join(RUN, RUN.c.id == BOARD.c.run_id)
        .join(
            SCORE,
            (SCORE.c.run_id == BOARD.c.run_id) & (SCORE.c.metric == BOARD.c.metric),
        )
        .where(
            BOARD.c.task_id == choice.task["id"],
            BOARD.c.metric == choice.metric,
            _is_of([column.dataset for column in choice.columns]),
            wanted,
        )
    )
    return connection.execute(query)


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


def why_not_scored(model: Fields, dataset: Fields) -> str:
    """Say why a model has no job on a dataset."""
    if model["kind"] == "uploaded":
        return WAITING
    if dataset["access"] == "inputs-private" and not model["is_trusted"]:
        return "not asked: the host does not trust the model with these inputs"
    return "not requested"


def newest_states(
    connection: Connection, models: Sequence[int], datasets: Collection[int]
) -> dict[tuple[int, int], str]:
    """Say how far the newest evaluation of models on datasets is."""
    query = (
        select(JOB.c.model_id, JOB.c.dataset_id, JOB.c.state)
        .where(JOB.c.model_id.in_(models), JOB.c.dataset_id.in_(datasets))
        .order_by(JOB.c.id)
    )
    return {
        (model, dataset): _STATES[state]
        for model, dataset, state in connection.execute(query)
    }


def _rankings(
    connection: Connection,
    choice: _Choice,
    cells: _Cells,
    models: Sequence[Fields],
    exact: bool,
) -> dict[str, Ranking]:
    """Rank the models by the mean, and by the dynascore if the board has one."""
    names = [column.name or "all examples" for column in choice.columns]
    weights = [column.weight for column in choice.columns]
    means = rank_means(cells.grid, weights, names, choice.scale.higher_is_better)
    rankings, task, filters = {"mean": means}, choice.task, choice.filters
    has_dynascore = task["delta_metrics"] and choice.metric == task["perf_metric"]
    if not has_dynascore or filters.tag or filters.by == "tag":
        return rankings
    perf = choice.metric
    values, ways = {perf: means.values}, {perf: choice.scale.higher_is_better}
    given = {**task["weights"], **filters.weights}
    for metric in dict.fromkeys((*task["delta_metrics"], *task["weights"])):
        if metric in choice.metrics and metric != perf and given.get(metric, 1.0):
            changed = Filters(
                metric=metric, round=filters.round, language=filters.language
            )
            other = _choose(connection, task, changed, exact)
            grid = _Cells(connection, other, models, exact).grid
            own = [column.name for column in other.columns]
            count = [column.weight for column in other.columns]
            way = other.scale.higher_is_better
            values[metric], ways[metric] = rank_means(grid, count, own, way).values, way
    known = {name: weight for name, weight in given.items() if name in values}
    labels = [model["name"] for model in models]
    try:
        rankings["dynascore"] = rank_dynascores(values, ways, perf, known, labels)
    except EvalkitError as error:
        choice.notices.append(f"No dynascore: {error}.")
    return rankings


def _sort_of(filters: Filters, choice: _Choice, rankings: Mapping[str, Ranking]) -> str:
    sort = filters.sort or "mean"
    names = [column.name for column in choice.columns]
    _check("sort", [sort], ["model", *rankings, *names])
    return sort


def _rank_alone(
    choice: _Choice, grid: Grid, models: Sequence[Fields], name: str
) -> Ranking:
    """Rank models by one column."""
    names = [column.name for column in choice.columns]
    weights = [float(each == name) for each in names]
    return rank_means(grid, weights, names, choice.scale.higher_is_better)
