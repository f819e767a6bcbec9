"""The leaderboard of a task: models by datasets, or by tags of one dataset."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sqlalchemy import Connection, func, select

from evalkit.errors import DataError
from evalkit_cli.commanding import for_csv
from evalkit_services_server.datasets import newest_of
from evalkit_services_server.filters import Filters
from evalkit_services_server.grids import (
    Column,
    Means,
    Scores,
    kept,
    rank_means,
    read_scores,
)
from evalkit_services_server.tables import (
    BOARD,
    JOB,
    METRIC,
    MODEL,
    MODEL_KIND,
    RUN,
    SCORE,
)
from evalkit_services_server.withholding import SMALLEST_TAG, is_withheld

PAGE_ROWS = 100
"""Models on a page."""

_MOST_TAGS = 60
_WIDE = 8
_STATES = {
    "waiting": "waiting to be evaluated",
    "running": "being evaluated",
    "failed": "evaluation failed",
    "refused": "predictions refused",
    "done": "no score",
}

Fields = Mapping[Any, Any]
"""A row of a table."""


@dataclass(slots=True)
class Cell:
    """A score of a model, or the reason why there is none."""

    value: float | None = None
    ci_low: float | None = None
    ci_high: float | None = None
    n: int = 0
    run_id: int | None = None
    is_comparable: bool = True
    """Whether the run is comparable with those that are ranked."""
    reason: str | None = None


@dataclass(slots=True)
class Line:
    """A row of a leaderboard."""

    model: str
    model_id: int
    rank: int | None
    may_equal_best: bool
    """Whether the model is not distinguishable from the best."""
    mean: Cell
    scores: list[Cell]


@dataclass(slots=True)
class Choices:
    """What a leaderboard can show."""

    metrics: list[str]
    datasets: list[str]
    tags: list[str]
    rounds: list[int]
    languages: list[str]


@dataclass(slots=True)
class Board:
    """One page of the leaderboard of a task."""

    task: str
    metric: str
    unit: str
    scale: float
    higher_is_better: bool | None
    sorted_by: str
    """`mean`, `model` or the name of a column."""
    columns: list[Column]
    models: list[Line]
    model_count: int
    """Number of models on all pages."""
    page: int
    pages: int
    notices: list[str]
    choices: Choices

    @property
    def is_wide(self) -> bool:
        """Whether intervals do not fit into the columns."""
        return len(self.columns) > _WIDE

    @property
    def facets(self) -> list[str]:
        """Beginnings of tags such as `domain:film`, with the colon."""
        tags = self.choices.tags
        return sorted({f"{tag.partition(':')[0]}:" for tag in tags if ":" in tag})


def read_board(
    connection: Connection,
    task: Fields,
    filters: Filters,
    *,
    exact: bool,
    rows: int = PAGE_ROWS,
) -> Board:
    """Read one page of the leaderboard of a task."""
    choices, datasets = _choose(connection, task, filters, exact)
    metric = filters.metric or choices.metrics[0]
    columns, notices = _columns(filters, datasets, choices.tags, task["weights"], exact)
    query = select(METRIC.c.unit, METRIC.c.scale, METRIC.c.higher_is_better)
    row = connection.execute(query.where(METRIC.c.name == metric)).first()
    unit, scale, higher_is_better = row or ("", 1.0, None)
    if higher_is_better is None:
        notices.append(f"No ranks: {metric} has no score yet, or no better direction.")
    models = _list_models(connection, task["id"])
    keys = [model["id"] for model in models]
    scores = read_scores(connection, task["id"], metric, columns, keys)
    sort, names = filters.sort or "mean", [column.name for column in columns]
    _check("sort", [sort], ["model", "mean", *names])
    weights = [column.weight for column in columns]
    means = ranking = rank_means(scores.ranked, weights, higher_is_better)
    if sort in names:
        alone = [float(name == sort) for name in names]
        ranking = rank_means(scores.ranked, alone, higher_is_better)
    order = _order(filters, ranking, scores, models)
    page = order[(filters.page - 1) * rows :][:rows]
    return Board(
        task=task["code"],
        metric=metric,
        unit=unit,
        scale=scale,
        higher_is_better=higher_is_better,
        sorted_by=sort,
        columns=columns,
        models=_lines(connection, scores, columns, means, ranking, models, page),
        model_count=len(order),
        page=filters.page,
        pages=max(1, -(-len(order) // rows)),
        notices=[*notices, *_notices(columns, scores)],
        choices=choices,
    )


def metrics_of(task: Fields) -> list[str]:
    """Return the metrics of a task's leaderboard, the main one first."""
    metrics = task["perf_metric"], *task["eval_metrics"], *task["delta_metrics"]
    return [*dict.fromkeys(metrics)]


