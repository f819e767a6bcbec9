"""What pages and the API list: tasks, scores, runs and jobs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import ColumnElement, Connection, Select, Table, case, func, select

from evalkit_services_server.access import Principal, RequestError
from evalkit_services_server.boards import newest_states, why_not_scored
from evalkit_services_server.datasets import newest_of, with_rounds
from evalkit_services_server.tables import (
    ACCOUNT,
    BOARD,
    DATASET,
    JOB,
    METRIC,
    MODEL,
    MODEL_KIND,
    ROUND,
    RUN,
    SCORE,
    SUBMISSION,
    TASK,
)
from evalkit_services_server.withholding import SMALLEST_TAG, is_withheld, round_score

_COMPARED = 1000

Fields = dict[str, Any]


@dataclass(slots=True)
class ShownScore:
    """A score of a run."""

    run_id: int
    metric: str
    tag: str
    """Empty for all examples."""
    n: int
    value: float | None
    ci_low: float | None
    ci_high: float | None
    reason: str | None
    unit: str
    scale: float
    higher_is_better: bool | None


_SHOWN = SCORE, METRIC.c.unit, METRIC.c.scale, METRIC.c.higher_is_better


def listed(connection: Connection, statement: Select[Any]) -> list[dict[str, Any]]:
    """Return rows as fields of an answer."""
    return [dict(row) for row in connection.execute(statement).mappings()]


def one(connection: Connection, statement: Select[Any], what: str) -> dict[str, Any]:
    """Return the fields of one row."""
    row = connection.execute(statement).mappings().first()
    if row is None:
        raise RequestError(f"{what}: not found", 404)
    return dict(row)


def visible_datasets(asking: Principal) -> Select[Any]:
    """Select the datasets that somebody may see, with task and round."""
    return _unless_hidden(asking, with_rounds())


def _unless_hidden(asking: Principal, rows: Select[Any]) -> Select[Any]:
    return rows if asking.is_administrator else rows.where(DATASET.c.board != "hidden")


def models(_asking: Principal) -> Select[Any]:
    """Select the models, with their task and account."""
    task, account = TASK.c.code.label("task"), ACCOUNT.c.name.label("account")
    rows = select(MODEL, MODEL_KIND, task, account)
    return rows.select_from(MODEL.join(TASK).join(ACCOUNT))


def visible_submissions(asking: Principal) -> Select[Any]:
    """Select the submissions of one's own models, or for administrators all."""
    return _own(asking, select(SUBMISSION).join(MODEL).join(DATASET))


def _own(asking: Principal, rows: Select[Any]) -> Select[Any]:
    own = MODEL.c.account_id == asking.account_id, DATASET.c.board != "hidden"
    return rows if asking.is_administrator else rows.where(*own)


def list_tasks(connection: Connection) -> list[Fields]:
    """Return the tasks, with the numbers of what they have."""

    def count(counted: Any, table: Table, *where: Any) -> Any:
        of_task = table.c.task_id == TASK.c.id
        return select(func.count(counted)).where(of_task, *where).scalar_subquery()

    original = DATASET.c.board == "scoring", DATASET.c.perturbation.is_(None)
    query = select(
        TASK,
        count(DATASET.c.name.distinct(), DATASET, *original).label("datasets"),
        count(MODEL.c.id, MODEL).label("models"),
        count(ROUND.c.id, ROUND, ROUND.c.state == "open").label("open_rounds"),
    )
    return listed(connection, query.order_by(TASK.c.code))


def run_scores(
    connection: Connection, run: Fields, asking: Principal
) -> list[ShownScore]:
    """Return the scores of a run as `asking` may see them."""
    query = select(*_SHOWN).join(METRIC, METRIC.c.name == SCORE.c.metric)
    query = query.where(SCORE.c.run_id == run["id"])
    rows = connection.execute(query.order_by(SCORE.c.tag, SCORE.c.metric))
    scores = [ShownScore(*row) for row in rows]
    is_hidden = is_withheld(run["access"], asking.is_administrator)
    return withhold_scores(scores) if is_hidden else scores


