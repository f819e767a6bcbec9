"""Requests: which pairs of a model and a dataset are evaluated, and which wait."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, Select, Table, func, select

from evalkit_services_server.database import insert, now
from evalkit_services_server.tables import DATASET, JOB, MODEL, ROUND, SUBMISSION, TASK

_NO_ORIGINAL = "it needs predictions for the original dataset first"


def _latest(table: Table, dataset: ColumnElement[int]) -> Any:
    """Select the latest job or submission of a model on a dataset."""
    of_pair = table.c.model_id == MODEL.c.id, table.c.dataset_id == dataset
    query = select(func.max(table.c.id)).where(*of_pair)
    return query.correlate(MODEL, DATASET).scalar_subquery()


_SUBMISSION = _latest(SUBMISSION, DATASET.c.id)
_FORMER = _latest(JOB, DATASET.c.id)
_PENDING = select(JOB.c.id).where(JOB.c.id == _FORMER, JOB.c.ended.is_(None)).exists()
_IS_OPEN = ROUND.c.state.is_(None) | (ROUND.c.state == "open")


def request_all(connection: Connection, *chosen: ColumnElement[bool]) -> list[int]:
    """Request what was not evaluated before: models on the datasets of their task.

    The conditions choose models and datasets. The ids of the new jobs are returned.
    """
    is_allowed = MODEL.c.is_trusted | (DATASET.c.access != "inputs-private")
    is_known = (ROUND.c.state == "closed") & _FORMER.is_not(None)
    pairs = _newest(_PAIRS).where(is_allowed, _IS_OPEN | is_known, *chosen)
    return _request(connection, pairs)


def request_perturbed(connection: Connection, model: int, original: int) -> None:
    """Request evaluations of a model on what a dataset was perturbed to.

    A job that waited for the evaluation on the original is enough.
    """
    of_model = MODEL.c.id == model, DATASET.c.parent_id == original
    request_all(connection, *of_model, ~_PENDING)


def request(
    connection: Connection,
    model: int,
    dataset: int,
    submission: int | None = None,
    again: bool = False,
) -> int | None:
    """Request the evaluation of a model on a dataset, and return the new job.

    There is none if the same was requested before, unless it is to be evaluated again,
    or if an uploaded model has no predictions; by default its latest are evaluated.
    """
    pair = _PAIRS.where(MODEL.c.id == model, DATASET.c.id == dataset)
    pair = pair.where(~_PENDING) if again else pair
    made = _request(connection, pair, submission, again)
    return made[0] if made else None


def end_outdated(connection: Connection, original: str) -> list[str]:
    """End what waits on datasets that a former version was perturbed to; name them."""
    versions = select(DATASET.c.id).where(DATASET.c.name == original)
    newest = select(func.max(DATASET.c.id)).where(DATASET.c.name == original)
    is_outdated = DATASET.c.parent_id.in_(versions.except_(newest))
    outdated = select(DATASET.c.id).where(is_outdated)
    waiting = JOB.c.dataset_id.in_(outdated), JOB.c.state == "waiting"
    reason = f"{original} has a newer version, from which it is to be perturbed again"
    values = dict(state="failed", ended=now(connection), reason=reason)
    connection.execute(JOB.update().where(*waiting).values(values))
    return [*connection.scalars(select(DATASET.c.name).where(is_outdated).distinct())]


def waiting_for_predictions(
    connection: Connection, account_id: int
) -> Sequence[Row[Any]]:
    """Return `model`, its `id`, and `dataset` where an account's predictions lack.

    Hidden datasets, and rounds that are not open, are left out.
    """
    lacks = MODEL.c.endpoint.is_(None), _SUBMISSION.is_(None)
    takes = DATASET.c.board != "hidden", DATASET.c.access != "inputs-private"
    is_own = MODEL.c.account_id == account_id
    pairs = _newest(_PAIRS).where(is_own, *lacks, *takes, _IS_OPEN)
    names: list[ColumnElement[Any]]
    names = [MODEL.c.name.label("model"), DATASET.c.name.label("dataset"), MODEL.c.id]
    return connection.execute(pairs.with_only_columns(*names)).all()


_PAIRS = (
    select(
        *(MODEL.c.id.label("model_id"), DATASET.c.id.label("dataset_id")),
        *(MODEL.c.endpoint, _SUBMISSION.label("submission_id")),
        *(DATASET.c.version, DATASET.c.fingerprint, DATASET.c.parent_id),
        *(TASK.c.component, TASK.c.perf_metric, TASK.c.eval_metrics),
        _latest(JOB, DATASET.c.parent_id).label("original_job"),
        _FORMER.label("former_job"),
    )
    .join_from(MODEL, DATASET, MODEL.c.task_id == DATASET.c.task_id)
    .join(TASK, TASK.c.id == MODEL.c.task_id)
    .outerjoin(ROUND, ROUND.c.id == DATASET.c.round_id)
    .order_by(DATASET.c.parent_id.is_not(None), DATASET.c.id, MODEL.c.id)
)


def _newest(pairs: Select[Any]) -> Select[Any]:
    """Keep the newest version of each dataset, if it is not of an older original."""
    newest = select(func.max(DATASET.c.id)).group_by(DATASET.c.name)
    is_current = DATASET.c.parent_id.is_(None) | DATASET.c.parent_id.in_(newest)
    return pairs.where(DATASET.c.id.in_(newest), is_current)


def _request(
    connection: Connection,
    pairs: Select[Any],
    submission: int | None = None,
    again: bool = False,
) -> list[int]:
    """Add the jobs of pairs that have what an evaluation needs, originals first."""
    moment, rows = now(connection), list[dict[str, Any]]()
    for pair in connection.execute(pairs):
        metrics = [*dict.fromkeys((pair.perf_metric, *pair.eval_metrics))]
        predictions = None if pair.endpoint else submission or pair.submission_id
        if predictions is None and not pair.endpoint:
            continue
        parts = [
            *(pair.model_id, pair.dataset_id, predictions, pair.endpoint),
            *(pair.version, pair.fingerprint, pair.component, metrics),
            pair.original_job,
            *_digests(pair.component, *metrics),
            *([pair.former_job] if again else []),
        ]
        key = hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()
        row = dict(key=key, model_id=pair.model_id, dataset_id=pair.dataset_id)
        row |= dict(submission_id=predictions, metrics=metrics, state="waiting")
        lacks_original = pair.parent_id is not None and pair.original_job is None
        row |= dict(requested=moment, reason=_NO_ORIGINAL if lacks_original else None)
        rows.append(row)
    if not rows:
        return []
    made = insert(connection, JOB).on_conflict_do_nothing().returning(JOB.c.id)
    return [*connection.scalars(made, rows)]


@lru_cache(maxsize=256)
def _digests(task: str, *metrics: str) -> tuple[object, ...]:
    """Return the digests of the code that computes the scores, as it was imported."""
    from evalkit import Registry
    from evalkit.catalog import Resolver, describe_component

    resolver = Resolver(Registry())
    bound = [resolver.bind("tasks", task), *map(resolver.metric, metrics)]
    return tuple(describe_component(each)["source_sha256"] for each in bound)