def write_csv(board: Board) -> str:
    """Return a leaderboard as CSV, a row for each model and column."""
    stream = io.StringIO()
    names = [*Cell.__dataclass_fields__]
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(("model", "rank", "column", "dataset", "version", "metric", *names))
    is_by_dataset = len({column.dataset for column in board.columns}) > 1
    means = ["mean", "", ""] if is_by_dataset else None
    for line in board.models:
        cells = [
            ([column.name, column.dataset, column.version], cell)
            for column, cell in zip(board.columns, line.scores, strict=True)
        ]
        for about, cell in [*([(means, line.mean)] if means else ()), *cells]:
            values = [getattr(cell, name) for name in names]
            row = line.model, line.rank, *about, board.metric, *values
            writer.writerow(map(for_csv, row))
    return stream.getvalue()


def _choose(
    connection: Connection, task: Fields, filters: Filters, exact: bool
) -> tuple[Choices, list[Fields]]:
    """Return what can be shown, and the datasets that are; refuse unknown names."""
    metrics = metrics_of(task)
    metric = filters.metric or metrics[0]
    _check("metric", [metric], metrics)
    perturbation = metric if metric in task["delta_metrics"] else None
    datasets: list[Fields] = [
        dataset
        for dataset in connection.execute(newest_of(task["id"])).mappings()
        if dataset["board"] == "scoring" and dataset["perturbation"] == perturbation
    ]
    names = [dataset["name"] for dataset in datasets]
    _check("dataset", filters.dataset, names)
    shown = [dataset for dataset in datasets if _is_shown(dataset, filters)]
    choices = Choices(
        metrics,
        names,
        _list_tags(connection, metric, shown, exact),
        sorted({dataset["round"] for dataset in datasets}),
        sorted({name for dataset in datasets for name in dataset["languages"]}),
    )
    return choices, shown


def _check(name: str, values: Sequence[str], known: Sequence[str]) -> None:
    for value in values:
        if value not in known:
            listed = ", ".join(dict.fromkeys(known)) or "none"
            raise DataError(f"{name}: unknown {value!r}. Known: {listed}")


def _is_shown(dataset: Fields, filters: Filters) -> bool:
    languages = {
        name for code in dataset["languages"] for name in (code, code.partition("-")[0])
    }
    return (
        (not filters.dataset or dataset["name"] in filters.dataset)
        and (not filters.round or dataset["round"] in filters.round)
        and (not filters.language or not languages.isdisjoint(filters.language))
    )


def _list_tags(
    connection: Connection, metric: str, datasets: Sequence[Fields], exact: bool
) -> list[str]:
    """Return the tags that the newest run of each dataset has scores of."""
    access = {dataset["id"]: dataset["access"] for dataset in datasets}
    newest = (
        select(func.max(BOARD.c.run_id))
        .where(BOARD.c.metric == metric, BOARD.c.dataset_id.in_(access))
        .group_by(BOARD.c.dataset_id)
    )
    query = (
        select(SCORE.c.tag, BOARD.c.dataset_id, SCORE.c.n)
        .join(BOARD, (BOARD.c.run_id == SCORE.c.run_id) & (BOARD.c.metric == metric))
        .where(SCORE.c.run_id.in_(newest), SCORE.c.metric == metric, SCORE.c.tag != "")
    )
    sizes = kept(
        connection, ("tags", metric, *access), lambda: connection.execute(query).all()
    )
    return sorted(
        {
            tag
            for tag, dataset, n in sizes
            if n >= SMALLEST_TAG or not is_withheld(access[dataset], exact)
        }
    )


def _columns(
    filters: Filters,
    datasets: Sequence[Fields],
    tags: Sequence[str],
    weights: Mapping[str, float],
    exact: bool,
) -> tuple[list[Column], list[str]]:
    """Return the columns, and a notice where some are left out."""

    def column(dataset: Fields, name: str, tag: str, weight: float) -> Column:
        names = "version", "round", "access"
        own = {name: dataset[name] for name in names}
        own |= {"dataset": dataset["name"], "dataset_id": dataset["id"]}
        own["is_withheld"] = is_withheld(dataset["access"], exact)
        return Column(name=name, tag=tag, weight=weight, **own)

    if filters.by == "dataset":
        known = {**weights, **filters.weights}
        return [
            column(dataset, name := dataset["name"], filters.tag, known.get(name, 1.0))
            for dataset in datasets
        ], []
    if len(datasets) != 1:
        raise DataError("by: columns of tags need exactly one dataset")
    named = [tag for tag in tags if tag.startswith(filters.tag)]
    notice = f"The first {_MOST_TAGS} of {len(named)} tags are shown."
    return [
        column(datasets[0], tag, tag, float(not tag))
        for tag in ("", *named[:_MOST_TAGS])
    ], [notice] if len(named) > _MOST_TAGS else []


