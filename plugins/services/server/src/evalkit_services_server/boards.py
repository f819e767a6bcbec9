"""The board of a task: models by datasets, or by tags of one dataset."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple, cast

import numpy as np
from sqlalchemy import Connection, Select, func, select

from evalkit.errors import DataError, EvalkitError
from evalkit_services_server.access import NotFoundError
from evalkit_services_server.filters import Filters
from evalkit_services_server.grids import Part, Scores, kept_while_true, read_scores
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
from evalkit_services_server.withholding import SMALLEST_TAG, is_withheld

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
    scores = _read(connection, choice, models)
    rankings = _rankings(connection, choice, scores, models)
    sort = _sort_of(filters, choice, rankings)
    ranking = rankings.get("mean" if sort == "model" else sort)
    if ranking is None:
        ranking = _rank_alone(choice, scores.ranked, sort)
    known = np.isfinite(scores.grid.values).sum(axis=0).tolist()
    kept = _order(filters, ranking, models, sort, known)
    page = kept[(filters.page - 1) * rows :][:rows]
    return Board(
        task,
        filters,
        choice.metric,
        choice.scale,
        choice.metrics,
        choice.datasets,
        choice.tags,
        choice.columns,
        sort,
        "dynascore" in rankings,
        _lines(connection, choice, scores, rankings, ranking, models, page),
        len(kept),
        max(1, -(-len(kept) // rows)),
        [*choice.notices, *_notices(choice, scores)],
    )


def _read(connection: Connection, choice: _Choice, models: Sequence[Fields]) -> Scores:
    parts = [
        Part(
            column.dataset["id"],
            column.tag,
            is_withheld(column.dataset["access"], choice.exact),
        )
        for column in choice.columns
    ]
    keys = [model["id"] for model in models]
    return read_scores(connection, choice.task["id"], choice.metric, parts, keys)


def _order(
    filters: Filters,
    ranking: Ranking,
    models: Sequence[Fields],
    sort: str,
    known: Sequence[int],
) -> list[int]:
    """Return the numbers of the models that are kept, the least known last."""
    order = range(len(models)) if sort == "model" else ranking.order
    order = order[::-1] if filters.reverse else order
    rest = set(range(len(models))).difference(order)
    last = sorted(rest, key=lambda n: (-known[n], n))
    text = filters.model.lower()
    return [n for n in (*order, *last) if text in models[n]["name"].lower()]


def _lines(
    connection: Connection,
    choice: _Choice,
    scores: Scores,
    rankings: Mapping[str, Ranking],
    ranking: Ranking,
    models: Sequence[Fields],
    page: Sequence[int],
) -> list[Line]:
    """Make the rows of a page."""
    columns, dynascore = choice.columns, rankings.get("dynascore")
    lacking = [n for n in page if not scores.runs[:, n].all()]
    datasets = {column.dataset["id"] for column in columns}
    states = newest_states(connection, [models[n]["id"] for n in lacking], datasets)

    def cell(column: int, model: int) -> Cell:
        run, place = int(scores.runs[column, model]), (column, model)
        number, reason = scores.number(*place), scores.reasons.get(place, "")
        if not run:
            about = models[model], columns[column].dataset
            state = states.get((about[0]["id"], about[1]["id"]))
            reason = state or why_not_scored(*about)
        is_apart = place in scores.apart
        return Cell(number, int(scores.n[place]), run or None, is_apart, reason)

    return [
        Line(
            models[n],
            [cell(column, n) for column in range(len(columns))],
            ranking.at(n),
            rankings["mean"].at(n),
            dynascore.at(n) if dynascore else None,
        )
        for n in page
    ]


def _notices(choice: _Choice, scores: Scores) -> list[str]:
    """Say which scores are rounded, and which are not ranked and why."""
    private = [
        column.dataset["name"]
        for column in choice.columns
        if is_withheld(column.dataset["access"], choice.exact)
    ]
    rounded = [
        f"{name} is private: scores are rounded, and ranks are by rounded scores."
        for name in dict.fromkeys(private)
    ]
    times = Counter((column, why) for (column, _), why in scores.apart.items())
    return rounded + [
        f"{choice.columns[column].name or 'All examples'}: {count} of "
        f"{int((scores.runs[column] > 0).sum())} scores are not comparable with the "
        f"others. They are shown with † and not ranked: {why}."
        for (column, why), count in times.items()
    ]


def find_task(connection: Connection, code: str) -> Fields:
    """Return the row of a task.

    Raises:
        NotFoundError: There is none with this code.
    """
    query = select(TASK).where(TASK.c.code == code)
    if row := connection.execute(query).mappings().first():
        return dict(row)
    raise NotFoundError(f"task {code}: not found")


def list_models(connection: Connection, task: int) -> Sequence[Fields]:
    """Return the models of a task by name, without what only their owners see."""
    shown = (MODEL.c.id, MODEL.c.name, MODEL.c.kind, MODEL.c.is_trusted, MODEL.c.added)
    query = select(*shown).where(MODEL.c.task_id == task).order_by(MODEL.c.name)
    return _fields(connection, query)


def list_datasets(connection: Connection, task: int) -> Sequence[Fields]:
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


def _fields(connection: Connection, query: Select[Any]) -> Sequence[Fields]:
    return cast(Sequence[Fields], connection.execute(query).mappings().all())


class _Choice(NamedTuple):
    """What a board is made of."""

    task: Fields
    filters: Filters
    exact: bool
    metric: str
    scale: Scale
    metrics: Sequence[str]
    datasets: Sequence[Fields]
    """The task's datasets on the board that have the metric."""
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
    every = list_datasets(connection, task["id"])
    on_board = [each for each in every if each["board"] == "scoring"]
    datasets = _with_metric(on_board, task, metric)
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
    shown = datasets, tags, columns, notices
    return _Choice(task, filters, exact, metric, scale, unique, *shown)


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
    keys = {
        dataset["id"]: is_withheld(dataset["access"], exact) for dataset in datasets
    }
    sizes = kept_while_true(
        connection, (metric, *keys), lambda: _size_tags(connection, metric, [*keys])
    )
    return sorted({tag for tag, key, n in sizes if n >= SMALLEST_TAG or not keys[key]})


