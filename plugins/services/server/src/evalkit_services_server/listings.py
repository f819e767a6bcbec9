"""What pages list: tasks, a model, a dataset, runs, jobs and submissions."""

from __future__ import annotations

from typing import Any

from sqlalchemy import ColumnElement, Connection, Select, Table, case, func, select

from evalkit_services_server.access import NotFoundError, Principal
from evalkit_services_server.api import listed, one, visible_datasets
from evalkit_services_server.boards import (
    list_datasets,
    newest_states,
    read_scale,
    why_not_scored,
)
from evalkit_services_server.ranking import Number
from evalkit_services_server.requests import waiting_for_predictions
from evalkit_services_server.tables import (
    ACCOUNT,
    BOARD,
    DATASET,
    JOB,
    MODEL,
    MODEL_KIND,
    ROUND,
    RUN,
    SCORE,
    SUBMISSION,
    TASK,
)
from evalkit_services_server.withholding import (
    is_withheld,
    withhold_scores,
)

_SHOWN_JOBS = 100
_COMPARED = 1000

Fields = dict[str, Any]


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


def model_page(connection: Connection, key: int, asking: Principal) -> Fields:
    """Return a model, and its scores on all datasets of its task.

    Raises:
        NotFoundError: There is no such model.
    """
    shown = [column for column in MODEL.c if column is not MODEL.c.endpoint]
    query = select(*shown, MODEL_KIND, ACCOUNT.c.name.label("account")).join(ACCOUNT)
    model = one(connection, query.where(MODEL.c.id == key), f"model {key}")
    task = one(connection, select(TASK).where(TASK.c.id == model["task_id"]), "task")
    datasets = [
        dict(each)
        for each in list_datasets(connection, task["id"])
        if each["board"] != "hidden" or asking.is_administrator
    ]
    metrics = [task["perf_metric"], *task["eval_metrics"], *task["delta_metrics"]]
    metrics = [*dict.fromkeys(metrics)]
    scores = _current_scores(connection, key, asking)
    states = newest_states(connection, [key], {each["id"] for each in datasets})
    for each in datasets:
        each["scores"] = {
            m: scores[each["id"], m] for m in metrics if (each["id"], m) in scores
        }
        each["runs"] = {score["run_id"] for score in each["scores"].values()}
        why = states.get((key, each["id"])) or why_not_scored(model, each)
        each["state"] = "" if each["runs"] else why
    scales = {metric: read_scale(connection, metric) for metric in metrics}
    used = [m for m in metrics if any(m in each["scores"] for each in datasets)]
    takes = asking.owns(model["account_id"]) and model["kind"] == "uploaded"
    uploadable = [
        each
        for each in datasets
        if takes
        and each["round_state"] in (None, "open")
        and each["access"] != "inputs-private"
    ]
    return {
        **{"model": model, "task": task, "datasets": datasets, "metrics": used},
        **{"scales": scales, "uploadable": uploadable},
    }


def _current_scores(
    connection: Connection, model: int, asking: Principal
) -> dict[tuple[int, str], Fields]:
    """Return the scores of all examples by the current runs of a model."""
    query = (
        select(SCORE, BOARD.c.dataset_id, DATASET.c.access)
        .join(
            BOARD,
            (BOARD.c.run_id == SCORE.c.run_id) & (BOARD.c.metric == SCORE.c.metric),
        )
        .join(DATASET, DATASET.c.id == BOARD.c.dataset_id)
        .where(BOARD.c.model_id == model, SCORE.c.tag == "")
    )
    return {
        (row["dataset_id"], row["metric"]): _shown([row], row["access"], asking)[0]
        for row in listed(connection, query)
    }


def _shown(scores: list[Fields], access: str, asking: Principal) -> list[Fields]:
    """Return scores as who asks may see them, with the `number` of each."""
    if is_withheld(access, asking.is_administrator):
        scores = withhold_scores(scores)
    for score in scores:
        value, *ends = (score[name] for name in ("value", "ci_low", "ci_high"))
        score["number"] = None if value is None else Number(value, *ends)
    return scores


def dataset_page(connection: Connection, key: int, asking: Principal) -> Fields:
    """Return a dataset, its task and its versions.

    Raises:
        NotFoundError: There is no such dataset, or it is hidden.
    """
    query = visible_datasets(asking)
    what = f"dataset {key}"
    dataset = one(connection, query.where(DATASET.c.id == key), what)
    of_name = query.where(DATASET.c.name == dataset["name"])
    versions = listed(connection, of_name.order_by(DATASET.c.id.desc()))
    perturbed = listed(connection, query.where(DATASET.c.parent_id == key))
    task = one(connection, select(TASK).where(TASK.c.id == dataset["task_id"]), "task")
    parent = None
    if dataset["parent_id"] is not None:
        parent = one(
            connection, query.where(DATASET.c.id == dataset["parent_id"]), what
        )
    return {
        **{"dataset": dataset, "task": task, "versions": versions},
        **{"perturbed": perturbed, "parent": parent},
    }