def model_scores(
    connection: Connection, model: Fields, metrics: list[str], asking: Principal
) -> list[Fields]:
    """Return the datasets of a model's task, with its current `scores` by metric."""
    query = (
        select(BOARD.c.dataset_id, *_SHOWN)
        .join(SCORE, BOARD.c.run_id == SCORE.c.run_id)
        .join(METRIC, METRIC.c.name == SCORE.c.metric)
        .where(BOARD.c.metric == SCORE.c.metric, SCORE.c.tag == "")
        .where(BOARD.c.model_id == model["id"], SCORE.c.metric.in_(metrics))
    )
    scores: dict[int, list[ShownScore]] = {}
    for dataset_id, *row in connection.execute(query):
        scores.setdefault(dataset_id, []).append(ShownScore(*row))
    datasets = listed(connection, _unless_hidden(asking, newest_of(model["task_id"])))
    states = newest_states(connection, [model["id"]], {each["id"] for each in datasets})
    for dataset in datasets:
        key, access = dataset["id"], dataset["access"]
        found = scores.get(key, [])
        if is_withheld(access, asking.is_administrator):
            found = withhold_scores(found)
        why = states.get((model["id"], key)) or (why_not_scored(model, access), None)
        dataset["scores"] = {score.metric: score for score in found}
        dataset["state"], run = ("", None) if found else why
        runs = {*(score.run_id for score in found), run}
        dataset["runs"] = sorted(runs - {None})
    return datasets


def visible_runs(asking: Principal) -> Select[Any]:
    """Select the runs that `asking` may see, with what they are of."""
    query = (
        select(
            *(RUN, MODEL.c.name.label("model"), MODEL.c.account_id),
            *(JOB.c.model_id, JOB.c.dataset_id, JOB.c.state, JOB.c.reason, JOB.c.ended),
            *(DATASET.c.name.label("dataset"), DATASET.c.access, DATASET.c.version),
            *(TASK.c.code.label("task"), TASK.c.perf_metric),
        )
        .join(JOB, JOB.c.id == RUN.c.job_id)
        .join(MODEL, MODEL.c.id == JOB.c.model_id)
        .join(DATASET, DATASET.c.id == JOB.c.dataset_id)
        .join(TASK, TASK.c.id == MODEL.c.task_id)
    )
    return _unless_hidden(asking, query)


def comparable_runs(
    connection: Connection, dataset: int | None, asking: Principal
) -> Fields:
    """Return the datasets of runs, and the current runs on one of them."""
    query = visible_datasets(asking).order_by(DATASET.c.name, DATASET.c.id)
    if not asking.is_administrator:
        query = query.where(DATASET.c.access == "open")
    current = select(BOARD.c.run_id).where(BOARD.c.dataset_id == dataset)
    runs = visible_runs(asking).where(RUN.c.id.in_(current)).order_by(MODEL.c.name)
    return {
        "datasets": listed(connection, query),
        "choices": [] if dataset is None else listed(connection, runs.limit(_COMPARED)),
    }


def visible_jobs(asking: Principal) -> Select[Any]:
    """Select the jobs of one's own models, or for administrators all."""
    names = MODEL.c.name.label("model"), DATASET.c.name.label("dataset")
    shown: ColumnElement[Any] = JOB.c.reason
    if not asking.is_administrator:  # it may quote an example
        is_private = JOB.c.reason.is_not(None) & (DATASET.c.access != "open")
        shown = case((is_private, "withheld"), else_=JOB.c.reason)
    columns = [column for column in JOB.c if column is not JOB.c.reason]
    query = (
        select(*columns, shown.label("reason"), *names, RUN.c.id.label("run_id"))
        .join(MODEL, MODEL.c.id == JOB.c.model_id)
        .join(DATASET, DATASET.c.id == JOB.c.dataset_id)
        .outerjoin(RUN, RUN.c.job_id == JOB.c.id)
    )
    return _own(asking, query)


def withhold_scores(scores: Sequence[ShownScore]) -> list[ShownScore]:
    """Return scores as they are shown of a private dataset.

    Tags of few examples are left out. The others have rounded numbers, and no
    reason, as it may quote an example.
    """
    return [
        replace(
            score,
            value=round_score(score.value),
            ci_low=round_score(score.ci_low),
            ci_high=round_score(score.ci_high),
            reason=score.reason and "withheld",
        )
        for score in scores
        if not score.tag or score.n >= SMALLEST_TAG
    ]