def _size_tags(
    connection: Connection, metric: str, datasets: Sequence[int]
) -> Sequence[Sequence[Any]]:
    """Return tag, dataset and number of examples of the newest run of each dataset."""
    newest = (
        select(func.max(BOARD.c.run_id))
        .where(BOARD.c.metric == metric, BOARD.c.dataset_id.in_(datasets))
        .group_by(BOARD.c.dataset_id)
    )
    query = (
        select(SCORE.c.tag, RUN.c.dataset_id, SCORE.c.n)
        .join(RUN, RUN.c.id == SCORE.c.run_id)
        .where(SCORE.c.run_id.in_(newest), SCORE.c.metric == metric, SCORE.c.tag != "")
    )
    return connection.execute(query).all()


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
    scores: Scores,
    models: Sequence[Fields],
) -> dict[str, Ranking]:
    """Rank the models by the mean, and by the dynascore if the board has one."""
    means, perf = _rank_means(choice, scores), choice.metric
    rankings, task, filters = {"mean": means}, choice.task, choice.filters
    is_whole = perf == task["perf_metric"] and not filters.tag and filters.by != "tag"
    if not is_whole or not task["delta_metrics"]:
        return rankings
    values, ways = {perf: means.values}, {perf: choice.scale.higher_is_better}
    given = {**task["weights"], **filters.weights}
    for metric in dict.fromkeys((*task["delta_metrics"], *task["weights"])):
        if metric in choice.metrics and metric != perf and given.get(metric, 1.0):
            kept = Filters(
                metric=metric, round=filters.round, language=filters.language
            )
            other = _choose(connection, task, kept, choice.exact)
            if other.columns:
                found = _rank_means(other, _read(connection, other, models)).values
                values[metric], ways[metric] = found, other.scale.higher_is_better
    if len(values) < 2:
        return rankings
    known = {name: weight for name, weight in given.items() if name in values}
    names = [model["name"] for model in models]
    try:
        rankings["dynascore"] = rank_dynascores(values, ways, perf, known, names)
    except EvalkitError as error:
        choice.notices.append(f"No dynascore: {error}.")
    return rankings


def _rank_means(choice: _Choice, scores: Scores) -> Ranking:
    weights = [column.weight for column in choice.columns]
    return rank_means(scores.ranked, weights, choice.scale.higher_is_better)


def _sort_of(filters: Filters, choice: _Choice, rankings: Mapping[str, Ranking]) -> str:
    sort = filters.sort or "mean"
    names = [column.name for column in choice.columns]
    _check("sort", [sort], ["model", *rankings, *names])
    return sort


def _rank_alone(choice: _Choice, grid: Grid, name: str) -> Ranking:
    """Rank models by one column."""
    weights = [float(column.name == name) for column in choice.columns]
    return rank_means(grid, weights, choice.scale.higher_is_better)