def visible_runs(asking: Principal) -> Select[Any]:
    """Select the runs that somebody may see, with what they are of."""
    query = (
        select(
            *(RUN, MODEL.c.name.label("model"), MODEL.c.account_id),
            *(DATASET.c.name.label("dataset"), DATASET.c.access, DATASET.c.version),
            *(
                TASK.c.code.label("task"),
                TASK.c.perf_metric,
                *(JOB.c.model_id, JOB.c.dataset_id, JOB.c.state),
                *(JOB.c.reason, JOB.c.ended),
            ),
        )
        .join(JOB, JOB.c.id == RUN.c.job_id)
        .join(MODEL, MODEL.c.id == JOB.c.model_id)
        .join(DATASET, DATASET.c.id == JOB.c.dataset_id)
        .join(TASK, TASK.c.id == MODEL.c.task_id)
    )
    if not asking.is_administrator:
        query = query.where(DATASET.c.board != "hidden")
    return query


def run_scores(connection: Connection, run: Fields, asking: Principal) -> list[Fields]:
    """Return the scores of a run as who asks may see them."""
    query = select(SCORE).where(SCORE.c.run_id == run["id"])
    scores = listed(connection, query.order_by(SCORE.c.tag, SCORE.c.metric))
    for score in scores:
        score["scale"] = read_scale(connection, score["metric"])
    return _shown(scores, run["access"], asking)


def comparable_runs(
    connection: Connection, dataset: int | None, asking: Principal
) -> Fields:
    """Return the datasets of runs, and the current runs on one of them."""
    open_only = visible_datasets(asking)
    if not asking.is_administrator:
        open_only = open_only.where(DATASET.c.access == "open")
    datasets = listed(connection, open_only.order_by(DATASET.c.name, DATASET.c.id))
    choices: list[Fields] = []
    if dataset is not None:
        current = select(BOARD.c.run_id).where(BOARD.c.dataset_id == dataset)
        query = visible_runs(asking).where(RUN.c.id.in_(current))
        choices = listed(connection, query.order_by(MODEL.c.name).limit(_COMPARED))
    return {"datasets": datasets, "choices": choices}


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
    own = MODEL.c.account_id == asking.account_id
    return query if asking.is_administrator else query.where(own)


def list_jobs(connection: Connection, asking: Principal) -> list[Fields]:
    """Return the newest jobs that who asks may see."""
    newest = visible_jobs(asking).order_by(JOB.c.id.desc()).limit(_SHOWN_JOBS)
    return listed(connection, newest)


def submission_page(connection: Connection, key: int, asking: Principal) -> Fields:
    """Return a submission and the jobs that evaluate it.

    Raises:
        NotFoundError: There is no such submission, or it is another's.
    """
    query = select(SUBMISSION, MODEL.c.name.label("model"), MODEL.c.account_id)
    query = query.add_columns(DATASET.c.name.label("dataset"))
    query = query.join(MODEL).join(DATASET, DATASET.c.id == SUBMISSION.c.dataset_id)
    what = f"submission {key}"
    submission = one(connection, query.where(SUBMISSION.c.id == key), what)
    if not asking.owns(submission["account_id"]):
        raise NotFoundError(f"{what}: not found")
    jobs = (
        visible_jobs(asking).where(JOB.c.submission_id == key).order_by(JOB.c.id.desc())
    )
    found = listed(connection, jobs)
    is_running = any(job["state"] in ("waiting", "running") for job in found)
    return {"submission": submission, "jobs": found, "is_running": is_running}


def account_page(connection: Connection, asking: Principal) -> Fields:
    """Return one's own models, and the datasets that they wait for."""
    query = select(MODEL.c.id, MODEL.c.name, MODEL_KIND, TASK.c.code.label("task"))
    query = query.join(TASK).where(MODEL.c.account_id == asking.account_id)
    models = listed(connection, query.order_by(TASK.c.code, MODEL.c.name))
    waiting = waiting_for_predictions(connection, asking.account_id)
    tasks = listed(connection, select(TASK.c.code).order_by(TASK.c.code))
    return {"models": models, "waiting": waiting, "tasks": tasks}
