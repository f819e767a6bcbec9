"""Which pairs of a model and a dataset are to be evaluated, and which wait.

Functions that request return the ids of the jobs that are new.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from sqlalchemy import Connection, Row, Select, func, select

from evalkit_services_server import jobs
from evalkit_services_server.tables import (
    ACCOUNT,
    DATASET,
    JOB,
    MODEL,
    ROUND,
    SUBMISSION,
)

_OF_PAIR = JOB.c.model_id == MODEL.c.id, JOB.c.dataset_id == DATASET.c.id


class Waiting(NamedTuple):
    """A model without predictions for a dataset of its task."""

    account: str
    model: str
    dataset: str


def request_for_dataset(connection: Connection, dataset_id: int) -> list[int]:
    """Request evaluations of all models of a dataset's task."""
    return _request(connection, _pairs().where(DATASET.c.id == dataset_id))


def request_for_model(connection: Connection, model_id: int) -> list[int]:
    """Request evaluations of a model on all datasets of its task."""
    return _request(connection, _pairs().where(MODEL.c.id == model_id))


def request_for_task(connection: Connection, task_id: int) -> list[int]:
    """Request evaluations of all models of a task on all its datasets."""
    return _request(connection, _pairs().where(DATASET.c.task_id == task_id))


def request_for_perturbed(
    connection: Connection, model_id: int, dataset_id: int
) -> list[int]:
    """Request evaluations of a model on what a dataset was perturbed to.

    A job that waited for the evaluation on the dataset is enough.
    """
    is_pending = select(JOB.c.id).where(*_OF_PAIR, JOB.c.ended.is_(None)).exists()
    of_model = MODEL.c.id == model_id, DATASET.c.parent_id == dataset_id, ~is_pending
    return _request(connection, _pairs().where(*of_model))


def waiting_for_predictions(
    connection: Connection, account_id: int | None = None
) -> list[Waiting]:
    """Return the uploaded models, of an account or all, that lack predictions.

    They are of datasets that are not hidden, and of open rounds.
    """
    pairs = _pairs().where(MODEL.c.kind == "uploaded", DATASET.c.board != "hidden")
    if account_id is not None:
        pairs = pairs.where(MODEL.c.account_id == account_id)
    return [
        Waiting(pair.account, pair.model, pair.dataset)
        for pair in connection.execute(pairs)
        if pair.submission_id is None
        and pair.access != "inputs-private"
        and pair.round_state in (None, "open")
    ]


def _pairs() -> Select[Any]:
    """Select models with the newest version of each dataset of their task."""
    newest = select(func.max(DATASET.c.id)).group_by(DATASET.c.name)
    submission = (
        select(func.max(SUBMISSION.c.id))
        .where(SUBMISSION.c.model_id == MODEL.c.id)
        .where(SUBMISSION.c.dataset_id == DATASET.c.id)
        .scalar_subquery()
    )
    return (
        select(
            MODEL.c.id.label("model_id"),
            DATASET.c.id.label("dataset_id"),
            submission.label("submission_id"),
            select(JOB.c.id).where(*_OF_PAIR).exists().label("has_job"),
            MODEL.c.kind,
            MODEL.c.is_trusted,
            DATASET.c.access,
            ROUND.c.state.label("round_state"),
            ACCOUNT.c.name.label("account"),
            MODEL.c.name.label("model"),
            DATASET.c.name.label("dataset"),
        )
        .join_from(MODEL, DATASET, MODEL.c.task_id == DATASET.c.task_id)
        .join(ACCOUNT, ACCOUNT.c.id == MODEL.c.account_id)
        .outerjoin(ROUND, ROUND.c.id == DATASET.c.round_id)
        .where(DATASET.c.id.in_(newest))
        .order_by(DATASET.c.parent_id.is_not(None), DATASET.c.id, MODEL.c.id)
    )


def _request(connection: Connection, pairs: Select[Any]) -> list[int]:
    requested = [
        jobs.request(connection, pair.model_id, pair.dataset_id, pair.submission_id)
        for pair in connection.execute(pairs).all()
        if _can_be_evaluated(pair)
    ]
    return [job for job in requested if job is not None]


def _can_be_evaluated(pair: Row[Any]) -> bool:
    """Tell whether a pair has what an evaluation needs, in a round that allows it."""
    state = pair.round_state
    if state == "frozen" or (state == "closed" and not pair.has_job):
        return False
    if pair.access == "inputs-private" and not pair.is_trusted:
        return False
    return bool(pair.kind == "asked" or pair.submission_id is not None)
