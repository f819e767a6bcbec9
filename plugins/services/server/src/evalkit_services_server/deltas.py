"""Deltas: whether a model answers perturbed examples as it answers the originals.

A delta is named after the prefix of the perturbed dataset, such as `fairness`. It waits
for the model's evaluation on the original dataset, and says why if that has no run.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, RowMapping, select

from evalkit_services_server.database import insert
from evalkit_services_server.tables import BOARD, JOB, METRIC, RUN, SCORE

if TYPE_CHECKING:
    from evalkit import Dataset

SCALE = {"unit": "%", "scale": 100.0, "higher_is_better": True}
"""How deltas are read."""


def last_job(
    connection: Connection, model_id: int, dataset_id: int
) -> RowMapping | None:
    """Return the latest job of a model on a dataset, with the folder of its run."""
    query = (
        select(JOB.c.state, JOB.c.reason, RUN.c.folder)
        .outerjoin(RUN, RUN.c.job_id == JOB.c.id)
        .where(JOB.c.model_id == model_id, JOB.c.dataset_id == dataset_id)
        .order_by(JOB.c.id.desc())
    )
    return connection.execute(query.limit(1)).mappings().first()


def delta_rows(
    prefix: str,
    original: Dataset,
    job: RowMapping | None,
    *,
    perturbed: str | Path,
    predictions: str | Path,
    metrics: Sequence[str],
) -> list[dict[str, Any]]:
    """Return the delta of a model on a perturbed dataset, as rows of scores.

    Args:
        prefix: Name of the delta: the family of the perturbations.
        original: The original dataset.
        job: The latest job of the model on it.
        perturbed: The perturbed examples.
        predictions: The model's predictions for them.
        metrics: The task's metrics; the first with scores of single examples counts.

    Returns:
        A row for all examples and for each tag, or a row with the reason for no delta.

    Raises:
        EvalkitError: The perturbed examples are not of the original dataset.
    """
    from evalkit import read_run
    from evalkit_analysis_robustness import evaluate_perturbed, find_effects

    reason = _lack(str(original.name), job)
    if reason is not None or job is None:
        return [_empty(prefix, str(reason))]
    result = evaluate_perturbed(
        original,
        job["folder"],
        perturbed=[perturbed],
        perturbed_predictions=[predictions],
        model=read_run(job["folder"]).model,
        metrics=metrics,
    )
    found = [
        score
        for score in find_effects(result).scores
        if score.perturbation == f"family:{prefix}"
        and score.computed_on == "agreement"
        and score.aggregate is None
    ]
    first = next((score.metric for score in found if score.value is not None), None)
    if first is None:
        reason = f"no perturbation of the family {prefix} has an agreement"
        return [_empty(prefix, reason)]
    names = "n", "value", "ci_low", "ci_high", "reason"
    return [
        {name: getattr(score, name) for name in names}
        | {"metric": prefix, "tag": score.tag or ""}
        for score in found
        if score.metric == first
    ]


def record_delta(
    connection: Connection, run_id: int, rows: Sequence[dict[str, Any]]
) -> None:
    """Record what `delta_rows` returned with the run on the perturbed dataset."""
    if not rows:
        return
    name = rows[0]["metric"]
    scores = [{**row, "run_id": run_id} for row in rows]
    connection.execute(insert(connection, SCORE), scores)
    described = insert(connection, METRIC).values(name=name, **SCALE)
    connection.execute(described.on_conflict_do_nothing())
    # the run is the current one of its delta if it is of its other metrics
    current = select(BOARD).where(BOARD.c.run_id == run_id).limit(1)
    place = connection.execute(current).mappings().first()
    if place is not None:
        row = insert(connection, BOARD).values({**place, "metric": name})
        keys = "task_id", "metric", "model_id", "dataset_id"
        connection.execute(
            row.on_conflict_do_update(index_elements=keys, set_={"run_id": run_id})
        )


def _lack(original: str, job: RowMapping | None) -> str | None:
    """Say why a run on the original dataset is missing; None if it is there."""
    if job is None:
        return f"the model has no evaluation on {original}"
    if job["state"] == "done":
        return None
    return f"the evaluation on {original} was {job['state']}: {job['reason']}"


def _empty(prefix: str, reason: str) -> dict[str, Any]:
    numbers = dict.fromkeys(("value", "ci_low", "ci_high"))
    return {"metric": prefix, "tag": "", "n": 0, **numbers, "reason": reason}
