"""The board of a task: models by datasets, or by tags of one dataset."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, cast

import numpy as np
from sqlalchemy import Connection, Executable, Select, func, select

from evalkit.errors import DataError, EvalkitError
from evalkit_services_server.filters import Filters
from evalkit_services_server.grids import (
    Part,
    Scores,
    count_runs,
    kept_while_true,
    read_scores,
)
from evalkit_services_server.ranking import (
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
    MODEL_KIND,
    ROUND,
    RUN,
    SCORE,
)
from evalkit_services_server.withholding import SMALLEST_TAG, is_withheld

PAGE_ROWS = 100
"""Models on a page."""

_MOST_TAGS = 60
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


@dataclass(frozen=True)
class Board:
    """One page of the board of a task."""

    task: Fields
    filters: Filters
    exact: bool
    metric: str
    scale: Scale
    metrics: Sequence[str]
    """Metrics that the board can show."""
    datasets: Sequence[Fields]
    """Datasets that the board can show."""
    tags: Sequence[str]
    """Tags that the board can show."""
    columns: Sequence[Column]
    notices: Sequence[str]
    sort: str = "mean"
    """`mean`, `dynascore`, `model` or the name of a column."""
    has_dynascore: bool = False
    lines: Sequence[Line] = ()
    models: int = 0
    """Number of models on all pages."""
    pages: int = 1

    @property
    def rounds(self) -> list[int]:
        """Rounds that the datasets are of."""
        return sorted({each["round"] for each in self.datasets})

    @property
    def languages(self) -> list[str]:
        """Languages of the datasets."""
        return sorted({x for each in self.datasets for x in each["languages"]})

    @property
    def facets(self) -> list[str]:
        """Beginnings of tags such as `domain:film`, with the colon."""
        return sorted({f"{tag.partition(':')[0]}:" for tag in self.tags if ":" in tag})

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
    frame = _choose(connection, task, filters, exact)
    models = list_models(connection, task["id"])
    scores = _read(connection, frame, models)
    rankings = _rankings(connection, frame, scores, models)
    sort, columns = filters.sort or "mean", [column.name for column in frame.columns]
    _check("sort", [sort], ["model", *rankings, *columns])
    ranking = rankings.get("mean" if sort == "model" else sort)
    if ranking is None:
        alone = [float(name == sort) for name in columns]
        ranking = rank_means(scores.ranked, alone, frame.scale.higher_is_better)
    kept = _order(filters, ranking, scores, models)
    page = kept[(filters.page - 1) * rows :][:rows]
    return replace(
        frame,
        notices=[*frame.notices, *_notices(frame, scores)],
        sort=sort,
        has_dynascore="dynascore" in rankings,
        lines=_lines(
            connection, frame, scores, {**rankings, "": ranking}, models, page
        ),
        models=len(kept),
        pages=max(1, -(-len(kept) // rows)),
    )


def state_of(connection: Connection, task: Fields) -> Hashable:
    """Return what the boards of a task depend on, beside their filters."""

    def rows(query: Executable) -> tuple[Any, ...]:
        return tuple(map(tuple, connection.execute(query)))

    unfinished = JOB.c.state.in_(("waiting", "running"))
    jobs = select(JOB.c.state, func.count(), func.sum(JOB.c.id)).where(unfinished)
    datasets = select(
        DATASET.c.id, DATASET.c.access, DATASET.c.board, DATASET.c.round_id
    )
    models, of_task = select(func.count(), func.max(MODEL.c.id)), task["id"]
    trusted = select(MODEL.c.id).where(MODEL.c.is_trusted)
    return (
        str(dict(task)),
        count_runs(connection),
        rows(select(func.max(JOB.c.id))),
        rows(jobs.group_by(JOB.c.state).order_by(JOB.c.state)),
        rows(datasets.where(DATASET.c.task_id == of_task).order_by(DATASET.c.id)),
        rows(models.where(MODEL.c.task_id == of_task)),
        rows(trusted.where(MODEL.c.task_id == of_task).order_by(MODEL.c.id)),
    )


def _choose(
    connection: Connection, task: Fields, filters: Filters, exact: bool
) -> Board:
    """Find the metric and the columns; refuse names that the task does not have."""
    metrics = [task["perf_metric"], *task["eval_metrics"], *task["delta_metrics"]]
    metric = filters.metric or metrics[0]
    _check("metric", [metric], metrics)
    perturbation = metric if metric in task["delta_metrics"] else None
    datasets = [
        each
        for each in list_datasets(connection, task["id"])
        if each["board"] == "scoring" and each["perturbation"] == perturbation
    ]
    _check("dataset", filters.dataset, [each["name"] for each in datasets])
    kept = [each for each in datasets if _is_kept(each, filters)]
    tags = _list_tags(connection, metric, kept, exact)
    notices, weights = list[str](), filters.weights
    if filters.by == "tag":
        if len(kept) != 1:
            raise DataError("by: columns of tags need exactly one dataset")
        named = [tag for tag in tags if tag.startswith(filters.tag)]
        shown = ["", *named[:_MOST_TAGS]]
        columns = [Column(tag, kept[0], tag, float(not tag)) for tag in shown]
        if len(named) > _MOST_TAGS:
            notices.append(f"The first {_MOST_TAGS} of {len(named)} tags are shown.")
    else:
        columns = [
            Column(each["name"], each, filters.tag, weights.get(each["name"], 1.0))
            for each in kept
        ]
    scale = read_scale(connection, metric)
    if scale.higher_is_better is None:
        notices.append(f"No ranks: {metric} has no score yet, or no better direction.")
    unique = [*dict.fromkeys(metrics)]
    found = scale, unique, datasets, tags, columns, notices
    return Board(task, filters, exact, metric, *found)


def _check(name: str, given: Sequence[str], known: Sequence[str]) -> None:
    for value in given:
        if value not in known:
            listed = ", ".join(dict.fromkeys(known)) or "none"
            raise DataError(f"{name}: the board has no {value!r}. It has: {listed}")


def _is_kept(dataset: Fields, filters: Filters) -> bool:
    spoken = {
        x for each in dataset["languages"] for x in (each, each.partition("-")[0])
    }
    return (
        (not filters.dataset or dataset["name"] in filters.dataset)
        and (not filters.round or dataset["round"] in filters.round)
        and (not filters.language or not spoken.isdisjoint(filters.language))
    )


def _list_tags(
    connection: Connection, metric: str, datasets: Sequence[Fields], exact: bool
) -> list[str]:
    """Return the tags that the newest run of each dataset has scores of."""
    keys = {x["id"]: is_withheld(x["access"], exact) for x in datasets}
    newest = (
        select(func.max(BOARD.c.run_id))
        .where(BOARD.c.metric == metric, BOARD.c.dataset_id.in_(keys))
        .group_by(BOARD.c.dataset_id)
    )
    query = (
        select(SCORE.c.tag, JOB.c.dataset_id, SCORE.c.n)
        .join(RUN, RUN.c.id == SCORE.c.run_id)
        .join(JOB, JOB.c.id == RUN.c.job_id)
        .where(SCORE.c.run_id.in_(newest), SCORE.c.metric == metric, SCORE.c.tag != "")
    )
    key = count_runs(connection), metric, *keys
    sizes = kept_while_true(connection, key, lambda: connection.execute(query).all())
    return sorted({tag for tag, key, n in sizes if n >= SMALLEST_TAG or not keys[key]})


def _read(connection: Connection, frame: Board, models: Sequence[Fields]) -> Scores:
    parts = [
        Part(x.dataset["id"], x.tag, is_withheld(x.dataset["access"], frame.exact))
        for x in frame.columns
    ]
    keys = [model["id"] for model in models]
    return read_scores(connection, frame.task["id"], frame.metric, parts, keys)


def _rankings(
    connection: Connection, frame: Board, scores: Scores, models: Sequence[Fields]
) -> dict[str, Ranking]:
    """Rank the models by the mean, and by the dynascore if the board has one."""
    means, perf = _rank_means(frame, scores), frame.metric
    rankings, task, filters = {"mean": means}, frame.task, frame.filters
    if perf != task["perf_metric"] or filters.tag or filters.by == "tag":
        return rankings
    values, ways = {perf: means.values}, {perf: frame.scale.higher_is_better}
    given = {**task["weights"], **filters.weights}
    for metric in task["delta_metrics"] and (*task["delta_metrics"], *task["weights"]):
        if metric in frame.metrics and metric not in values and given.get(metric, 1.0):
            kept = Filters(
                metric=metric, round=filters.round, language=filters.language
            )
            other = _choose(connection, task, kept, frame.exact)
            if other.columns:
                found = _rank_means(other, _read(connection, other, models)).values
                values[metric], ways[metric] = found, other.scale.higher_is_better
    if len(values) > 1:
        known = {name: weight for name, weight in given.items() if name in values}
        names = [model["name"] for model in models]
        try:
            rankings["dynascore"] = rank_dynascores(values, ways, perf, known, names)
        except EvalkitError as error:
            raise DataError(f"dynascore: {error}") from error
    return rankings


def _rank_means(frame: Board, scores: Scores) -> Ranking:
    weights = [column.weight for column in frame.columns]
    return rank_means(scores.ranked, weights, frame.scale.higher_is_better)


def _order(
    filters: Filters, ranking: Ranking, scores: Scores, models: Sequence[Fields]
) -> list[int]:
    """Return the numbers of the models that are kept, the least known last."""
    order = range(len(models)) if filters.sort == "model" else ranking.order
    order = order[::-1] if filters.reverse else order
    known = np.isfinite(scores.grid.values).sum(axis=0)
    rest = set(range(len(models))).difference(order)
    last = sorted(rest, key=lambda n: (-known[n], n))
    text = filters.model.lower()
    return [n for n in (*order, *last) if text in models[n]["name"].lower()]


def _lines(
    connection: Connection,
    frame: Board,
    scores: Scores,
    rankings: Mapping[str, Ranking],
    models: Sequence[Fields],
    page: Sequence[int],
) -> list[Line]:
    """Make the rows of a page; the board is sorted by the ranking without a name."""
    lacking = [models[n]["id"] for n in page if not scores.runs[:, n].all()]
    datasets = [column.dataset for column in frame.columns]
    states = newest_states(connection, lacking, {each["id"] for each in datasets})

    def cell(column: int, model: int) -> Cell:
        place, run = (column, model), int(scores.runs[column, model])
        reason = scores.reasons.get(place, "")
        if not run:
            about = models[model], datasets[column]
            state = states.get((about[0]["id"], about[1]["id"]))
            reason = state or why_not_scored(*about)
        n, number = int(scores.n[place]), scores.grid.number(*place)
        return Cell(number, n, run or None, place in scores.apart, reason)

    total, mean = rankings[""], rankings["mean"]
    dynascore = rankings.get("dynascore")
    return [
        Line(
            models[n],
            [cell(column, n) for column in range(len(datasets))],
            found := total.at(n),
            found if total is mean else mean.at(n),
            dynascore.at(n) if dynascore else None,
        )
        for n in page
    ]


def _notices(frame: Board, scores: Scores) -> list[str]:
    """Say which scores are rounded, and which are not ranked and why."""
    private = {
        column.dataset["name"]: f"{column.dataset['name']} is private: scores are "
        "rounded, and ranks are by rounded scores."
        for column in frame.columns
        if is_withheld(column.dataset["access"], frame.exact)
    }
    times = Counter((column, why) for (column, _), why in scores.apart.items())
    return [
        *private.values(),
        *(
            f"{frame.columns[column].name or 'All examples'}: {count} of "
            f"{int((scores.runs[column] > 0).sum())} scores are not comparable with "
            f"the others. They are shown with † and not ranked: {why}."
            for (column, why), count in times.items()
        ),
    ]


def list_models(connection: Connection, task: int) -> Sequence[Fields]:
    """Return the models of a task by name, without what only their owners see."""
    shown = (MODEL.c.id, MODEL.c.name, MODEL_KIND, MODEL.c.is_trusted, MODEL.c.added)
    query = select(*shown).where(MODEL.c.task_id == task).order_by(MODEL.c.name)
    return _fields(connection, query)


def list_datasets(connection: Connection, task: int) -> Sequence[Fields]:
    """Return the newest version of each dataset of a task, with the round's number."""
    newest = select(func.max(DATASET.c.id)).where(DATASET.c.task_id == task)
    number = func.coalesce(ROUND.c.number, 0)
    query = (
        select(DATASET, number.label("round"), ROUND.c.state.label("round_state"))
        .outerjoin(ROUND, ROUND.c.id == DATASET.c.round_id)
        .where(DATASET.c.id.in_(newest.group_by(DATASET.c.name)))
        .order_by(number, DATASET.c.name)
    )
    return _fields(connection, query)