def _order(
    filters: Filters, ranking: Means, scores: Scores, models: Sequence[Fields]
) -> list[int]:
    """Return the numbers of the models that are shown, those without a rank last."""
    numbers = np.arange(len(models))
    keys = numbers.astype(float) if filters.sort == "model" else ranking.keys
    keys = np.where(np.isnan(keys), np.inf, -keys if filters.reverse else keys)
    known = np.isfinite(scores.grid[0]).sum(axis=0)
    order: list[int] = np.lexsort((numbers, -known, keys)).tolist()
    text = filters.model.lower()
    return [number for number in order if text in models[number]["name"].lower()]


def _lines(
    connection: Connection,
    scores: Scores,
    columns: Sequence[Column],
    means: Means,
    ranking: Means,
    models: Sequence[Fields],
    page: Sequence[int],
) -> list[Line]:
    """Return the rows of a page."""
    lacking = [models[n]["id"] for n in page if not scores.runs[:, n].all()]
    states = newest_states(connection, lacking, {each.dataset_id for each in columns})
    grid = scores.grid[:, :, page].astype(object)
    grid[grid != grid] = None  # nan
    arrays = *grid, scores.n[:, page], scores.runs[:, page]
    used = sum(column.weight > 0 for column in columns)

    def cells(row: int, number: int) -> list[Cell]:
        parts = (array[:, row].tolist() for array in arrays)
        cells = [
            Cell(value, low, high, n, run or None)
            for value, low, high, n, run in zip(*parts, strict=True)
        ]
        for place, cell in enumerate(cells):
            if cell.value is None and cell.run_id is None:
                about = models[number]["id"], columns[place].dataset_id
                why = why_not_scored(models[number], columns[place].access)
                cell.reason, cell.run_id = states.get(about, (why, None))
            elif cell.value is None:
                cell.reason = scores.reasons.get((place, number)) or "no score"
        for place, model in scores.apart:
            if model == number:
                cells[place].is_comparable = False
        return cells

    def mean(number: int) -> Cell:
        if np.isnan(means.values[number]):
            return Cell(reason=f"{means.known[number]} of {used} scores")
        low, high = float(means.low[number]), float(means.high[number])
        ends = (None, None) if np.isnan(low + high) else (low, high)
        return Cell(float(means.values[number]), *ends)

    return [
        Line(
            models[number]["name"],
            models[number]["id"],
            int(ranking.ranks[number]) or None,
            bool(ranking.may_equal_best[number]),
            mean(number),
            cells(row, number),
        )
        for row, number in enumerate(page)
    ]


def _notices(columns: Sequence[Column], scores: Scores) -> list[str]:
    """Say which scores are rounded, and which are not ranked and why."""
    private = {
        column.dataset: f"{column.dataset} is private: scores are rounded before they "
        f"are ranked. Tags of fewer than {SMALLEST_TAG} examples are withheld."
        for column in columns
        if column.is_withheld
    }
    times = Counter((column, why) for (column, _), why in scores.apart.items())
    return [
        *private.values(),
        *(
            f"{columns[column].name or 'All examples'}: {count} of "
            f"{int((scores.runs[column] > 0).sum())} scores are not comparable with "
            f"the others. They are shown with † and not ranked: {why}."
            for (column, why), count in times.items()
        ),
    ]


def _list_models(connection: Connection, task: int) -> Sequence[Fields]:
    """Return the models of a task by name, without what only their owners see."""
    shown = (MODEL.c.id, MODEL.c.name, MODEL_KIND, MODEL.c.is_trusted)
    query = select(*shown).where(MODEL.c.task_id == task).order_by(MODEL.c.name)
    return connection.execute(query).mappings().all()


def why_not_scored(model: Fields, access: str) -> str:
    """Say why a model has no job on a dataset."""
    if access == "inputs-private" and not model["is_trusted"]:
        return "private inputs: only models that the host trusts are asked"
    return "waiting for predictions" if model["kind"] == "uploaded" else "not requested"


def newest_states(
    connection: Connection, models: Collection[int], datasets: Collection[int]
) -> dict[tuple[int, int], tuple[str, int | None]]:
    """Return the state of the newest evaluation of models on datasets, and its run."""
    query = (
        select(JOB.c.model_id, JOB.c.dataset_id, JOB.c.state, RUN.c.id)
        .outerjoin(RUN, RUN.c.job_id == JOB.c.id)
        .where(JOB.c.model_id.in_(models), JOB.c.dataset_id.in_(datasets))
    )
    rows = connection.execute(query.order_by(JOB.c.id)) if models else ()
    return {(model, data): (_STATES[state], run) for model, data, state, run in rows}