def read_scale(connection: Connection, metric: str) -> Scale:
    """Return how scores of a metric are read; unknown before the first run."""
    query = select(METRIC.c.unit, METRIC.c.scale, METRIC.c.higher_is_better)
    row = connection.execute(query.where(METRIC.c.name == metric)).first()
    return Scale(*row) if row else Scale()


def why_not_scored(model: Fields, dataset: Fields) -> str:
    """Say why a model has no job on a dataset."""
    if dataset["access"] == "inputs-private" and not model["is_trusted"]:
        return "private inputs: only models that the host trusts are asked"
    return "waiting for predictions" if model["kind"] == "uploaded" else "not requested"


def newest_states(
    connection: Connection, models: Collection[int], datasets: Collection[int]
) -> dict[tuple[int, int], str]:
    """Say how far the newest evaluation of models on datasets is."""
    query = select(JOB.c.model_id, JOB.c.dataset_id, JOB.c.state).order_by(JOB.c.id)
    of_both = JOB.c.model_id.in_(models), JOB.c.dataset_id.in_(datasets)
    rows = connection.execute(query.where(*of_both)) if models else ()
    return {(model, dataset): _STATES[state] for model, dataset, state in rows}


def _fields(connection: Connection, query: Select[Any]) -> Sequence[Fields]:
    return cast(Sequence[Fields], connection.execute(query).mappings().all())
